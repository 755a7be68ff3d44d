// Splits some mentions of an entity off into a new one. Merging the two reverses it.
import { CoreError } from '../../core/index.ts';
import type { Transaction } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { sql } from '../../platform/postgres/sql.ts';
import { KnowledgeError } from '../errors.ts';
import { writeEntities } from './entity-writes.ts';
import { insertPairs } from './pair-store.ts';
import type { EntityDraft } from './types.ts';

/**
 * Runs in the caller's transaction, after `lockEntities`. A split is a new resolution: it sets resolved_id too. The
 * pair keeps which entity the mentions of merged entities were resolved to, for a merge that reverses the split.
 */
export async function splitEntity(
  transaction: Transaction,
  spaceId: number,
  fromId: string,
  mentionIds: readonly string[],
  { into, pairId, at }: { readonly into: EntityDraft; readonly pairId: string; readonly at: Date },
): Promise<void> {
  const toId = into.entity.entityId;
  await writeEntities(
    transaction,
    spaceId,
    { drafts: [into], additions: [], unsettled: [], place: null },
    at,
  );
  const { rows: moved } = await transaction.query<{ mentionId: string; resolvedId: string }>(sql`
    -- Without by_name: what a person has split off is not moved again.
    update entity_mention m set entity_id = ${toId}::uuid, resolved_id = ${toId}::uuid, by_name = null
    from entity_mention before
    where before.mention_id = m.mention_id and m.mention_id = any(${mentionIds}::uuid[])
      and m.entity_id = ${fromId}::uuid and m.space_id = ${spaceId}
    returning m.mention_id as "mentionId", before.resolved_id as "resolvedId"`);
  if (moved.length !== new Set(mentionIds).size)
    throw new CoreError(
      'INPUT_INVALID',
      `Not all of these are mentions of the entity ${fromId}. "headworks entities get" lists them.`,
    );
  const { rows } = await transaction.query(sql`
    select from entity_mention m join artifact_revision r using (revision_id)
    where m.entity_id = ${fromId}::uuid and r.is_latest limit 1`);
  if (rows.length === 0)
    throw new KnowledgeError(
      'KNOWLEDGE_MERGE_IMPOSSIBLE',
      'These are all mentions of the entity: none would be left. Leave at least one.',
    );
  await moveParticipations(transaction, { fromId, toId, mentionIds });
  await moveAliases(transaction, { fromId, toId }, await aliasesToMove(transaction, { fromId, toId }));
  const reason = 'Split manually.';
  const ofMerged = moved.filter(({ resolvedId }) => resolvedId !== fromId);
  const resolved = Object.fromEntries(ofMerged.map(({ mentionId, resolvedId }) => [mentionId, resolvedId]));
  const evidence = { reasons: [reason], ...(ofMerged.length > 0 ? { resolved } : {}) };
  // Decided by a person: this pair is never proposed again.
  const decision = {
    reason,
    evidence,
    confidence: 0,
    isByPart: false,
    state: 'different',
    decidedBy: 'split',
  } as const;
  await insertPairs(transaction, spaceId, [{ pairId, entityId: toId, otherId: fromId, ...decision }], at);
}

/**
 * Mentions of `loserId` that were split off `winnerId` and merged back into it: the split no longer counts. To be called
 * after the loser was separated from the winner.
 */
export async function reversedSplits(
  transaction: Transaction,
  { winnerId, loserId }: { readonly winnerId: string; readonly loserId: string },
): Promise<readonly string[]> {
  const { rows } = await transaction.query<{ id: string }>(sql`
    with family as (select member from knowledge_family(array[${winnerId}::uuid])),
    split as (
      select p.* from family f join entity_pair p on p.entity_a = f.member
      union select p.* from family f join entity_pair p on p.entity_b = f.member)
    select m.mention_id as id from split, jsonb_each_text(split.evidence -> 'resolved') as was (mention_id, entity_id)
      join entity_mention m on m.mention_id = was.mention_id::uuid
    where m.entity_id = ${winnerId}::uuid and m.resolved_id in (select member from family)
      and was.entity_id::uuid in (select member from knowledge_family(array[${loserId}::uuid]))`);
  return rows.map(({ id }) => id);
}

interface Move {
  readonly fromId: string;
  readonly toId: string;
}

/** Names that only the moved mentions use; the canonical name stays. */
async function aliasesToMove(transaction: Transaction, { fromId, toId }: Move): Promise<readonly string[]> {
  const { rows } = await transaction.query<{ name: string }>(sql`
    select a.normalized_alias as name from entity_alias a join entity e using (entity_id)
    where a.entity_id = ${fromId}::uuid and a.normalized_alias <> e.normalized_name
      and lower(a.alias) in (select lower(surface_form) from entity_mention where entity_id = ${toId}::uuid)
      and lower(a.alias) not in (select lower(surface_form) from entity_mention where entity_id = ${fromId}::uuid)`);
  return rows.map(({ name }) => name);
}

