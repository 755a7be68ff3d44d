// Handlers of knowledge spaces, folders, entities, events, search and the graph.
import { entitiesApi } from '../../api/entities.ts';
import { eventsApi, graphApi, searchApi } from '../../api/knowledge.ts';
import { foldersApi, spacesApi } from '../../api/spaces.ts';
import { CoreError } from '../../core/index.ts';
import type {
  EntityDetail,
  EntityMerge,
  EntityPair,
  EntityView,
  FolderResult,
  KnowledgeFolder,
  SearchRequest,
  SearchResponse,
  Space,
  StoredEvent,
} from '../../knowledge/index.ts';
import type { Caller } from '../access.ts';
import type { ServerDeps } from '../deps.ts';
import type { HandlerInput, TypedServer } from '../implement.ts';
import { implement, pageOf } from '../implement.ts';

const isDay = /^[\d-]+$/;
const dateOf = (text: string | undefined): Date | undefined =>
  text === undefined ? undefined : new Date(text);

export function knowledgeRoutes(server: TypedServer, dependencies: ServerDeps): void {
  const { tracer, knowledge } = dependencies;
  const { events, search, graph } = knowledge;
  spaceRoutes(server, dependencies);
  entityRoutes(server, dependencies);
  implement(server, eventsApi, {
    list: async ({
      query: { limit, after: before, from, to, artifactId, space, organization, ...filter },
      caller,
    }) => {
      const { spaceId } = await spaceOf(dependencies, caller, { space, organization });
      const { items, next } = await pageOf(
        limit,
        (max) =>
          events.list({
            spaceId,
            ...filter,
            artifactUid: artifactId,
            from: dateOf(from),
            to: dateOf(to),
            before,
            limit: max,
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
      const facts = { 'headworks.space_id': space.spaceId };
      return tracer.span('knowledge search', facts, async () =>
        searchView(await search.search(space, searchRequest(body), signal)),
      );
    },
  });

  implement(server, graphApi, {
    get: async () => graph.status(),
    rebuild: async () => ({ jobId: await graph.requestRebuild() }),
  });
}

const eventView = ({ eventId, artifactUid, ...event }: StoredEvent) => ({
  ...event,
  id: eventId,
  artifactId: artifactUid,
});

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

export interface SpaceRef {
  readonly organization?: string | undefined;
  readonly space?: string | undefined;
}

/** The organization whose knowledge is meant; null: the server's own. Fails with NOT_FOUND or FORBIDDEN. */
function ownerOf(
  { tenants: { organizations } }: Pick<ServerDeps, 'tenants'>,
  caller: Caller | null,
  organization: string | undefined,
): string | null {
  if (caller?.kind === 'admin')
    return organization === undefined ? null : organizations.find(organization).id;
  if (caller?.kind !== 'organization')
    throw new CoreError('FORBIDDEN', 'These credentials have no access to knowledge spaces.');
  const isOwn = (reference: string): boolean => {
    try {
      return organizations.find(reference).id === caller.organizationId;
    } catch {
      return false;
    }
  };
  if (organization === undefined || isOwn(organization)) return caller.organizationId;
  // The same message whether such an organization exists or not.
  throw new CoreError(
    'FORBIDDEN',
    'This key has access to the spaces of its own organization only. Omit "organization".',
  );
}

/** The space of the request. Fails with NOT_FOUND or FORBIDDEN, revealing nothing about spaces of others. */
export function spaceOf(
  dependencies: Pick<ServerDeps, 'tenants' | 'knowledge'>,
  caller: Caller | null,
  { organization, space }: SpaceRef,
): Promise<Space> {
  return dependencies.knowledge.spaces.resolve(ownerOf(dependencies, caller, organization), space);
}

function spaceRoutes(server: TypedServer, dependencies: ServerDeps): void {
  const { spaces, folders } = dependencies.knowledge;
  implement(server, spacesApi, {
    list: async ({ query: { organization }, caller }) => {
      const isAll = caller?.kind === 'admin' && organization === undefined;
      const owner = isAll ? undefined : ownerOf(dependencies, caller, organization);
      return { spaces: await spaces.list(owner) };
    },
    create: async ({ query, body: { name, language, organization = query.organization }, caller }) =>
      spaces.create(ownerOf(dependencies, caller, organization), name, language),
    delete: async ({ params, query, caller }) =>
      spaces.delete(await spaceOf(dependencies, caller, { ...query, ...params })),
  });

  implement(server, foldersApi, {
    list: async ({ query: { all, ...ref }, caller }) => {
      const spaceId = all ? undefined : (await spaceOf(dependencies, caller, ref)).spaceId;
      return { folders: (await folders.list(spaceId)).map(folderView) };
    },
    create: async ({ body: { path, schedule = null, deleteMissing, ...ref }, caller, reply }) => {
      const space = await spaceOf(dependencies, caller, ref);
      const { outcome, ...folder } = await folders.create(space, {
        path,
        schedule,
        deleteMissing,
      });
      reply.code(outcome === 'created' ? 201 : 200);
      return { ...folderView(folder), outcome };
    },
    scan: async ({ params, body, signal }) =>
      resultView(await folders.scan(params.id, { deleteMissing: body.deleteMissing }, signal)),
    delete: async ({ params }) => folders.delete(params.id),
  });
}

const folderView = ({ folderId, spaceName, deleteMissing, lastResult, ...folder }: KnowledgeFolder) => ({
  ...folder,
  id: folderId,
  space: spaceName,
  deleteMissing,
  lastResult: lastResult && resultView(lastResult),
});

const resultView = ({ removed, missing, ...result }: FolderResult) => ({
  ...result,
  deleted: removed,
  missing: missing.map(({ path, artifactUid }) => ({ path, artifactId: artifactUid })),
});

function entityRoutes(server: TypedServer, dependencies: ServerDeps): void {
  const { entities, graph } = dependencies.knowledge;
  const space = (caller: Caller | null, ref: SpaceRef) => spaceOf(dependencies, caller, ref);
  implement(server, entitiesApi, {
    list: async ({ query: { limit, space: name, organization, ...filter }, caller }) => {
      const { spaceId } = await space(caller, { space: name, organization });
      const { items, next } = await pageOf(
        limit,
        (max) => entities.list({ spaceId, ...filter, limit: max }),
        ({ entityId }) => entityId,
      );
      return { entities: items.map(entityView), next };
    },
    get: async ({ params, query, caller }) =>
      detailView(await entities.get(await space(caller, query), params.id)),
    listRelated: async ({ params, query, caller }) =>
      graph.around(await space(caller, query), params.id, query.limit),
    split: async ({ params, query, body, caller }) => {
      const of = await space(caller, query);
      const { entityId } = await entities.split(of, params.id, body.mentionIds, body.name);
      return detailView(await entities.get(of, entityId));
    },
    merge: async ({ query, body, caller }) => {
      const { winnerId, loserId, reason } = body;
      return mergeView(
        await entities.merge(await space(caller, query), winnerId, loserId, reason, actorOf(caller)),
      );
    },
    undoMerge: async ({ params, query, caller }) => {
      const { later, ...merge } = await entities.unmerge(await space(caller, query), params.id);
      const unclear = later.unclear.map(({ mentionId: id, surfaceForm }) => ({ id, surfaceForm }));
      return { ...mergeView(merge), laterMentions: { moved: later.moved, unclear } };
    },
    listPairs: async ({ query, caller }) => {
      const of = await space(caller, query);
      const asOf = new Date(dependencies.clock.now());
      const open = await entities.review(of, query.limit);
      return {
        pairs: open.map((pair) => ({
          ...pairView(pair),
          a: entityView(pair.a),
          b: entityView(pair.b),
          asOf,
        })),
      };
    },
    decidePair: async ({ params, query, body: { verdict, asOf }, caller }) => {
      const seenAt = asOf === undefined ? undefined : new Date(asOf);
      const of = await space(caller, query);
      return pairView(await entities.decide(of, params.id, verdict, actorOf(caller), seenAt));
    },
  });
}

/** `admin` or the id of the organization: for records of who decided. */
const actorOf = (caller: Caller | null): string =>
  caller?.kind === 'organization' ? caller.organizationId : 'admin';

const entityView = ({ entityId, firstArtifactUid, ...entity }: EntityView) => ({
  ...entity,
  id: entityId,
  firstArtifactId: firstArtifactUid,
});

const pairView = ({ pairId, ...pair }: EntityPair) => ({ ...pair, id: pairId });

const mergeView = ({ mergeId, ...merge }: EntityMerge) => ({ ...merge, id: mergeId });

const detailView = ({ mentions, pairs, merges, ...entity }: EntityDetail) => ({
  ...entityView(entity),
  mentions: mentions.map(({ mentionId, artifactUid, ...mention }) => ({
    ...mention,
    id: mentionId,
    artifactId: artifactUid,
  })),
  pairs: pairs.map(pairView),
  merges: merges.map(mergeView),
});
