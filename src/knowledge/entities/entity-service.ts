// Lists, merges, splits and reviews entities.
import type { Clock, IdSource } from '../../core/index.ts';
import { CoreError } from '../../core/index.ts';
import type { EntityDetail, EntityService, EntityView } from '../types.ts';
import type { Space } from '../spaces/spaces.ts';
import { nameKeys } from './blocking-keys.ts';
import { cleanClues } from './compare-clues.ts';
import { confidenceOf } from './decide-mentions.ts';
import type { EntityStore } from './entity-store.ts';
import { matchCandidates } from './match.ts';
import type { MergeStore } from './merge-store.ts';
import { isUnnamed, nameFullness, normalizeName, visibleName } from './normalize.ts';
import type { PairStore } from './pair-store.ts';
import type { Entity, EntityFilter, EntityMerge, EntityPair } from './types.ts';

export interface EntityServiceDeps {
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly entities: EntityStore;
  readonly pairs: PairStore;
  readonly merges: MergeStore;
  /** Called with entities whose edges a separate graph must redraw. */
  readonly onChanged?: (spaceId: number, entityIds: readonly string[]) => void;
}

/** Mentions returned per entity. */
const maxMentions = 200;
/** Merges followed from a merged entity. */
const maxMergeDepth = 32;

export function openEntityService(deps: EntityServiceDeps): EntityService {
  const { entities, pairs, merges, clock, ids } = deps;
  const now = () => new Date(clock.now());
  const changed = (spaceId: number, entityIds: readonly string[]) => deps.onChanged?.(spaceId, entityIds);
  const live = (space: Space, entityId: string) => liveEntity(entities, space.spaceId, entityId);

  async function merge(
    space: Space,
    winnerId: string,
    loserId: string,
    reason: string,
    decidedBy: string,
  ): Promise<EntityMerge> {
    const done = await merges.merge(space.spaceId, { winnerId, loserId, reason, decidedBy }, now());
    changed(space.spaceId, [winnerId, loserId]);
    return done;
  }

  return {
    list: (filter: EntityFilter) => entities.list(filter),

    async get(space, entityId): Promise<EntityDetail> {
      const entity = await live(space, entityId);
      const view = await loadView(entities, space.spaceId, entity.entityId);
      return {
        ...view,
        mentions: await entities.mentions(space.spaceId, entity.entityId, maxMentions),
        pairs: await pairs.of(space.spaceId, entity.entityId),
        merges: await merges.of(space.spaceId, entity.entityId),
      };
    },

    merge,

    async unmerge(space, mergeId) {
      const undone = await merges.undo(space.spaceId, mergeId, now());
      changed(space.spaceId, [undone.winnerId, undone.loserId]);
      return undone;
    },

    async split(space, entityId, mentionIds, name): Promise<Entity> {
      if (mentionIds.length === 0 || isUnnamed(name))
        throw new CoreError('INPUT_INVALID', 'A split needs at least one mention and a name.');
      const { type } = await live(space, entityId);
      const canonicalName = visibleName(name);
      const normalizedName = normalizeName(name, type);
      const { kept } = nameKeys(canonicalName, type);
      const draft = {
        entityId: ids.uuid(),
        type,
        canonicalName,
        normalizedName,
        names: [{ alias: canonicalName, normalizedAlias: normalizedName, keys: kept }],
        clues: cleanClues({}, canonicalName),
        embedding: null,
        artifactUid: null,
        revisionId: null,
        reviewReason: null,
        isUnchecked: true,
      };
      await merges.split(space.spaceId, entityId, mentionIds, draft, now());
      changed(space.spaceId, [entityId, draft.entityId]);
      return live(space, draft.entityId);
    },

    async review(space, limit) {
      const open = await pairs.listOpen(space.spaceId, limit);
      const sides = [...new Set(open.flatMap(({ liveA, liveB }) => [liveA, liveB]))];
      const found = await entities.details(space.spaceId, sides);
      const views = new Map<string, EntityView>(found.map((view) => [view.entityId, view]));
      const asked: (EntityPair & { readonly a: EntityView; readonly b: EntityView })[] = [];
      for (const { liveA, liveB, ...pair } of open) {
        const [a, b] = [views.get(liveA), views.get(liveB)];
        if (a && b) asked.push({ ...pair, ...(await currentSimilarity(entities, pair, a, b)), a, b });
      }
      const isLater = ({ state }: EntityPair): number => (state === 'later' ? 1 : 0);
      return asked.sort((one, other) => isLater(one) - isLater(other) || other.confidence - one.confidence);
    },

    async decide(space, pairId, verdict, decidedBy, asOf): Promise<EntityPair> {
      const pair = await pairs.get(space.spaceId, pairId);
      if (!pair) throw new CoreError('NOT_FOUND', `There is no pair ${pairId}.`);
      const a = await live(space, pair.entityA);
      const b = await live(space, pair.entityB);
      assertNotDecidedSince(pair, verdict, a, b, asOf);
      if (verdict === 'same') {
        if (a.entityId !== b.entityId) {
          await assertNotMergedSince(merges, a, b, asOf ?? pair.createdAt);
          const [winner, loser] = pickWinner(a, b);
          await merge(space, winner.entityId, loser.entityId, `Reviewed: ${pair.reason}`, decidedBy);
        }
        return (await pairs.get(space.spaceId, pairId)) ?? pair;
      }
      const decided = await pairs.decide(space.spaceId, pairId, verdict, decidedBy, now());
      if (!decided)
        throw new CoreError('CONFLICT', 'These two have been merged since. Undo that merge first.');
      changed(space.spaceId, [a.entityId, b.entityId]);
      return decided;
    },
  };
}

