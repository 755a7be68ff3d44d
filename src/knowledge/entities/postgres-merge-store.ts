// Merges in Postgres: what was moved is written down, and goes back exactly.
import type { IdSource } from '../../core/index.ts';
import { CoreError, isUuid } from '../../core/index.ts';
import type { Database, Transaction } from '../../platform/postgres/ports.ts';
import { json, sql } from '../../platform/postgres/sql.ts';
import { KnowledgeError } from '../errors.ts';
import type { EntityMerge, UndoneMerge } from '../ports.ts';
import type { EntityDraft, MergeStore } from '../resolution/store-ports.ts';
import { refreshUncertain } from './postgres-live-pairs.ts';
import { takeApart } from './postgres-merge-undo.ts';
import type { MovedRows } from './postgres-merge-rows.ts';
import { moveRows } from './postgres-merge-rows.ts';
import { splitEntity } from './postgres-split-entity.ts';
import { lockEntities } from './postgres-write-entities.ts';

const columns = sql`
  merge_id as "mergeId", space_id as "spaceId", winner_id as "winnerId", loser_id as "loserId", reason,
  decided_by as "decidedBy", merged_at as "mergedAt", undone_at as "undoneAt"`;

export class PostgresMergeStore implements MergeStore {
  readonly #database: Database;
  readonly #ids: IdSource;

  constructor(database: Database, ids: IdSource) {
    this.#database = database;
    this.#ids = ids;
  }

  async get(spaceId: number, mergeId: string): Promise<EntityMerge | null> {
    if (!isUuid(mergeId)) return null;
    const { rows } = await this.#database.query<EntityMerge>(
      sql`select ${columns} from entity_merge where merge_id = ${mergeId}::uuid and space_id = ${spaceId}`,
    );
    return rows[0] ?? null;
  }

  async of(spaceId: number, entityId: string): Promise<readonly EntityMerge[]> {
    if (!isUuid(entityId)) return [];
    const { rows } = await this.#database.query<EntityMerge>(sql`
      select ${columns} from entity_merge where space_id = ${spaceId}
        and (winner_id = ${entityId}::uuid or loser_id = ${entityId}::uuid) order by merge_id desc limit 200`);
    return rows;
  }

  async merge(
    spaceId: number,
    { winnerId, loserId, reason, decidedBy }: Parameters<MergeStore['merge']>[1],
    at: Date,
  ): Promise<EntityMerge> {
    return this.#locked(spaceId, async (transaction) => {
      if (winnerId === loserId)
        throw new KnowledgeError('KNOWLEDGE_MERGE_IMPOSSIBLE', 'An entity cannot be merged into itself.');
      const entities = await lockedEntities(transaction, spaceId, [winnerId, loserId]);
      for (const id of [winnerId, loserId]) requireLive(id, entities.get(id));
      const moved = await moveRows(transaction, spaceId, winnerId, loserId, decidedBy, at);
      await transaction.query(sql`
        update entity set merged_into = ${winnerId}::uuid where entity_id = ${loserId}::uuid`);
      await refreshUncertain(transaction, spaceId, [winnerId]);
      const { rows } = await transaction.query<EntityMerge>(sql`
        insert into entity_merge (merge_id, space_id, winner_id, loser_id, reason, decided_by, moved, merged_at)
        values (${this.#ids.uuid()}, ${spaceId}, ${winnerId}, ${loserId}, ${reason}, ${decidedBy}, ${json(moved)}, ${at})
        returning ${columns}`);
      return first(rows);
    });
  }

  async undo(spaceId: number, mergeId: string, at: Date): Promise<UndoneMerge> {
    return this.#locked(spaceId, async (transaction) => {
      const { rows } = isUuid(mergeId)
        ? await transaction.query<EntityMerge & { moved: MovedRows }>(sql`
            select ${columns}, moved from entity_merge
            where merge_id = ${mergeId}::uuid and space_id = ${spaceId} for update`)
        : { rows: [] };
      const [merge] = rows;
      if (!merge) throw new CoreError('NOT_FOUND', `There is no merge ${mergeId}.`);
      if (merge.undoneAt !== null)
        throw new KnowledgeError('KNOWLEDGE_MERGE_IMPOSSIBLE', 'This merge has been undone already.');
      const entities = await lockedEntities(transaction, spaceId, [merge.winnerId, merge.loserId]);
      requireLive(merge.winnerId, entities.get(merge.winnerId), 'Undo that merge first.');
      const later = await takeApart(transaction, spaceId, { ...merge, moved: merge.moved });
      await transaction.query(
        sql`update entity set merged_into = null where entity_id = ${merge.loserId}::uuid`,
      );
      await refreshUncertain(transaction, spaceId, [merge.winnerId, merge.loserId]);
      const done = await transaction.query<EntityMerge>(sql`
        update entity_merge set undone_at = ${at} where merge_id = ${mergeId}::uuid returning ${columns}`);
      return { ...first(done.rows), later };
    });
  }

  async split(
    spaceId: number,
    entityId: string,
    mentionIds: readonly string[],
    into: EntityDraft,
    at: Date,
  ): Promise<void> {
    await this.#locked(spaceId, async (transaction) => {
      const entities = await lockedEntities(transaction, spaceId, [entityId]);
      requireLive(entityId, entities.get(entityId));
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

function first(rows: readonly EntityMerge[]): EntityMerge {
  const [row] = rows;
  if (!row) throw new CoreError('INTERNAL', 'A merge was written and not returned.');
  return row;
}

/** Locked against mentions that are being written: those go on afterwards, and see what became of the entity. */
async function lockedEntities(
  transaction: Transaction,
  spaceId: number,
  ids: readonly string[],
): Promise<ReadonlyMap<string, { readonly mergedInto: string | null }>> {
  const { rows } = await transaction.query<{ id: string; mergedInto: string | null }>(sql`
    select entity_id as id, merged_into as "mergedInto" from entity
    where entity_id = any(${ids.filter(isUuid)}::uuid[]) and space_id = ${spaceId} order by entity_id for update`);
  return new Map(rows.map((row) => [row.id, row]));
}

function requireLive(
  id: string,
  entity: { readonly mergedInto: string | null } | undefined,
  remedy = 'Name that one, or undo that merge.',
): void {
  if (!entity) throw new CoreError('NOT_FOUND', `There is no entity ${id}.`);
  if (entity.mergedInto !== null)
    throw new KnowledgeError(
      'KNOWLEDGE_MERGE_IMPOSSIBLE',
      `The entity ${id} has become part of ${entity.mergedInto}. ${remedy}`,
    );
}
