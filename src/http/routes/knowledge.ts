// Handlers of knowledge events, search and the graph.
import { eventsApi, graphApi, searchApi } from '../../api/knowledge.ts';
import type { SearchRequest, SearchResponse, StoredEvent } from '../../knowledge/index.ts';
import type { ServerDeps } from '../deps.ts';
import type { HandlerInput, TypedServer } from '../implement.ts';
import { implement, pageOf } from '../implement.ts';
import { spaceOf } from '../knowledge-space.ts';

const isDay = /^[\d-]+$/;
const dateOf = (text: string | undefined): Date | undefined =>
  text === undefined ? undefined : new Date(text);

export function knowledgeRoutes(server: TypedServer, dependencies: ServerDeps): void {
  const { events, search, graph } = dependencies.knowledge;
  implement(server, eventsApi, {
    list: async ({
      query: { limit, after: before, from, to, artifactId, space, organization, ...filter },
      caller,
    }) => {
      const { spaceId } = await spaceOf(dependencies, caller, { space, organization });
      const { items, next } = await pageOf(
        limit,
        (most) =>
          events.list({
            spaceId,
            ...filter,
            artifactUid: artifactId,
            from: dateOf(from),
            to: dateOf(to),
            before,
            limit: most,
          }),
        ({ eventId }) => eventId,
      );
      return { events: items.map(eventView), next };
    },
    get: async ({ params, query, caller }) =>
      eventView(await events.get(await spaceOf(dependencies, caller, query), params.id)),
  });

  implement(server, searchApi, {
    search: async ({ query, body, caller, signal }) => {
      const space = await spaceOf(dependencies, caller, { ...query, ...body });
      return searchView(await search.search(space, searchRequest(body), signal));
    },
  });

  implement(server, graphApi, {
    get: async () => graph.status() as never,
    rebuild: async () => ({ jobId: await graph.requestRebuild() }),
  });
}

const eventView = ({ eventId, artifactUid, category, actors, ...event }: StoredEvent) =>
  ({ ...event, id: eventId, artifactId: artifactUid, category, actors }) as never;

/** The request of the domain; the end of a day is its last moment. */
export function searchRequest({
  filters: { from, to, ...filter },
  space: _space,
  organization: _organization,
  ...request
}: HandlerInput<(typeof searchApi)['search']>['body']): SearchRequest {
  const end = to !== undefined && isDay.test(to) ? `${to}T23:59:59.999Z` : to;
  return { ...request, filter: { ...filter, from: dateOf(from), to: dateOf(end) } };
}

export const searchView = ({
  primaryResults,
  relatedContext,
  entities,
  warning,
  ...response
}: SearchResponse) => ({
  ...response,
  primaryResults: primaryResults.map(({ artifactUid, ...hit }) => ({ ...hit, artifactId: artifactUid })),
  relatedContext:
    relatedContext?.map(({ artifactUid, evidence, ...item }) => ({
      ...item,
      artifactId: artifactUid,
      evidence: evidence.map((each) => ({ ...each, artifactId: each.artifactUid })),
    })) ?? null,
  entities: entities?.map(({ entityId, ...entity }) => ({ ...entity, id: entityId })) ?? null,
  ...(warning === null ? {} : { warning }),
});