/**
 * Someone decided `different` after the caller looked at the pair. Only `same` must be based on that decision; without
 * a time, `later` reopens the pair in any case.
 */
function assertNotDecidedSince(
  pair: EntityPair,
  verdict: 'same' | 'different' | 'later',
  a: Entity,
  b: Entity,
  asOf: Date | undefined,
): void {
  const { pairId, state, decidedBy, decidedAt, createdAt } = pair;
  const seenAt = asOf ?? (verdict === 'same' ? createdAt : null);
  if (state !== 'different' || verdict === 'different' || seenAt === null) return;
  if (decidedAt === null || decidedAt <= seenAt) return;
  const [winner, loser] = pickWinner(a, b);
  throw new CoreError(
    'CONFLICT',
    `"${winner.canonicalName}" and "${loser.canonicalName}" were decided to be different by ${decidedBy ?? 'another reviewer'} ` +
      `at ${decidedAt.toISOString()}, after you looked at them. To reopen the pair, decide "later": ` +
      `headworks entities review --pair ${pairId} --verdict later. If they are the same, merge them: ` +
      `headworks entities merge ${winner.entityId} ${loser.entityId}`,
  );
}

/** A decision about "S. Okafor" may not hold for the "Sam Okafor" it was merged into since. */
async function assertNotMergedSince(merges: MergeStore, a: Entity, b: Entity, asOf: Date): Promise<void> {
  const all = [...(await merges.of(a.spaceId, a.entityId)), ...(await merges.of(b.spaceId, b.entityId))];
  if (!all.some(({ mergedAt, undoneAt }) => undoneAt === null && mergedAt > asOf)) return;
  const [winner, loser] = pickWinner(a, b);
  throw new CoreError(
    'CONFLICT',
    `One of these two was merged with another entity since: they are now "${winner.canonicalName}" and ` +
      `"${loser.canonicalName}". Look at both again; if those are the same, merge them: ` +
      `headworks entities merge ${winner.entityId} ${loser.entityId}`,
  );
}

/** The winner has the more complete name, else it is the older. */
export function pickWinner(a: Entity, b: Entity): readonly [winner: Entity, loser: Entity] {
  const merit = ({ type, canonicalName }: Entity) => (type === 'person' ? nameFullness(canonicalName) : 0);
  const difference = merit(a) - merit(b) || (a.entityId < b.entityId ? 1 : -1);
  return difference > 0 ? [a, b] : [b, a];
}

/** Similarity as of now for a pair whose sides were merged since; nothing if they were not. */
async function currentSimilarity(
  entities: EntityStore,
  pair: EntityPair,
  a: EntityView,
  b: EntityView,
): Promise<Partial<Pick<EntityPair, 'confidence' | 'evidence'>>> {
  const isAsItWas = [a, b].every(({ entityId }) => entityId === pair.entityA || entityId === pair.entityB);
  if (isAsItWas) return {};
  const [one, other] = [
    await entities.known(a.spaceId, a.entityId),
    await entities.known(b.spaceId, b.entityId),
  ];
  if (!one || !other) return {};
  const { canonicalName: name, normalizedName } = other.entity;
  const [found] = matchCandidates({ profile: other.profile, name, normalizedName }, [one]);
  if (!found) return {};
  const { points, reasons } = found.match;
  return { confidence: confidenceOf(points), evidence: { points, reasons } };
}

async function loadView(entities: EntityStore, spaceId: number, entityId: string): Promise<EntityView> {
  const [view] = await entities.details(spaceId, [entityId]);
  if (!view) throw new CoreError('NOT_FOUND', `There is no entity ${entityId}.`);
  return view;
}

/** The entity, or the one it was merged into. Fails with NOT_FOUND. */
export async function liveEntity(entities: EntityStore, spaceId: number, entityId: string): Promise<Entity> {
  let entity = await entities.get(spaceId, entityId);
  for (let step = 0; entity?.mergedInto && step < maxMergeDepth; step++)
    entity = await entities.get(spaceId, entity.mergedInto);
  if (!entity) throw new CoreError('NOT_FOUND', `There is no entity ${entityId}.`);
  return entity;
}
