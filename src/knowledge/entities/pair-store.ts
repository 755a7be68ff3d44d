// Pairs that may be the same, in Postgres. They keep the ids they were made with: what was merged is followed.
import { isUuid } from '../../core/index.ts';
import type { Database, Transaction } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { json, sql } from '../../platform/postgres/sql.ts';
import { longestChain } from './candidate-queries.ts';
import { unnamedEntityName } from './normalize.ts';
import type { EntityPair, PairDraft } from './types.ts';

const columns = sql`
  p.pair_id as "pairId", p.space_id as "spaceId", p.entity_a as "entityA", p.entity_b as "entityB",
  p.confidence, p.reason, p.evidence, p.state, p.decided_by as "decidedBy", p.decided_at as "decidedAt",
  p.created_at as "createdAt"`;

type OpenPair = EntityPair & { readonly liveA: string; readonly liveB: string };

/** Behind it come all. */
const lowestId = '00000000-0000-0000-0000-000000000000';

const live = sql`p.live_a as "liveA", p.live_b as "liveB"`;

/** Pairs that one look for unconfirmed ones goes through at a time. */
const page = 500;

/** The entity and everything that was merged into it: a query that gives their ids as `member`. */
const membersOf = (entityId: string): Sql => sql`
  with recursive family as (
    select ${entityId}::uuid as member, 0 as depth
    union all
    select e.entity_id, f.depth + 1 from family f join entity e on e.merged_into = f.member
      where f.depth < ${longestChain})`;

