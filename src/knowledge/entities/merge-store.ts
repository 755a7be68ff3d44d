// Merges and their undo. A merged entity keeps its row, names and clues; mentions and event participations keep in
// `resolved_id` which entity they were resolved to, so that undoing a merge is an update.
import type { IdSource } from '../../core/index.ts';
import { CoreError, isUuid } from '../../core/index.ts';
import type { Database, Transaction } from '../../platform/postgres/ports.ts';
import { json, sql } from '../../platform/postgres/sql.ts';
import { KnowledgeError } from '../errors.ts';
import type { EntityType } from '../reading/types.ts';
import { loadFamilies } from './candidate-queries.ts';
import { lockEntities, touchEntities } from './entity-writes.ts';
import { compareNames, minUncertainPoints } from './match.ts';
import { normalizeName } from './normalize.ts';
import { refreshUncertain } from './pair-store.ts';
import { moveAliases, moveParticipations, reversedSplits, splitEntity } from './split-entity.ts';
import type { CandidateEntity, EntityDraft, EntityMerge, UndoneMerge } from './types.ts';

const columns = sql`
  merge_id as "mergeId", space_id as "spaceId", winner_id as "winnerId", loser_id as "loserId", reason,
  decided_by as "decidedBy", merged_at as "mergedAt", undone_at as "undoneAt"`;

/** Decided by rules: neither by a person nor by a model. */
export const decidedByScore = 'score';

export class MergeStore {
  readonly #database: Database;
  readonly #ids: IdSource;

  constructor(database: Database, ids: IdSource) {
    this.#database = database;
    this.#ids = ids;
  }

