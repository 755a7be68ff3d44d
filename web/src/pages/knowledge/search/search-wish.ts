// What is looked for, as the address has it and as the API takes it.
import { useMemo } from 'react';
import { useSearchParams } from 'wouter';
import type { ArtifactType, Category } from '../words.ts';
import { artifactTypeWords, categoryWords } from '../words.ts';

export interface Wish {
  readonly query: string;
  /** Also what the graph joins to the results. */
  readonly isExpanded: boolean;
  readonly type: ArtifactType | null;
  readonly category: Category | null;
}

/** Results at most: more than that is no answer any more. */
const mostResults = 20;

export function useWish(): readonly [Wish, (wish: Wish) => void] {
  const [params, setParams] = useSearchParams();
  const text = params.toString();
  const wish = useMemo(() => wishIn(new URLSearchParams(text)), [text]);
  const setWish = (next: Wish): void =>
    setParams((before) => {
      const after = new URLSearchParams(before);
      put(after, 'q', next.query);
      put(after, 'expand', next.isExpanded ? '' : 'no');
      put(after, 'type', next.type ?? '');
      put(after, 'category', next.category ?? '');
      return after;
    });
  return [wish, setWish];
}

const put = (params: URLSearchParams, name: string, value: string): void =>
  value === '' ? params.delete(name) : params.set(name, value);

export function wishIn(params: URLSearchParams): Wish {
  const type = params.get('type') ?? '';
  const category = params.get('category') ?? '';
  return {
    query: params.get('q') ?? '',
    isExpanded: params.get('expand') !== 'no',
    type: type in artifactTypeWords ? (type as ArtifactType) : null,
    category: category in categoryWords ? (category as Category) : null,
  };
}

export const bodyOf = ({ query, isExpanded, type, category }: Wish) => ({
  query,
  limit: mostResults,
  graph_expand: isExpanded,
  include_entities: isExpanded,
  filters: {
    ...(type === null ? {} : { types: [type] }),
    ...(category === null ? {} : { categories: [category] }),
  },
});
