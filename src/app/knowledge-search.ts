// Search for workflows, with the parameters and limits of the HTTP API.
import { CoreError, zodErrorMessage } from '../core/index.ts';
import type { Spaces } from '../knowledge/index.ts';
import type { KnowledgeSearch, SpaceCheck } from '../tenancy/index.ts';
import type { ServerDeps } from '../http/index.ts';
import { searchApi } from '../api/knowledge.ts';
import { fromWire, toWire } from '../api/names.ts';
import { searchRequest, searchView } from '../http/routes/knowledge.ts';

const { body: searchBody, output } = searchApi.search;
const filterFields = searchBody.pick({ filters: true, graph_filters: true });

/** Only spaces of the organization itself are resolved, whatever name is given. */
export function knowledgeSearchOf({
  spaces,
  search,
}: Pick<ServerDeps['knowledge'], 'spaces' | 'search'>): KnowledgeSearch {
  return {
    ...spaceCheckOf(spaces),
    filterProblems: (fields) =>
      (filterFields.safeParse(fields, { error: zodErrorMessage }).error?.issues ?? []).flatMap((issue) => {
        const unknown = issue.code === 'unrecognized_keys' ? issue.keys : [];
        return unknown.length > 0
          ? unknown.map((key) => ({
              field: [...issue.path, key.slice(0, longestField)].join('.'),
              message: 'is unknown',
            }))
          : [{ field: issue.path.join('.'), message: issue.message }];
      }),
    search: async ({ organizationId, space, query, parameters, signal }) => {
      const owned = await spaces.resolve(organizationId, space ?? undefined);
      const request = fromWire(searchBody, searchBody.parse({ query, ...parameters }));
      const response = await search.search(owned, searchRequest(request as never), signal);
      return { answer: toWire(output, searchView(response)) as never, warning: response.warning };
    },
  };
}

/** Names of unknown fields are shown, and may be very long. */
const longestField = 100;

/** Checks the spaces that deployments name. */
export function spaceCheckOf(spaces: Pick<Spaces, 'resolve'>): SpaceCheck {
  return {
    spaceProblem: async (organizationId, space) => {
      try {
        await spaces.resolve(organizationId, space);
        return null;
      } catch (error) {
        const isUnknown = error instanceof CoreError && error.code === 'NOT_FOUND';
        if (!isUnknown) throw error;
        return `is not a space of this organization; create it first: headworks spaces create ${shown(space)} --organization ${organizationId}`;
      }
    },
  };
}

/** Only what could be a name. */
const shown = (space: string): string => (/^[\w.-]{1,100}$/.test(space) ? space : 'NAME');