  /** Merges that involve the entity, newest first, at most 200. */
  async of(spaceId: number, entityId: string): Promise<readonly EntityMerge[]> {
    if (!isUuid(entityId)) return [];
    const { rows } = await this.#database.query<EntityMerge>(sql`
      select ${columns} from entity_merge where space_id = ${spaceId}
        and (winner_id = ${entityId}::uuid or loser_id = ${entityId}::uuid) order by merge_id desc limit 200`);
    return rows;
  }

  /**
   * `mayBeSame` checks, under the lock, what is known about the two by then: an automatic merge needs it. Fails with
   * NOT_FOUND or KNOWLEDGE_MERGE_IMPOSSIBLE and changes nothing.
   */
  async merge(
    spaceId: number,
    merge: Pick<EntityMerge, 'winnerId' | 'loserId' | 'reason' | 'decidedBy'>,
    at: Date,
    mayBeSame: (a: CandidateEntity, b: CandidateEntity) => boolean = () => true,
  ): Promise<EntityMerge> {
    const { winnerId, loserId, reason, decidedBy } = merge;
    return this.#locked(spaceId, async (transaction) => {
      if (winnerId === loserId)
        throw new KnowledgeError('KNOWLEDGE_MERGE_IMPOSSIBLE', 'An entity cannot be merged into itself.');
      const entities = await lockForUpdate(transaction, spaceId, [winnerId, loserId]);
      for (const id of [winnerId, loserId]) assertUnmerged(id, entities.get(id));
      const families = await loadFamilies(transaction, spaceId, [winnerId, loserId], null);
      const [one, other] = families.map(({ known }) => known);
      if (one && other && !mayBeSame(one, other))
        throw new KnowledgeError(
          'KNOWLEDGE_MERGE_IMPOSSIBLE',
          'What is known about the two contradicts by now.',
        );
      const settledPairs = await settlePairs(transaction, spaceId, merge, at);
      for (const table of [sql`entity_mention`, sql`event_actor`, sql`event_subject`])
        await transaction.query(sql`
          update ${table} set entity_id = ${winnerId}::uuid where entity_id = ${loserId}::uuid and space_id = ${spaceId}`);
      await transaction.query(sql`
        update entity set merged_into = ${winnerId}::uuid where entity_id = ${loserId}::uuid`);
      await refreshUncertain(transaction, spaceId, [winnerId]);
      await touchEntities(transaction, spaceId, [winnerId, loserId]);
      const { rows } = await transaction.query<EntityMerge>(sql`
        insert into entity_merge (merge_id, space_id, winner_id, loser_id, reason, decided_by, winner_aliases,
          settled_pairs, merged_at)
        values (${this.#ids.uuid()}, ${spaceId}, ${winnerId}, ${loserId}, ${reason}, ${decidedBy},
          array(select normalized_alias from entity_alias where entity_id = ${winnerId}::uuid), ${json(settledPairs)}, ${at})
        returning ${columns}`);
      return returned(rows);
    });
  }

  /**
   * Returns to the loser what was resolved to it or to entities merged into it, and the mentions written since that
   * name it. What was split off the winner stays split off, unless it was merged back. Fails with NOT_FOUND or KNOWLEDGE_MERGE_IMPOSSIBLE and
   * changes nothing.
   */
  async undo(spaceId: number, mergeId: string, at: Date): Promise<UndoneMerge> {
    return this.#locked(spaceId, async (transaction) => {
      const merge = await loadForUndo(transaction, spaceId, mergeId);
      const { winnerId, loserId } = merge;
      const entities = await lockForUpdate(transaction, spaceId, [winnerId, loserId]);
      assertUnmerged(winnerId, entities.get(winnerId), 'Undo that merge first.');
      await transaction.query(sql`update entity set merged_into = null where entity_id = ${loserId}::uuid`);
      for (const table of [sql`entity_mention`, sql`event_actor`, sql`event_subject`])
        await transaction.query(sql`
          update ${table} set entity_id = ${loserId}::uuid where entity_id = ${winnerId}::uuid and space_id = ${spaceId}
            and resolved_id in (select member from knowledge_family(array[${loserId}::uuid]))`);
      await restorePairs(transaction, mergeId);
      const later = await reassignMentions(transaction, spaceId, merge);
      await refreshUncertain(transaction, spaceId, [winnerId, loserId]);
      await touchEntities(transaction, spaceId, [winnerId, loserId]);
      const { rows } = await transaction.query<EntityMerge>(sql`
        update entity_merge set undone_at = ${at} where merge_id = ${mergeId}::uuid returning ${columns}`);
      return { ...returned(rows), later };
    });
  }

  /** Moves these mentions to a new entity, with the participations nearest to them and the names only they use. */
  async split(
    spaceId: number,
    entityId: string,
    mentionIds: readonly string[],
    into: EntityDraft,
    at: Date,
  ): Promise<void> {
    await this.#locked(spaceId, async (transaction) => {
      const entities = await lockForUpdate(transaction, spaceId, [entityId]);
      assertUnmerged(entityId, entities.get(entityId));
      await splitEntity(transaction, spaceId, entityId, mentionIds, { into, pairId: this.#ids.uuid(), at });
    });
  }

  #locked<T>(spaceId: number, work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.#database.transaction(async (transaction) => {
      await lockEntities(transaction, this.#database.schema, spaceId);
      return work(transaction);
    });
  }
}

async function loadForUndo(transaction: Transaction, spaceId: number, mergeId: string): Promise<EntityMerge> {
  const { rows } = isUuid(mergeId)
    ? await transaction.query<EntityMerge>(sql`
        select ${columns} from entity_merge where merge_id = ${mergeId}::uuid and space_id = ${spaceId} for update`)
    : { rows: [] };
  const [merge] = rows;
  if (!merge) throw new CoreError('NOT_FOUND', `There is no merge ${mergeId}.`);
  if (merge.undoneAt !== null)
    throw new KnowledgeError('KNOWLEDGE_MERGE_IMPOSSIBLE', 'This merge has been undone already.');
  return merge;
}

function returned(rows: readonly EntityMerge[]): EntityMerge {
  const [row] = rows;
  if (!row) throw new CoreError('INTERNAL', 'A merge was written and not returned.');
  return row;
}

/** Writers of mentions hold key-share locks: they finish first, or wait and then see the merge. */
async function lockForUpdate(
  transaction: Transaction,
  spaceId: number,
  ids: readonly string[],
): Promise<ReadonlyMap<string, { readonly mergedInto: string | null }>> {
  const { rows } = await transaction.query<{ id: string; mergedInto: string | null }>(sql`
    select entity_id as id, merged_into as "mergedInto" from entity
    where entity_id = any(${ids.filter(isUuid)}::uuid[]) and space_id = ${spaceId} order by entity_id for update`);
  return new Map(rows.map((row) => [row.id, row]));
}

function assertUnmerged(
  id: string,
  entity: { readonly mergedInto: string | null } | undefined,
  remedy = 'Name that one, or undo that merge.',
): void {
  if (!entity) throw new CoreError('NOT_FOUND', `There is no entity ${id}.`);
  if (entity.mergedInto !== null)
    throw new KnowledgeError(
      'KNOWLEDGE_MERGE_IMPOSSIBLE',
      `The entity ${id} was merged into ${entity.mergedInto}. ${remedy}`,
    );
}

/** Marks pairs between the two, and between entities merged into them, as the same. Returns them as they were. */
async function settlePairs(
  transaction: Transaction,
  spaceId: number,
  { winnerId, loserId, decidedBy }: Pick<EntityMerge, 'winnerId' | 'loserId' | 'decidedBy'>,
  at: Date,
): Promise<unknown> {
  const { rows } = await transaction.query<{ before: unknown }>(sql`
    with family as (select * from knowledge_family(array[${winnerId}::uuid, ${loserId}::uuid])),
    between as (
      select p.* from entity_pair p join family a on a.member = p.entity_a join family b on b.member = p.entity_b
      where a.root <> b.root and p.space_id = ${spaceId} and p.state <> 'same'),
    settled as (
      update entity_pair p set state = 'same', decided_by = ${decidedBy}, decided_at = ${at}
      from between where p.pair_id = between.pair_id)
    select coalesce(jsonb_agg(jsonb_build_object('pairId', pair_id, 'state', state, 'decidedBy', decided_by,
      'decidedAt', decided_at)), '[]') as before from between`);
  return rows[0]?.before;
}

async function restorePairs(transaction: Transaction, mergeId: string): Promise<void> {
  await transaction.query(sql`
    update entity_pair p set state = t.state, decided_by = t."decidedBy", decided_at = t."decidedAt"
    from entity_merge m cross join lateral jsonb_to_recordset(m.settled_pairs)
      as t ("pairId" uuid, state text, "decidedBy" text, "decidedAt" timestamptz)
    where m.merge_id = ${mergeId}::uuid and p.pair_id = t."pairId"`);
}

/** Unclear mentions that are listed; there may be more. */
const maxUnclear = 100;

/**
 * Moves to the loser, with their event participations: its mentions that were split off and merged back since, and those
 * resolved to the winner since the merge that have its name and not the winner's, with the names they added. Those whose
 * name both have stay and are listed.
 */
async function reassignMentions(
  transaction: Transaction,
  spaceId: number,
  merge: EntityMerge,
): Promise<UndoneMerge['later']> {
  const { mergeId, winnerId, loserId } = merge;
  // Ids are UUIDv7: greater means written later.
  const { rows: later } = await transaction.query<{ mentionId: string; surfaceForm: string }>(sql`
    select mention_id as "mentionId", surface_form as "surfaceForm" from entity_mention
    where entity_id = ${winnerId}::uuid and resolved_id = ${winnerId}::uuid and space_id = ${spaceId}
      and mention_id > ${mergeId}::uuid
    order by mention_id`);
  const own = await reversedSplits(transaction, merge);
  if (later.length + own.length === 0) return { moved: 0, unclear: [] };
  const names = await loadNames(transaction, merge);
  const sideOf = (name: string): 'winner' | 'loser' | 'either' => {
    const [winner, loser] = [similarity(name, names.winner), similarity(name, names.loser)];
    if (winner === loser) return 'either';
    return winner > loser ? 'winner' : 'loser';
  };
  const bySide = Map.groupBy(later, ({ surfaceForm }) => sideOf(surfaceForm));
  const named = (bySide.get('loser') ?? []).map(({ mentionId }) => mentionId);
  const mentionIds = [...own, ...named];
  await transaction.query(sql`
    update entity_mention set entity_id = ${loserId}::uuid, resolved_id = ${loserId}::uuid
    where mention_id = any(${mentionIds}::uuid[])`);
  const move = { fromId: winnerId, toId: loserId };
  await moveParticipations(transaction, { ...move, mentionIds });
  const aliases = names.addedToWinner.filter(({ alias }) => sideOf(alias) === 'loser');
  await moveAliases(
    transaction,
    move,
    aliases.map(({ normalized }) => normalized),
  );
  return { moved: named.length, unclear: (bySide.get('either') ?? []).slice(0, maxUnclear) };
}

interface Name {
  readonly rootId: string;
  /** Type of the root entity. */
  readonly type: EntityType;
  readonly alias: string;
  readonly normalized: string;
  readonly isAddedToWinner: boolean;
}

/** Names of the two and of entities merged into them, after they have been separated. */
async function loadNames(transaction: Transaction, { mergeId, winnerId, loserId }: EntityMerge) {
  const { rows } = await transaction.query<Name>(sql`
    select f.root as "rootId", r.entity_type as type, own.alias, own.normalized,
      f.member = m.winner_id and own.normalized <> all(m.winner_aliases) as "isAddedToWinner"
    from entity_merge m cross join lateral knowledge_family(array[m.winner_id, m.loser_id]) f
      join entity r on r.entity_id = f.root join entity e on e.entity_id = f.member
      left join entity_alias a on a.entity_id = f.member
      cross join lateral (select coalesce(a.alias, e.canonical_name) as alias,
        coalesce(a.normalized_alias, e.normalized_name) as normalized) own
    where m.merge_id = ${mergeId}::uuid`);
  return {
    winner: rows.filter(({ rootId, isAddedToWinner }) => rootId === winnerId && !isAddedToWinner),
    loser: rows.filter(({ rootId }) => rootId === loserId),
    /** Names added since the merge: they may be the loser's. */
    addedToWinner: rows.filter(({ isAddedToWinner }) => isAddedToWinner),
  };
}

/** Infinite for exactly this name; names below the uncertain range are equally dissimilar. */
function similarity(name: string, names: readonly Name[]): number {
  const [{ type } = { type: 'other' as const }] = names;
  const wanted = normalizeName(name, type);
  if (names.some(({ normalized }) => normalized === wanted)) return Infinity;
  const points = names.map(({ alias }) => compareNames(type, name, alias).points);
  return Math.max(minUncertainPoints - 1, ...points);
}
