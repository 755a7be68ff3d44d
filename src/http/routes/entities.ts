// Handlers of entities: read, merge, split, review.
import { entitiesApi } from '../../api/entities.ts';
import type { EntityDetail, EntityMerge, EntityPair, EntityView } from '../../knowledge/index.ts';
import type { Caller } from '../access.ts';
import type { ServerDeps } from '../deps.ts';
import type { TypedServer } from '../implement.ts';
import { implement, pageOf } from '../implement.ts';
import type { SpaceRef } from './knowledge.ts';
import { spaceOf } from './knowledge.ts';

export function entityRoutes(server: TypedServer, dependencies: ServerDeps): void {
  const { entities, graph } = dependencies.knowledge;
  const space = (caller: Caller | null, ref: SpaceRef) => spaceOf(dependencies, caller, ref);
  implement(server, entitiesApi, {
    list: async ({ query: { limit, space: name, organization, ...filter }, caller }) => {
      const { spaceId } = await space(caller, { space: name, organization });
      const { items, next } = await pageOf(
        limit,
        (most) => entities.list({ spaceId, ...filter, limit: most }),
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
