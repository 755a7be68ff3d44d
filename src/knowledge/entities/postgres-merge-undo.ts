// A merge taken back: everything returns to the loser that is still with the winner, and what came later under its name.
import type { Transaction } from '../../platform/postgres/ports.ts';
import { json, sql } from '../../platform/postgres/sql.ts';
import type { LaterMentions } from '../ports.ts';
import { giveLaterMentions } from './postgres-later-mentions.ts';
import type { MovedRows, Part } from './postgres-merge-rows.ts';

interface Merge {
  readonly mergeId: string;
  readonly winnerId: string;
  readonly loserId: string;
  readonly moved: MovedRows;
}

export async function takeApart(
  transaction: Transaction,
  spaceId: number,
  merge: Merge,
): Promise<LaterMentions> {
  const { winnerId, loserId, moved } = merge;
  await transaction.query(sql`
    update entity_mention set entity_id = ${loserId}::uuid
    where mention_id = any(${moved.mentions}::uuid[]) and entity_id = ${winnerId}::uuid and space_id = ${spaceId}`);
  await giveBackActors(transaction, merge);
  await giveBackSubjects(transaction, merge);
  await leaveToOthers(transaction, spaceId, merge);
  await restorePairs(transaction, moved);
  return giveLaterMentions(transaction, spaceId, merge);
}

const eventsOf = (parts: readonly Part[]): readonly string[] => parts.map(([eventId]) => eventId);
const rolesOf = (parts: readonly Part[]): readonly string[] => parts.map(([, role]) => role);

/** What the winner no longer has was removed or split off meanwhile. */
async function giveBackActors(transaction: Transaction, { winnerId, loserId, moved }: Merge): Promise<void> {
  const { had } = moved.actors;
  await transaction.query(sql`
    insert into event_actor (event_id, entity_id, space_id, role)
    select a.event_id, ${loserId}::uuid, a.space_id, a.role
    from unnest(${eventsOf(had)}::uuid[], ${rolesOf(had)}::text[]) as t (event_id, role)
      join event_actor a on a.event_id = t.event_id and a.role = t.role and a.entity_id = ${winnerId}::uuid
    on conflict do nothing`);
}

async function giveBackSubjects(
  transaction: Transaction,
  { winnerId, loserId, moved }: Merge,
): Promise<void> {
  await transaction.query(sql`
    insert into event_subject (event_id, entity_id, space_id)
    select event_id, ${loserId}::uuid, space_id from event_subject
    where entity_id = ${winnerId}::uuid and event_id = any(${moved.subjects.had}::uuid[])
    on conflict do nothing`);
}

const keyOf = ([eventId, role]: Part): string => `${eventId} ${role}`;

/**
 * What this merge added leaves the winner, unless another merge that still stands brought the same: then it is owed to
 * that one from now on.
 */
async function leaveToOthers(transaction: Transaction, spaceId: number, merge: Merge): Promise<void> {
  const { mergeId, winnerId, moved } = merge;
  const { rows: others } = await transaction.query<{ mergeId: string; moved: MovedRows }>(sql`
    select merge_id as "mergeId", moved from entity_merge where winner_id = ${winnerId}::uuid
      and space_id = ${spaceId} and merge_id <> ${mergeId}::uuid and undone_at is null
    order by merge_id for update`);
  let actors = moved.actors.added;
  let subjects = moved.subjects.added;
  for (const other of others) {
    const hadParts = new Set(other.moved.actors.had.map(keyOf));
    const hadEvents = new Set(other.moved.subjects.had);
    const takenParts = actors.filter((part) => hadParts.has(keyOf(part)));
    const takenEvents = subjects.filter((eventId) => hadEvents.has(eventId));
    if (takenParts.length === 0 && takenEvents.length === 0) continue;
    actors = actors.filter((part) => !hadParts.has(keyOf(part)));
    subjects = subjects.filter((eventId) => !hadEvents.has(eventId));
    const grown: MovedRows = {
      ...other.moved,
      actors: { ...other.moved.actors, added: [...other.moved.actors.added, ...takenParts] },
      subjects: { ...other.moved.subjects, added: [...other.moved.subjects.added, ...takenEvents] },
    };
    await transaction.query(
      sql`update entity_merge set moved = ${json(grown)} where merge_id = ${other.mergeId}::uuid`,
    );
  }
  await transaction.query(sql`
    delete from event_actor a using unnest(${eventsOf(actors)}::uuid[], ${rolesOf(actors)}::text[]) as t (event_id, role)
    where a.event_id = t.event_id and a.role = t.role and a.entity_id = ${winnerId}::uuid`);
  await transaction.query(sql`
    delete from event_subject where entity_id = ${winnerId}::uuid and event_id = any(${subjects}::uuid[])`);
}

async function restorePairs(transaction: Transaction, { pairs }: MovedRows): Promise<void> {
  await transaction.query(sql`
    update entity_pair p set state = t.state, decided_by = t.decided_by, decided_at = t.decided_at
    from unnest(${pairs.map(({ pairId }) => pairId)}::uuid[], ${pairs.map(({ state }) => state)}::text[],
      ${pairs.map(({ decidedBy }) => decidedBy)}::text[], ${pairs.map(({ decidedAt }) => decidedAt)}::timestamptz[])
      as t (pair_id, state, decided_by, decided_at)
    where p.pair_id = t.pair_id`);
}
