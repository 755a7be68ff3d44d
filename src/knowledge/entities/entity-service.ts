// Lists, merges, splits and reviews entities.
import type { Clock, IdSource } from '../../core/index.ts';
import { CoreError } from '../../core/index.ts';
import type { Space } from '../spaces/spaces.ts';
import { nameKeys } from './blocking-keys.ts';
import { cleanClues } from './compare-clues.ts';
import type { EntityStore } from './entity-store.ts';
import { confidenceOf, matchEntity } from './match.ts';
import type { MergeStore } from './merge-store.ts';
import { isUnnamed, nameFullness, normalizeName, visibleName } from './normalize.ts';
import type { PairStore } from './pair-store.ts';
import type {
  Entity,
  EntityDetail,
  EntityFilter,
  EntityMerge,
  EntityPair,
  EntityView,
  UndoneMerge,
} from './types.ts';

interface EntityServiceDeps {
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

export class EntityService {
  readonly #deps: EntityServiceDeps;

  constructor(deps: EntityServiceDeps) {
    this.#deps = deps;
  }

  list(filter: EntityFilter): Promise<readonly EntityView[]> {
    return this.#deps.entities.list(filter);
  }

  /** A merged entity returns the one it was merged into. Fails with NOT_FOUND. */
  async get(space: Space, entityId: string): Promise<EntityDetail> {
    const { entities, pairs, merges } = this.#deps;
    const { spaceId, entityId: liveId } = await this.#live(space, entityId);
    const [view] = await entities.details(spaceId, [liveId]);
    if (!view) throw notFound(entityId);
    return {
      ...view,
      mentions: await entities.mentions(spaceId, liveId, maxMentions),
      pairs: await pairs.of(spaceId, liveId),
      merges: await merges.of(spaceId, liveId),
    };
  }

