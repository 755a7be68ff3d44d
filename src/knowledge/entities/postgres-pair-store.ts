// Pairs that may be the same, in Postgres. They keep the ids they were made with: what was merged is followed.
import { isUuid } from '../../core/index.ts';
import type { Database, Transaction } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { json, sql } from '../../platform/postgres/sql.ts';
import type { EntityPair } from '../ports.ts';
import type { PairDraft, PairStore } from '../resolution/store-ports.ts';
import { longestChain } from './entity-columns.ts';
import { livePairs, pairsOf, refreshUncertain } from './postgres-live-pairs.ts';

const columns = sql`
  p.pair_id as "pairId", p.space_id as "spaceId", p.entity_a as "entityA", p.entity_b as "entityB",
  p.confidence, p.reason, p.evidence, p.state, p.decided_by as "decidedBy", p.decided_at as "decidedAt",
  p.created_at as "createdAt"`;

type LivePair = EntityPair & { readonly liveA: string; readonly liveB: string };

/** Behind it come all. */
const lowestId = '00000000-0000-0000-0000-000000000000';

const live = sql`p.live_a as "liveA", p.live_b as "liveB"`;

/** Pairs that one look for unasked ones goes through at a time. */
const page = 500;

/** The entity and everything that was merged into it: a query that gives their ids as `member`. */
const familyOf = (entityId: string): Sql => sql`
  with recursive family as (
    select ${entityId}::uuid as member, 0 as depth
    union all
    select e.entity_id, f.depth + 1 from family f join entity e on e.merged_into = f.member
      where f.depth < ${longestChain})`;

export class PostgresPairStore implements PairStore {
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

  async of(spaceId: number, entityId: string): Promise<readonly EntityPair[]> {
    if (!isUuid(entityId)) return [];
    const { rows } = await this.#database.query<EntityPair>(sql`
      ${familyOf(entityId)}
      select ${columns} from entity_pair p where p.space_id = ${spaceId}
        and (p.entity_a in (select member from family) or p.entity_b in (select member from family))
      order by p.confidence desc, p.pair_id limit 200`);
    return rows;
  }

  async undecided(spaceId: number, limit: number): Promise<readonly LivePair[]> {
    const chosen = sql`select * from entity_pair where space_id = ${spaceId} and state in ('open', 'later')`;
    const { rows } = await this.#database.query<LivePair>(sql`
      select ${columns}, ${live} from (${livePairs(chosen)}) p
      order by p.state = 'later', p.confidence desc, p.pair_id limit ${limit}`);
    return rows;
  }

  async unasked(limit: number): Promise<readonly LivePair[]> {
    const found: LivePair[] = [];
    for (let after = lowestId; found.length < limit;) {
      const chosen = sql`select * from entity_pair where state = 'open' and decided_by is null
        and pair_id > ${after}::uuid order by pair_id limit ${page}`;
      const { rows } = await this.#database.query<{ last: string | null }>(sql`
        select (select pair_id from (${chosen}) c order by pair_id desc limit 1) as last`);
      const last = rows[0]?.last ?? null;
      if (last === null) break;
      const pairs = await this.#database.query<LivePair>(sql`
        select ${columns}, ${live} from (${livePairs(chosen)}) p order by p.pair_id`);
      found.push(...pairs.rows);
      after = last;
    }
    return found.slice(0, limit);
  }

  async differentFrom(spaceId: number, entityId: string): Promise<ReadonlySet<string>> {
    const { rows } = await this.#database.query<{ other: string }>(sql`
      ${familyOf(entityId)},
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
    await this.#database.transaction((transaction) => putPairs(transaction, spaceId, pairs, at));
  }

  async noteAsked(spaceId: number, pairId: string, askedOf: string, at: Date): Promise<void> {
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
export async function putPairs(
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