export interface MentionMove extends Move {
  /** Mentions that belong to `toId` now and belonged to `fromId`. */
  readonly mentionIds: readonly string[];
}

/**
 * A participation in an event moves with the mention in its quote, or the one nearest to it; if a moved and a remaining
 * mention are equally near, both entities participate. Without offsets it moves only if no mention of `fromId` remains in
 * the chunk.
 */
export async function moveParticipations(transaction: Transaction, move: MentionMove): Promise<void> {
  const { fromId, toId } = move;
  const { rows } = await transaction.query<{ eventId: string; isShared: boolean }>(eventsToMove(move));
  if (rows.length === 0) return;
  const eventIds = rows.map(({ eventId }) => eventId);
  const exclusive = rows.filter(({ isShared }) => !isShared).map(({ eventId }) => eventId);
  await transaction.query(sql`
    insert into event_actor (event_id, entity_id, resolved_id, space_id, role)
    select event_id, ${toId}::uuid, ${toId}::uuid, space_id, role from event_actor
    where entity_id = ${fromId}::uuid and event_id = any(${eventIds}::uuid[]) on conflict do nothing`);
  await transaction.query(sql`
    insert into event_subject (event_id, entity_id, resolved_id, space_id)
    select event_id, ${toId}::uuid, ${toId}::uuid, space_id from event_subject
    where entity_id = ${fromId}::uuid and event_id = any(${eventIds}::uuid[]) on conflict do nothing`);
  for (const table of [sql`event_actor`, sql`event_subject`])
    await transaction.query(sql`
      delete from ${table} where entity_id = ${fromId}::uuid and event_id = any(${exclusive}::uuid[])`);
}

const eventsToMove = ({ fromId, mentionIds }: MentionMove): Sql => sql`
  with moved as (
    select chunk_id, start_char, end_char from entity_mention
    where mention_id = any(${mentionIds}::uuid[]) and chunk_id is not null),
  remaining as (
    select chunk_id, start_char, end_char from entity_mention
    where entity_id = ${fromId}::uuid and chunk_id in (select chunk_id from moved)),
  event as (
    select v.event_id, v.chunk_id from semantic_event v where v.chunk_id in (select chunk_id from moved)
      and (exists (select from event_actor a where a.event_id = v.event_id and a.entity_id = ${fromId}::uuid)
        or exists (select from event_subject s where s.event_id = v.event_id and s.entity_id = ${fromId}::uuid))),
  -- Characters between a mention and the nearest quote; null without offsets.
  distance as (
    select v.event_id,
      exists (select from remaining m where m.chunk_id = v.chunk_id) as has_remaining,
      (select min(greatest(0, q.start_char - m.end_char, m.start_char - q.end_char))
        from moved m cross join event_evidence q where m.chunk_id = v.chunk_id and q.event_id = v.event_id) as moved,
      (select min(greatest(0, q.start_char - m.end_char, m.start_char - q.end_char))
        from remaining m cross join event_evidence q where m.chunk_id = v.chunk_id and q.event_id = v.event_id) as remaining
    from event v)
  select event_id as "eventId", has_remaining and moved = remaining as "isShared" from distance
  where not has_remaining or moved is not null and moved <= coalesce(remaining, moved)`;

/** Moves names with their lookup keys. A name that `toId` already has is only deleted from `fromId`. */
export async function moveAliases(
  transaction: Transaction,
  move: Move,
  normalizedAliases: readonly string[],
): Promise<void> {
  if (normalizedAliases.length === 0) return;
  await copyAliases(transaction, move, normalizedAliases);
  await transaction.query(sql`
    delete from entity_alias where entity_id = ${move.fromId}::uuid and normalized_alias = any(${normalizedAliases}::text[])`);
}

export async function copyAliases(
  transaction: Transaction,
  { fromId, toId }: Move,
  normalizedAliases: readonly string[],
): Promise<void> {
  await transaction.query(sql`
    insert into entity_alias (entity_id, space_id, alias, normalized_alias, first_artifact_uid)
    select ${toId}::uuid, space_id, alias, normalized_alias, first_artifact_uid from entity_alias
    where entity_id = ${fromId}::uuid and normalized_alias = any(${normalizedAliases}::text[]) on conflict do nothing`);
  await transaction.query(sql`
    insert into entity_key (space_id, key, entity_id, normalized_alias)
    select space_id, key, ${toId}::uuid, normalized_alias from entity_key
    where entity_id = ${fromId}::uuid and normalized_alias = any(${normalizedAliases}::text[]) on conflict do nothing`);
}