  /** Everything of the loser moves to the winner, recorded. Fails with NOT_FOUND or KNOWLEDGE_MERGE_IMPOSSIBLE. */
  async merge(
    { spaceId }: Space,
    winnerId: string,
    loserId: string,
    reason: string,
    decidedBy: string,
  ): Promise<EntityMerge> {
    const { merges, onChanged } = this.#deps;
    const done = await merges.merge(spaceId, { winnerId, loserId, reason, decidedBy }, this.#now());
    onChanged?.(spaceId, [winnerId, loserId]);
    return done;
  }

  /**
   * Undoes a merge exactly; later merges into the same winner stay. Mentions written since under the loser's name move
   * with it. Fails with KNOWLEDGE_MERGE_IMPOSSIBLE.
   */
  async unmerge({ spaceId }: Space, mergeId: string): Promise<UndoneMerge> {
    const { merges, onChanged } = this.#deps;
    const undone = await merges.undo(spaceId, mergeId, this.#now());
    onChanged?.(spaceId, [undone.winnerId, undone.loserId]);
    return undone;
  }

  /** These mentions become an entity of their own, with the events they are nearest to. Merging both undoes it. */
  async split(space: Space, entityId: string, mentionIds: readonly string[], name: string): Promise<Entity> {
    const { merges, ids, onChanged } = this.#deps;
    if (mentionIds.length === 0 || isUnnamed(name))
      throw new CoreError('INPUT_INVALID', 'A split needs at least one mention and a name.');
    const { type } = await this.#live(space, entityId);
    const canonicalName = visibleName(name);
    const normalizedName = normalizeName(name, type);
    const { stored } = nameKeys(canonicalName, type);
    const draft = {
      entity: { entityId: ids.uuid(), type, canonicalName, normalizedName },
      names: [{ alias: canonicalName, normalizedAlias: normalizedName, keys: stored }],
      clues: cleanClues({}, canonicalName),
      embedding: null,
      reviewReason: null,
      namesakes: null,
    };
    await merges.split(space.spaceId, entityId, mentionIds, draft, this.#now());
    onChanged?.(space.spaceId, [entityId, draft.entity.entityId]);
    return this.#live(space, draft.entity.entityId);
  }

  /** Open pairs, the most likely first, postponed ones last; both sides with the evidence for and against. */
  async review(
    { spaceId }: Space,
    limit: number,
  ): Promise<readonly (EntityPair & { readonly a: EntityView; readonly b: EntityView })[]> {
    const { entities, pairs } = this.#deps;
    const open = await pairs.listOpen(spaceId, limit);
    const sides = [...new Set(open.flatMap(({ liveA, liveB }) => [liveA, liveB]))];
    const views = new Map((await entities.details(spaceId, sides)).map((view) => [view.entityId, view]));
    const listed: (EntityPair & { readonly a: EntityView; readonly b: EntityView })[] = [];
    for (const { liveA, liveB, ...pair } of open) {
      const [a, b] = [views.get(liveA), views.get(liveB)];
      if (a && b) listed.push({ ...pair, ...(await this.#currentSimilarity(pair, a, b)), a, b });
    }
    const isLater = ({ state }: EntityPair): number => (state === 'later' ? 1 : 0);
    return listed.sort((one, other) => isLater(one) - isLater(other) || other.confidence - one.confidence);
  }

  /**
   * `asOf`: when the two were looked at; default: for `same` when the pair was created, for the others now. Fails with
   * CONFLICT for `same` when one of them was merged with another entity since, and for `same` or `later` when they were
   * decided to be different since.
   */
  async decide(
    space: Space,
    pairId: string,
    verdict: 'same' | 'different' | 'later',
    decidedBy: string,
    asOf?: Date,
  ): Promise<EntityPair> {
    const { pairs, merges, onChanged } = this.#deps;
    const { spaceId } = space;
    const pair = await pairs.get(spaceId, pairId);
    if (!pair) throw new CoreError('NOT_FOUND', `There is no pair ${pairId}.`);
    const a = await this.#live(space, pair.entityA);
    const b = await this.#live(space, pair.entityB);
    assertNotDecidedSince(pair, verdict, a, b, asOf);
    if (verdict === 'same') {
      if (a.entityId !== b.entityId) {
        await assertNotMergedSince(merges, a, b, asOf ?? pair.createdAt);
        const [winner, loser] = pickWinner(a, b);
        await this.merge(space, winner.entityId, loser.entityId, `Reviewed: ${pair.reason}`, decidedBy);
      }
      return (await pairs.get(spaceId, pairId)) ?? pair;
    }
    const decided = await pairs.decide(spaceId, pairId, verdict, decidedBy, this.#now());
    if (!decided) throw new CoreError('CONFLICT', 'These two have been merged since. Undo that merge first.');
    onChanged?.(spaceId, [a.entityId, b.entityId]);
    return decided;
  }

  /** The entity, or the one it was merged into. Fails with NOT_FOUND. */
  async #live({ spaceId }: Space, entityId: string): Promise<Entity> {
    const { entities } = this.#deps;
    let entity = await entities.get(spaceId, entityId);
    for (let step = 0; entity?.mergedInto && step < maxMergeDepth; step++)
      entity = await entities.get(spaceId, entity.mergedInto);
    if (!entity) throw notFound(entityId);
    return entity;
  }

  /** Similarity as of now for a pair whose sides were merged since; nothing if they were not. */
  async #currentSimilarity(
    pair: EntityPair,
    a: EntityView,
    b: EntityView,
  ): Promise<Partial<Pick<EntityPair, 'confidence' | 'evidence'>>> {
    const isUnchanged = [a, b].every(
      ({ entityId }) => entityId === pair.entityA || entityId === pair.entityB,
    );
    if (isUnchanged) return {};
    const { entities } = this.#deps;
    const one = await entities.known(a.spaceId, a.entityId);
    const other = await entities.known(b.spaceId, b.entityId);
    const [found] = one && other ? matchEntity(other, [one]) : [];
    if (!found) return {};
    const { points, reasons } = found.match;
    return { confidence: confidenceOf(points), evidence: { points, reasons } };
  }

  #now(): Date {
    return new Date(this.#deps.clock.now());
  }
}

const notFound = (entityId: string): CoreError =>
  new CoreError('NOT_FOUND', `There is no entity ${entityId}.`);

/**
 * Someone decided `different` after the caller looked at the pair. Only `same` must be based on that decision; without
 * a time, `later` reopens the pair in any case.
 */
function assertNotDecidedSince(
  { pairId, state, decidedBy, decidedAt, createdAt }: EntityPair,
  verdict: 'same' | 'different' | 'later',
  a: Entity,
  b: Entity,
  asOf: Date | undefined,
): void {
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
  const completeness = ({ type, canonicalName }: Entity) =>
    type === 'person' ? nameFullness(canonicalName) : 0;
  const difference = completeness(a) - completeness(b) || (a.entityId < b.entityId ? 1 : -1);
  return difference > 0 ? [a, b] : [b, a];
}
