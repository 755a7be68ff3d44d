// What a merge moves: mentions, and the parts that both play in events. Names and clues stay with their rows.
import type { Transaction } from '../../platform/postgres/ports.ts';
import { sql } from '../../platform/postgres/sql.ts';
import { longestChain } from './entity-columns.ts';

/** `had`: what the loser had. `added`: what of it was new to the winner, and leaves it again. */
export interface MovedRows {
  readonly mentions: readonly string[];
  readonly actors: { readonly had: readonly Part[]; readonly added: readonly Part[] };
  readonly subjects: { readonly had: readonly string[]; readonly added: readonly string[] };
  /** Pairs that the merge settled, as they were. */
  readonly pairs: readonly PairBefore[];
  /** What the winner was called before, normalized: other names came later. Merges of older versions do not know. */
  readonly winnerNames?: readonly string[];
}

/** A part in an event: the event's id and the role. */
export type Part = readonly [eventId: string, role: string];

export interface PairBefore {
  readonly pairId: string;
  readonly state: string;
  readonly decidedBy: string | null;
  readonly decidedAt: string | null;
}

export async function moveRows(
  transaction: Transaction,
  spaceId: number,
  winnerId: string,
  loserId: string,
  decidedBy: string,
  at: Date,
): Promise<MovedRows> {
  const mentions = await transaction.query<{ id: string }>(sql`
    update entity_mention set entity_id = ${winnerId}::uuid
    where entity_id = ${loserId}::uuid and space_id = ${spaceId} returning mention_id as id`);
  return {
    mentions: mentions.rows.map(({ id }) => id),
    actors: await moveActors(transaction, winnerId, loserId),
    subjects: await moveSubjects(transaction, winnerId, loserId),
    pairs: await settlePairs(transaction, spaceId, winnerId, loserId, decidedBy, at),
    winnerNames: await namesOf(transaction, winnerId),
  };
}

async function namesOf(transaction: Transaction, entityId: string): Promise<readonly string[]> {
  const { rows } = await transaction.query<{ name: string }>(sql`
    select normalized_alias as name from entity_alias where entity_id = ${entityId}::uuid`);
  return rows.map(({ name }) => name);
}

async function moveActors(
  transaction: Transaction,
  winnerId: string,
  loserId: string,
): Promise<MovedRows['actors']> {
  const { rows: had } = await transaction.query<{ eventId: string; role: string }>(sql`
    select event_id as "eventId", role from event_actor where entity_id = ${loserId}::uuid`);
  const { rows: added } = await transaction.query<{ eventId: string; role: string }>(sql`
    insert into event_actor (event_id, entity_id, space_id, role)
    select event_id, ${winnerId}::uuid, space_id, role from event_actor where entity_id = ${loserId}::uuid
    on conflict do nothing returning event_id as "eventId", role`);
  await transaction.query(sql`delete from event_actor where entity_id = ${loserId}::uuid`);
  const partOf = ({ eventId, role }: { eventId: string; role: string }): Part => [eventId, role];
  return { had: had.map(partOf), added: added.map(partOf) };
}

async function moveSubjects(
  transaction: Transaction,
  winnerId: string,
  loserId: string,
): Promise<MovedRows['subjects']> {
  const { rows: had } = await transaction.query<{ id: string }>(
    sql`select event_id as id from event_subject where entity_id = ${loserId}::uuid`,
  );
  const { rows: added } = await transaction.query<{ id: string }>(sql`
    insert into event_subject (event_id, entity_id, space_id)
    select event_id, ${winnerId}::uuid, space_id from event_subject where entity_id = ${loserId}::uuid
    on conflict do nothing returning event_id as id`);
  await transaction.query(sql`delete from event_subject where entity_id = ${loserId}::uuid`);
  return { had: had.map(({ id }) => id), added: added.map(({ id }) => id) };
}

/** Pairs between the two families have their answer; what they said before is kept for undoing. */
async function settlePairs(
  transaction: Transaction,
  spaceId: number,
  winnerId: string,
  loserId: string,
  decidedBy: string,
  at: Date,
): Promise<readonly PairBefore[]> {
  const { rows } = await transaction.query<PairBefore>(sql`
    with recursive family as (
      select id as member, id as root, 0 as depth from unnest(${[winnerId, loserId]}::uuid[]) as t (id)
      union all
      select e.entity_id, f.root, f.depth + 1 from family f join entity e on e.merged_into = f.member
        where f.depth < ${longestChain}),
    between as (
      select p.* from entity_pair p join family a on a.member = p.entity_a join family b on b.member = p.entity_b
      where a.root <> b.root and p.space_id = ${spaceId} and p.state <> 'same'),
    settled as (
      update entity_pair p set state = 'same', decided_by = ${decidedBy}, decided_at = ${at}
      from between where p.pair_id = between.pair_id)
    select pair_id as "pairId", state, decided_by as "decidedBy", decided_at::text as "decidedAt" from between`);
  return rows;
}
