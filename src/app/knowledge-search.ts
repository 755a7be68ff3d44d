// Search, as workflows ask for it: the same words and limits as over HTTP.
import { zodErrorMessage } from '../core/index.ts';
import type { KnowledgeSearch } from '../tenancy/workflows/index.ts';
import type { HttpDependencies } from '../http/index.ts';
import { searchApi } from '../api/knowledge.ts';
import { fromWire, toWire } from '../api/names.ts';
import { searchRequest, searchView } from '../http/routes/knowledge.ts';
import { spaceCheckOf } from './space-check.ts';

const { body: searchBody, output } = searchApi.search;
const filterFields = searchBody.pick({ filters: true, graph_filters: true });

/** An organization searches its own spaces, whatever name is given. */
export function knowledgeSearchOf({
  spaces,
  search,
}: Pick<HttpDependencies['knowledge'], 'spaces' | 'search'>): KnowledgeSearch {
  return {
    ...spaceCheckOf(spaces),
    filterProblems: (fields) =>
      (filterFields.safeParse(fields, { error: zodErrorMessage }).error?.issues ?? []).flatMap((issue) => {
        const unknown = issue.code === 'unrecognized_keys' ? issue.keys : [];
        return unknown.length > 0
          ? unknown.map((key) => ({
              field: [...issue.path, key.slice(0, longestField)].join('.'),
              message: 'is not known here',
            }))
          : [{ field: issue.path.join('.'), message: issue.message }];
      }),
    search: async ({ organizationId, space, query, wish, signal }) => {
      const owned = await spaces.resolve(organizationId, space ?? undefined);
      const request = fromWire(searchBody, searchBody.parse({ query, ...wish }));
      const response = await search.search(owned, searchRequest(request as never), signal);
      return { answer: toWire(output, searchView(response)) as never, warning: response.warning };
    },
  };
}

/** Names of unknown fields are shown, and may be a book. */
const longestField = 100;
