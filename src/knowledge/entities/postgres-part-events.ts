// Mentions went from one entity to another: which parts in events, and which names, go with them.
import type { Transaction } from '../../platform/postgres/ports.ts';
import { sql } from '../../platform/postgres/sql.ts';

export interface Parting {
  readonly fromId: string;
  readonly toId: string;
  /** Mentions that are with `toId` now and were with `fromId`. */
  readonly mentionIds: readonly string[];
}

/**
 * A part in an event goes with the mention that stands in its quote, or nearest to it; where one that went and one that
 * stayed are as near, both take part. Without offsets it goes only if no mention of `fromId` stays in the chunk.
 */
export async function moveParts(transaction: Transaction, parting: Parting): Promise<void> {
  const { fromId, toId } = parting;
  const { rows } = await transaction.query<{ eventId: string; isShared: boolean }>(eventsThatGo(parting));
  if (rows.length === 0) return;
  const all = rows.map(({ eventId }) => eventId);
  const left = rows.filter(({ isShared }) => !isShared).map(({ eventId }) => eventId);
  await transaction.query(sql`
    insert into event_actor (event_id, entity_id, space_id, role)
    select event_id, ${toId}::uuid, space_id, role from event_actor
    where entity_id = ${fromId}::uuid and event_id = any(${all}::uuid[]) on conflict do nothing`);
  await transaction.query(sql`
    insert into event_subject (event_id, entity_id, space_id)
    select event_id, ${toId}::uuid, space_id from event_subject
    where entity_id = ${fromId}::uuid and event_id = any(${all}::uuid[]) on conflict do nothing`);
  await transaction.query(sql`
    delete from event_actor where entity_id = ${fromId}::uuid and event_id = any(${left}::uuid[])`);
  await transaction.query(sql`
    delete from event_subject where entity_id = ${fromId}::uuid and event_id = any(${left}::uuid[])`);
}

const eventsThatGo = ({ fromId, mentionIds }: Parting) => sql`
  with gone as (
    select chunk_id, start_char, end_char from entity_mention
    where mention_id = any(${mentionIds}::uuid[]) and chunk_id is not null),
  stayed as (
    select chunk_id, start_char, end_char from entity_mention
    where entity_id = ${fromId}::uuid and chunk_id in (select chunk_id from gone)),
  event as (
    select v.event_id, v.chunk_id from semantic_event v where v.chunk_id in (select chunk_id from gone)
      and (exists (select from event_actor a where a.event_id = v.event_id and a.entity_id = ${fromId}::uuid)
        or exists (select from event_subject s where s.event_id = v.event_id and s.entity_id = ${fromId}::uuid))),
  -- Characters between a mention and the nearest quote; null where offsets are not known.
  near as (
    select v.event_id,
      exists (select from stayed m where m.chunk_id = v.chunk_id) as has_stayed,
      (select min(greatest(0, q.start_char - m.end_char, m.start_char - q.end_char))
        from gone m cross join event_evidence q where m.chunk_id = v.chunk_id and q.event_id = v.event_id) as gone,
      (select min(greatest(0, q.start_char - m.end_char, m.start_char - q.end_char))
        from stayed m cross join event_evidence q where m.chunk_id = v.chunk_id and q.event_id = v.event_id) as stayed
    from event v)
  select event_id as "eventId", has_stayed and gone = stayed as "isShared" from near
  where not has_stayed or gone is not null and gone <= coalesce(stayed, gone)`;

/** These names, with what they are looked for under. One that `toId` has already is only taken from `fromId`. */
export async function moveNames(
  transaction: Transaction,
  { fromId, toId }: Pick<Parting, 'fromId' | 'toId'>,
  normalizedAliases: readonly string[],
): Promise<void> {
  if (normalizedAliases.length === 0) return;
  await transaction.query(sql`
    insert into entity_alias (entity_id, space_id, alias, normalized_alias, first_artifact_uid)
    select ${toId}::uuid, space_id, alias, normalized_alias, first_artifact_uid from entity_alias
    where entity_id = ${fromId}::uuid and normalized_alias = any(${normalizedAliases}::text[]) on conflict do nothing`);
  await transaction.query(sql`
    insert into entity_key (space_id, key, entity_id, normalized_alias)
    select space_id, key, ${toId}::uuid, normalized_alias from entity_key
    where entity_id = ${fromId}::uuid and normalized_alias = any(${normalizedAliases}::text[]) on conflict do nothing`);
  await transaction.query(sql`
    delete from entity_alias where entity_id = ${fromId}::uuid and normalized_alias = any(${normalizedAliases}::text[])`);
}
