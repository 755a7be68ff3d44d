// Search, as workflows ask for it: the same words and limits as over HTTP.
import { inOurWords } from '../core/index.ts';
import type { KnowledgeSearch } from '../tenancy/workflows/index.ts';
import type { HttpDependencies } from '../http/index.ts';
import { requestOf, searchBody, viewOfSearch } from '../http/schemas/search.ts';
import { spaceCheckOf } from './space-check.ts';

const filterFields = searchBody.pick({ filters: true, graph_filters: true });

/** An organization searches its own spaces, whatever name is given. */
export function knowledgeSearchOf({
  spaces,
  search,
}: Pick<HttpDependencies['knowledge'], 'spaces' | 'search'>): KnowledgeSearch {
  return {
    ...spaceCheckOf(spaces),
    filterProblems: (fields) =>
      (filterFields.safeParse(fields, { error: inOurWords }).error?.issues ?? []).flatMap((issue) => {
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
      const answer = await search.search(owned, requestOf(searchBody.parse({ query, ...wish })), signal);
      return { answer: viewOfSearch(answer), warning: answer.warning };
    },
  };
}

/** Names of unknown fields are shown, and may be a book. */
const longestField = 100;