export class PairStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async get(spaceId: number, pairId: string): Promise<EntityPair | null> {
    if (!isUuid(pairId)) return null;
    const { rows } = await this.#database.query<EntityPair>(
      sql`select ${columns} from entity_pair p where p.pair_id = ${pairId}::uuid and p.space_id = ${spaceId}`,
    );
    return rows[0] ?? null;
  }

  /** Pairs of an entity and of what was merged into it. */
  async of(spaceId: number, entityId: string): Promise<readonly EntityPair[]> {
    if (!isUuid(entityId)) return [];
    const { rows } = await this.#database.query<EntityPair>(sql`
      ${membersOf(entityId)}
      select ${columns} from entity_pair p where p.space_id = ${spaceId}
        and (p.entity_a in (select member from family) or p.entity_b in (select member from family))
      order by p.confidence desc, p.pair_id limit 200`);
    return rows;
  }

  /** Undecided pairs whose sides are still two, surest first; the live entity of each side. */
  async undecided(spaceId: number, limit: number): Promise<readonly OpenPair[]> {
    const chosen = sql`select * from entity_pair where space_id = ${spaceId} and state in ('open', 'later')`;
    const { rows } = await this.#database.query<OpenPair>(sql`
      select ${columns}, ${live} from (${openPairs(chosen)}) p
      order by p.state = 'later', p.confidence desc, p.pair_id limit ${limit}`);
    return rows;
  }

  /** The same over all spaces, oldest first: what could be asked again. */
  async unconfirmed(limit: number): Promise<readonly OpenPair[]> {
    const found: OpenPair[] = [];
    for (let after = lowestId; found.length < limit;) {
      const chosen = sql`select * from entity_pair where state = 'open' and decided_by is null
        and pair_id > ${after}::uuid order by pair_id limit ${page}`;
      const { rows } = await this.#database.query<{ last: string | null }>(sql`
        select (select pair_id from (${chosen}) c order by pair_id desc limit 1) as last`);
      const last = rows[0]?.last ?? null;
      if (last === null) break;
      const pairs = await this.#database.query<OpenPair>(sql`
        select ${columns}, ${live} from (${openPairs(chosen)}) p order by p.pair_id`);
      found.push(...pairs.rows);
      after = last;
    }
    return found.slice(0, limit);
  }

  /** Live entities that somebody said are others than this one. */
  async differentFrom(spaceId: number, entityId: string): Promise<ReadonlySet<string>> {
    const { rows } = await this.#database.query<{ other: string }>(sql`
      ${membersOf(entityId)},
      others as (
        select case when p.entity_a in (select member from family) then p.entity_b else p.entity_a end as found
        from entity_pair p where p.space_id = ${spaceId} and p.state = 'different'
          and (p.entity_a in (select member from family) or p.entity_b in (select member from family))),
      up as (
        select e.entity_id as at, e.merged_into, 0 as depth from others o join entity e on e.entity_id = o.found
        union all
        select e.entity_id, e.merged_into, up.depth + 1 from up join entity e on e.entity_id = up.merged_into
          where up.depth < ${longestChain})
      select distinct at as other from up where merged_into is null`);
    return new Set(rows.map(({ other }) => other));
  }

  async put(spaceId: number, pairs: readonly PairDraft[], at: Date): Promise<void> {
    await this.#database.transaction((transaction) => insertPairs(transaction, spaceId, pairs, at));
  }

  /** A model was asked and could not say: it stays open, for people. */
  async markConfirmed(spaceId: number, pairId: string, askedOf: string, at: Date): Promise<void> {
    await this.#database.query(sql`
      update entity_pair set decided_by = ${askedOf}, decided_at = ${at}
      where pair_id = ${pairId}::uuid and space_id = ${spaceId} and state = 'open' and decided_by is null`);
  }

  async decide(
    spaceId: number,
    pairId: string,
    state: 'different' | 'later',
    decidedBy: string,
    at: Date,
  ): Promise<EntityPair | null> {
    if (!isUuid(pairId)) return null;
    return this.#database.transaction(async (transaction) => {
      const { rows } = await transaction.query<EntityPair>(sql`
        update entity_pair p set state = ${state}, decided_by = ${decidedBy}, decided_at = ${at}
        where p.pair_id = ${pairId}::uuid and p.space_id = ${spaceId} and p.state <> 'same' returning ${columns}`);
      const [decided] = rows;
      if (!decided) return null;
      if (state === 'later') await putOffOthers(transaction, spaceId, decided);
      await refreshUncertain(transaction, spaceId, [decided.entityA, decided.entityB]);
      return decided;
    });
  }
}

/** A pair that is there stays as it is: what somebody decided is not asked again. */
export async function insertPairs(
  transaction: Transaction,
  spaceId: number,
  pairs: readonly PairDraft[],
  at: Date,
): Promise<void> {
  if (pairs.length === 0) return;
  const rows = pairs
    .filter(({ entityId, otherId }) => entityId !== otherId)
    .map((pair) => ({
      ...pair,
      ids: pair.entityId < pair.otherId ? [pair.entityId, pair.otherId] : [pair.otherId, pair.entityId],
    }));
  const column = <T>(read: (row: (typeof rows)[number]) => T) => rows.map(read);
  await transaction.query(sql`
    insert into entity_pair (pair_id, space_id, entity_a, entity_b, confidence, reason, evidence, state, decided_by,
      decided_at, created_at)
    select t.pair_id, ${spaceId}::integer, t.a, t.b, t.confidence, t.reason, t.evidence, t.state, t.decided_by,
      case when t.decided_by is null then null else ${at}::timestamptz end, ${at}::timestamptz
    from unnest(${column(({ pairId }) => pairId)}::uuid[], ${column(({ ids }) => ids[0])}::uuid[],
      ${column(({ ids }) => ids[1])}::uuid[], ${column(({ confidence }) => confidence)}::real[],
      ${column(({ reason }) => reason)}::text[], ${column(({ evidence }) => json(evidence))}::jsonb[],
      ${column(({ state }) => state)}::text[], ${column(({ decidedBy }) => decidedBy)}::text[])
      as t (pair_id, a, b, confidence, reason, evidence, state, decided_by)
    -- Removed meanwhile with the artifact it came from.
    where exists (select from entity e where e.entity_id = t.a) and exists (select from entity e where e.entity_id = t.b)
    on conflict (entity_a, entity_b) do nothing`);
}

/** The same question may stand between others that were merged into the two: it comes last with them. */
async function putOffOthers(
  transaction: Transaction,
  spaceId: number,
  { entityA, entityB }: EntityPair,
): Promise<void> {
  await transaction.query(sql`
    update entity_pair set state = 'later' where state = 'open' and pair_id in (
      select pair_id from (${pairsOf(spaceId, [entityA])}) one join (${pairsOf(spaceId, [entityB])}) other
        using (pair_id))`);
}

// Pairs as they stand between live entities. A pair keeps the ids it was made with, so that a merge can be undone exactly;
// whoever was merged since is followed to the one it became part of.

/** The entities that these ids mean now and everything that was merged into them: CTE `family (root, member)`. */
export const familyOf = (ids: Sql): Sql => sql`
  up as (
    select id as at, 0 as depth from (${ids}) t (id)
    union
    select e.merged_into, up.depth + 1 from up join entity e on e.entity_id = up.at
      where e.merged_into is not null and up.depth < ${longestChain}),
  family as (
    select e.entity_id as root, e.entity_id as member, 0 as depth from entity e
      where e.merged_into is null and e.entity_id in (select at from up)
    union all
    select f.root, e.entity_id, f.depth + 1 from family f join entity e on e.merged_into = f.member
      where f.depth < ${longestChain})`;

/**
 * Of these pairs (a query on `entity_pair`) those that are still a question: open or put off, between two live entities
 * of which nobody said that they differ. One for each two, the surest. With `live_a` and `live_b`, the smaller id first.
 */
export const openPairs = (chosen: Sql): Sql => sql`
  with recursive chosen as (${chosen}),
  ${familyOf(sql`select entity_a from chosen union select entity_b from chosen`)},
  sided as (
    select p.*, least(a.root, b.root) as live_a, greatest(a.root, b.root) as live_b
    from chosen p join family a on a.member = p.entity_a join family b on b.member = p.entity_b
    where a.root <> b.root and p.state in ('open', 'later')),
  apart as (
    select distinct least(a.root, b.root) as live_a, greatest(a.root, b.root) as live_b
    from family a join entity_pair d on d.entity_a = a.member join family b on b.member = d.entity_b
    where d.state = 'different')
  select distinct on (live_a, live_b) * from sided s
  where not exists (select from apart d where d.live_a = s.live_a and d.live_b = s.live_b)
  order by live_a, live_b, state = 'later', confidence desc, pair_id`;

/** Pairs, of any state, of the entities that these ids mean now: a query on `entity_pair`. */
export const pairsOf = (spaceId: number, entityIds: readonly string[]): Sql => sql`
  select p.* from entity_pair p where p.space_id = ${spaceId} and p.pair_id in (
    with recursive ${familyOf(sql`select unnest(${entityIds}::uuid[])`)}
    select q.pair_id from family f join entity_pair q on q.entity_a = f.member
    union select q.pair_id from family f join entity_pair q on q.entity_b = f.member)`;

/**
 * The flag `uncertain` stands on the newer side of what is still a question, and on nobody else. Looked at are the
 * entities that these ids mean now, and those they are paired with. Other flags stay, and that of whoever has no name.
 */
export async function refreshUncertain(
  transaction: Transaction,
  spaceId: number,
  entityIds: readonly string[],
): Promise<void> {
  if (entityIds.length === 0) return;
  await transaction.query(sql`
    with recursive touched as (${pairsOf(spaceId, entityIds)}),
    ${familyOf(sql`
      select unnest(${entityIds}::uuid[]) union select entity_a from touched union select entity_b from touched`)},
    around as (
      select q.* from family f join entity_pair q on q.entity_a = f.member
      union select q.* from family f join entity_pair q on q.entity_b = f.member),
    waiting as (select live_b from (${openPairs(sql`select * from around`)}) open),
    flagged as (
      select distinct f.root as id, f.root in (select live_b from waiting) as is_open from family f)
    update entity e set needs_review = flagged.is_open,
      review_reason = case when flagged.is_open then 'uncertain' end
    from flagged where e.entity_id = flagged.id and coalesce(e.review_reason, 'uncertain') = 'uncertain'
      and e.needs_review <> flagged.is_open and e.canonical_name <> ${unnamedEntityName}`);
}
