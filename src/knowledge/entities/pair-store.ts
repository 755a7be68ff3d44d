// Candidate duplicates: pairs of entities that may be the same. A pair keeps the ids it was created with, so that a merge can
// be undone exactly; reads follow merges to the unmerged entity of each side.
import { isUuid } from '../../core/index.ts';
import type { Database, Queryable, Transaction } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { sql, storedJson } from '../../platform/postgres/sql.ts';
import { loadFamilies } from './candidate-queries.ts';
import { lockEntities } from './entity-writes.ts';
import { matchEntity } from './match.ts';
import { unnamedEntityName } from './normalize.ts';
import type { EntityPair, PairDraft } from './types.ts';

const columns = sql`
  p.pair_id as "pairId", p.space_id as "spaceId", p.entity_a as "entityA", p.entity_b as "entityB",
  p.confidence, p.reason, p.evidence, p.state, p.decided_by as "decidedBy", p.decided_at as "decidedAt",
  p.created_at as "createdAt"`;

/** A pair with the unmerged entity of each side. */
export type OpenPair = EntityPair & { readonly liveA: string; readonly liveB: string };

const lowestId = '00000000-0000-0000-0000-000000000000';

const live = sql`p.live_a as "liveA", p.live_b as "liveB"`;

/** Pairs that one query for unconfirmed ones examines. */
const pageSize = 500;

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

  /**
   * Pairs of an entity and of everything merged into it, the most likely first, at most 200; without open ones that
   * merges have contradicted, and without those of a part of a name that too many share.
   */
  async of(spaceId: number, entityId: string): Promise<readonly EntityPair[]> {
    if (!isUuid(entityId)) return [];
    const { rows } = await this.#database.query<EntityPair>(sql`
      select ${columns} from (${pairsOf(spaceId, [entityId])}) p
      where not ((p.is_contradicted or p.is_crowded) and p.state in ('open', 'later'))
      order by p.confidence desc, p.pair_id limit 200`);
    return rows;
  }

  /** Pairs still to be decided, the most likely first, postponed ones last. */
  async listOpen(spaceId: number, limit: number): Promise<readonly OpenPair[]> {
    const chosen = sql`select * from entity_pair where space_id = ${spaceId} and state in ('open', 'later')`;
    const { rows } = await this.#database.query<OpenPair>(sql`
      select ${columns}, ${live} from (${openPairs(chosen)}) p
      order by p.state = 'later', p.confidence desc, p.pair_id limit ${limit}`);
    return rows;
  }

  /** Open pairs of all spaces without a model's verdict, oldest first. */
  async listUnconfirmed(limit: number): Promise<readonly OpenPair[]> {
    const found: OpenPair[] = [];
    for (let after = lowestId; found.length < limit;) {
      const chosen = sql`select * from entity_pair where state = 'open' and decided_by is null
        and pair_id > ${after}::uuid order by pair_id limit ${pageSize}`;
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

  /** Entities that the revision mentions and that have an open pair. */
  async openIn(
    { spaceId, revisionId }: { readonly spaceId: number; readonly revisionId: string },
    limit: number,
  ): Promise<readonly string[]> {
    const { rows } = await this.#database.query<{ id: string }>(sql`
      with family as materialized (select * from knowledge_family(array(
        select distinct entity_id from entity_mention where revision_id = ${revisionId}::uuid and space_id = ${spaceId})))
      select root as id from family f where exists (
        select from entity_pair p where p.entity_a = f.member and p.state = 'open'
        union all select from entity_pair p where p.entity_b = f.member and p.state = 'open')
      group by root order by root limit ${limit}`);
    return rows.map(({ id }) => id);
  }

  /** Unmerged entities that were decided to be different from this one. */
  async differentFrom(spaceId: number, entityId: string): Promise<ReadonlySet<string>> {
    const { rows } = await this.#database.query<{ other: string }>(sql`
      with family as (select member from knowledge_family(array[${entityId}::uuid])),
      others as (
        select case when p.entity_a in (select member from family) then p.entity_b else p.entity_a end as id
        from (${pairsOf(spaceId, [entityId])}) p where p.state = 'different')
      select distinct root as other from knowledge_family(array(select id from others))`);
    return new Set(rows.map(({ other }) => other));
  }

  async insert(spaceId: number, pairs: readonly PairDraft[], at: Date): Promise<void> {
    await this.#database.transaction((transaction) => insertPairs(transaction, spaceId, pairs, at));
  }

  /** A model returned no verdict: the pair stays open for a person. */
  async markUndecided(spaceId: number, pairId: string, by: string, at: Date): Promise<void> {
    await this.#database.query(sql`
      update entity_pair set decided_by = ${by}, decided_at = ${at}
      where pair_id = ${pairId}::uuid and space_id = ${spaceId} and state = 'open' and decided_by is null`);
  }

  /** After something became known about these entities: pairs that it contradicts are not listed any more. */
  async refresh(spaceId: number, entityIds: readonly string[]): Promise<void> {
    if (entityIds.length === 0) return;
    // Usually there are none, and other writers need not wait.
    if ((await outdatedPairs(this.#database, spaceId, entityIds)).length === 0) return;
    await this.#database.transaction(async (transaction) => {
      await lockEntities(transaction, this.#database.schema, spaceId);
      await refreshUncertain(transaction, spaceId, entityIds);
    });
  }

  /** Null: there is no such pair, or its sides have been merged. */
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
      if (state === 'later') await postponeEquivalents(transaction, spaceId, decided);
      await refreshUncertain(transaction, spaceId, [decided.entityA, decided.entityB]);
      return decided;
    });
  }
}

/** An existing pair stays as it is: a decision is not reopened. */
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
      entityA: pair.entityId < pair.otherId ? pair.entityId : pair.otherId,
      entityB: pair.entityId < pair.otherId ? pair.otherId : pair.entityId,
    }));
  await transaction.query(sql`
    insert into entity_pair (pair_id, space_id, entity_a, entity_b, confidence, reason, evidence, state, decided_by,
      decided_at, created_at, part)
    select t."pairId", ${spaceId}::integer, t."entityA", t."entityB", t.confidence, t.reason, t.evidence, t.state,
      t."decidedBy", case when t."decidedBy" is null then null else ${at}::timestamptz end, ${at}::timestamptz,
      case when t."isByPart" then (
        select min(substr(k.key, 3)) from entity_key k join entity_key o on o.space_id = k.space_id
          and o.key = any(array[k.key, 'w:' || substr(k.key, 3)]) and o.entity_id <> k.entity_id
        where k.entity_id in (t."entityA", t."entityB") and o.entity_id in (t."entityA", t."entityB")
          and left(k.key, 2) = '1:') end
    from jsonb_to_recordset(${storedJson(rows)}::jsonb) as t ("pairId" uuid, "entityA" uuid, "entityB" uuid,
      confidence real, reason text, evidence jsonb, state text, "decidedBy" text, "isByPart" boolean)
    -- An entity may have been deleted with its artifact since.
    where exists (select from entity e where e.entity_id = t."entityA")
      and exists (select from entity e where e.entity_id = t."entityB")
    on conflict (entity_a, entity_b) do nothing`);
}

/** The same two entities may have further pairs through merges: they are postponed together. */
async function postponeEquivalents(
  transaction: Transaction,
  spaceId: number,
  { entityA, entityB }: EntityPair,
): Promise<void> {
  await transaction.query(sql`
    update entity_pair set state = 'later' where state = 'open' and pair_id in (
      select pair_id from (${pairsOf(spaceId, [entityA])}) a join (${pairsOf(spaceId, [entityB])}) b using (pair_id))`);
}

/**
 * Those of `chosen` (a query on `entity_pair`) that are still to be decided: open or postponed, not contradicted, not of a part
 * of a name that too many share, between two
 * unmerged entities without a decision that they are different. The most likely pair of each two, with `live_a` < `live_b`.
 */
export const openPairs = (chosen: Sql): Sql => sql`
  with chosen as (${chosen}),
  family as (
    select * from knowledge_family(array(select entity_a from chosen union select entity_b from chosen))),
  sided as (
    select p.*, least(a.root, b.root) as live_a, greatest(a.root, b.root) as live_b
    from chosen p join family a on a.member = p.entity_a join family b on b.member = p.entity_b
    where a.root <> b.root and p.state in ('open', 'later') and not p.is_contradicted and not p.is_crowded),
  different as (
    select distinct least(a.root, b.root) as live_a, greatest(a.root, b.root) as live_b
    from family a join entity_pair d on d.entity_a = a.member join family b on b.member = d.entity_b
    where d.state = 'different')
  select distinct on (live_a, live_b) * from sided s
  where not exists (select from different d where d.live_a = s.live_a and d.live_b = s.live_b)
  order by live_a, live_b, state = 'later', confidence desc, pair_id`;

/** Pairs in any state of these entities and of everything merged with them: a query on `entity_pair`. */
export const pairsOf = (spaceId: number, entityIds: readonly string[]): Sql => sql`
  select p.* from entity_pair p where p.space_id = ${spaceId} and p.pair_id in (
    with family as (select member from knowledge_family(${entityIds}::uuid[]))
    select q.pair_id from family f join entity_pair q on q.entity_a = f.member
    union select q.pair_id from family f join entity_pair q on q.entity_b = f.member)`;

/** Entities with pairs with these: their flags change when these are deleted. */
export async function pairedWith(
  transaction: Transaction,
  spaceId: number,
  entityIds: readonly string[],
): Promise<readonly string[]> {
  if (entityIds.length === 0) return [];
  const { rows } = await transaction.query<{ id: string }>(sql`
    select entity_a as id from (${pairsOf(spaceId, entityIds)}) a union select entity_b from (${pairsOf(spaceId, entityIds)}) b`);
  return rows.map(({ id }) => id);
}

/**
 * Flags the newer entity of each open pair as `uncertain`, and what is known by a part of a name that too many share, and
 * clears the flag elsewhere, for these entities and those they are paired with. Other review reasons and unnamed entities are not touched.
 */
export async function refreshUncertain(
  transaction: Transaction,
  spaceId: number,
  entityIds: readonly string[],
): Promise<void> {
  if (entityIds.length === 0) return;
  await refreshContradicted(transaction, spaceId, entityIds);
  await refreshCrowded(transaction, spaceId, entityIds);
  await transaction.query(sql`
    with touched as (${pairsOf(spaceId, entityIds)}),
    family as (select * from knowledge_family(array(
      select unnest(${entityIds}::uuid[]) union select entity_a from touched union select entity_b from touched))),
    around as (
      select q.* from family f join entity_pair q on q.entity_a = f.member
      union select q.* from family f join entity_pair q on q.entity_b = f.member),
    waiting as (select live_b from (${openPairs(sql`select * from around`)}) open),
    crowded as (
      select e.entity_id from around q join entity e on e.entity_id in (q.entity_a, q.entity_b)
      where q.is_crowded and q.state in ('open', 'later') and position(' ' in e.normalized_name) = 0),
    flagged as (
      select distinct f.root as id, f.root in (select live_b from waiting) or f.root in (select entity_id from crowded) as is_open
      from family f)
    update entity e set needs_review = flagged.is_open,
      review_reason = case when flagged.is_open then 'uncertain' end
    from flagged where e.entity_id = flagged.id and coalesce(e.review_reason, 'uncertain') = 'uncertain'
      and e.needs_review <> flagged.is_open and e.canonical_name <> ${unnamedEntityName}`);
}

/**
 * A pair of S. Okafor is one of Sam Okafor when those two are merged: with Sarah Okafor it is not worth a decision any
 * more. Nor is one with an entity that got the company or address since which contradicts. Depends on what is known at
 * present only, so that undoing a merge in any order restores it.
 */
async function refreshContradicted(
  transaction: Transaction,
  spaceId: number,
  entityIds: readonly string[],
): Promise<void> {
  const pairIds = await outdatedPairs(transaction, spaceId, entityIds);
  if (pairIds.length > 0)
    await transaction.query(sql`
      update entity_pair set is_contradicted = not is_contradicted where pair_id = any(${pairIds}::uuid[])`);
}

/** Undecided pairs whose `is_contradicted` is not true any more. */
async function outdatedPairs(
  queryable: Queryable,
  spaceId: number,
  entityIds: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await queryable.query<MovedPair>(sql`
    with touched as (${pairsOf(spaceId, entityIds)}),
    family as (select * from knowledge_family(array(select entity_a from touched union select entity_b from touched)))
    select p.pair_id as "pairId", a.root as "liveA", b.root as "liveB", p.is_contradicted as "isContradicted",
      a.root <> p.entity_a or b.root <> p.entity_b as "isMoved"
    from touched p join family a on a.member = p.entity_a join family b on b.member = p.entity_b
    where a.root <> b.root and p.state in ('open', 'later')`);
  if (rows.length === 0) return [];
  const ids = new Set(rows.flatMap(({ liveA, liveB }) => [liveA, liveB]));
  const families = await loadFamilies(queryable, spaceId, [...ids], null);
  const known = new Map(families.map((family) => [family.known.entity.entityId, family.known]));
  const outdated = rows.filter(({ liveA, liveB, isMoved, isContradicted }) => {
    const [a, b] = [known.get(liveA), known.get(liveB)];
    const [found] = a && b ? matchEntity(b, [a]) : [];
    const { isContradicted: isNow = false, verdict } = found?.match ?? {};
    return (isMoved ? verdict === 'different' : isNow) !== isContradicted;
  });
  return outdated.map(({ pairId }) => pairId);
}

/** A part of a name that more unmerged entities share has no pairs: which of them are found depends on the order. */
const maxSharing = 20;

async function refreshCrowded(
  transaction: Transaction,
  spaceId: number,
  entityIds: readonly string[],
): Promise<void> {
  await transaction.query(sql`
    with touched as (
      select distinct part from (${pairsOf(spaceId, entityIds)}) p where part is not null),
    counted as (
      select part, (
        select count(distinct f.root) from knowledge_family(array(
          select distinct k.entity_id from entity_key k
          where k.space_id = ${spaceId} and k.key = any(array['1:' || part, 'w:' || part]) limit 100)) f
        ) > ${maxSharing} as is_crowded
      from touched)
    update entity_pair p set is_crowded = counted.is_crowded from counted
    where p.space_id = ${spaceId} and p.part = counted.part and p.is_crowded <> counted.is_crowded`);
}

interface MovedPair {
  readonly pairId: string;
  readonly liveA: string;
  readonly liveB: string;
  readonly isContradicted: boolean;
  /** A side was merged into another entity since. */
  readonly isMoved: boolean;
}
