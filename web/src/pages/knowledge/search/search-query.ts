// Search query in the address and in the API request.
import { useMemo } from 'react';
import { useSearchParams } from 'wouter';
import type { ArtifactType, Category } from '../labels.ts';
import { artifactTypeLabels, categoryLabels } from '../labels.ts';

export interface SearchQuery {
  readonly query: string;
  /** Whether to include related events from the graph. */
  readonly isExpanded: boolean;
  readonly type: ArtifactType | null;
  readonly category: Category | null;
}

/** Maximum results. */
const maxResults = 20;

export function useSearchQuery(): readonly [SearchQuery, (searchQuery: SearchQuery) => void] {
  const [params, setParams] = useSearchParams();
  const text = params.toString();
  const searchQuery = useMemo(() => parseSearchQuery(new URLSearchParams(text)), [text]);
  const setSearchQuery = (next: SearchQuery): void =>
    setParams((before) => {
      const after = new URLSearchParams(before);
      put(after, 'q', next.query);
      put(after, 'expand', next.isExpanded ? '' : 'no');
      put(after, 'type', next.type ?? '');
      put(after, 'category', next.category ?? '');
      return after;
    });
  return [searchQuery, setSearchQuery];
}

const put = (params: URLSearchParams, name: string, value: string): void =>
  value === '' ? params.delete(name) : params.set(name, value);

export function parseSearchQuery(params: URLSearchParams): SearchQuery {
  const type = params.get('type') ?? '';
  const category = params.get('category') ?? '';
  return {
    query: params.get('q') ?? '',
    isExpanded: params.get('expand') !== 'no',
    type: type in artifactTypeLabels ? (type as ArtifactType) : null,
    category: category in categoryLabels ? (category as Category) : null,
  };
}

export const bodyOf = ({ query, isExpanded, type, category }: SearchQuery) => ({
  query,
  limit: maxResults,
  graph_expand: isExpanded,
  include_entities: isExpanded,
  filters: {
    ...(type === null ? {} : { types: [type] }),
    ...(category === null ? {} : { categories: [category] }),
  },
});
