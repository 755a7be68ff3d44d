// Pairs as they stand between live entities. A pair keeps the ids it was made with, so that a merge can be undone exactly;
// whoever was merged since is followed to the one it became part of.
import type { Transaction } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { sql } from '../../platform/postgres/sql.ts';
import { namelessName } from '../resolution/normalize-name.ts';
import { longestChain } from './entity-columns.ts';

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
export const livePairs = (chosen: Sql): Sql => sql`
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
    waiting as (select live_b from (${livePairs(sql`select * from around`)}) open),
    flagged as (
      select distinct f.root as id, f.root in (select live_b from waiting) as is_open from family f)
    update entity e set needs_review = flagged.is_open,
      review_reason = case when flagged.is_open then 'uncertain' end
    from flagged where e.entity_id = flagged.id and coalesce(e.review_reason, 'uncertain') = 'uncertain'
      and e.needs_review <> flagged.is_open and e.canonical_name <> ${namelessName}`);
}
