// Expansion in Cypher: who takes part in the seeds, then what else they take part in. Ranking is that of every graph.
import type { Queryable } from '../../platform/postgres/ports.ts';
import { json, sql } from '../../platform/postgres/sql.ts';
import type { ExpansionRequest, RelatedEvent } from '../ports.ts';
import { isRelatable, mostPerEntity, rankRelated } from '../graph/related-events.ts';
import { textOf } from './age-statements.ts';

export async function expandInAge(
  age: Queryable,
  request: ExpansionRequest,
): Promise<readonly RelatedEvent[]> {
  const { spaceId, seedEventIds } = request;
  const seeds = json({ seeds: seedEventIds, space: spaceId });
  const { rows: via } = await age.query<{ id: string; acts: boolean; isSubject: boolean }>(sql`
    select ${textOf(sql`id`)} as id, bool_or(acts) as acts, bool_or(not acts) as "isSubject"
    from (
      select id, true as acts from cypher('nur', $$
        UNWIND $seeds AS seed
        MATCH (s:Event {id: seed, space: $space})<-[:ACTED_IN]-(a:Entity)
        RETURN a.id $$, ${seeds}) as (id agtype)
      union all
      select id, false from cypher('nur', $$
        UNWIND $seeds AS seed
        MATCH (s:Event {id: seed, space: $space})-[:ABOUT]->(a:Entity)
        RETURN a.id $$, ${seeds}) as (id agtype)) as part
    group by 1`);
  if (via.length === 0) return [];
  const parameters = json({ ids: via.map(({ id }) => id) });
  const { rows } = await age.query<RelatedEvent>(sql`
    with found as (
      select distinct ${textOf(sql`entity`)}::uuid as entity_id, ${textOf(sql`event`)}::uuid as event_id, kind
      from (
        select entity, event, 'same_actor:' as kind from cypher('nur', $$
          UNWIND $ids AS one
          MATCH (a:Entity {id: one})-[:ACTED_IN]->(e:Event)
          RETURN a.id, e.id $$, ${parameters}) as (entity agtype, event agtype)
        union all
        select entity, event, 'same_subject:' from cypher('nur', $$
          UNWIND $ids AS one
          MATCH (a:Entity {id: one})<-[:ABOUT]-(e:Event)
          RETURN a.id, e.id $$, ${parameters}) as (entity agtype, event agtype)) as part),
    newest as (
      select f.*, row_number() over (partition by f.entity_id, f.kind order by f.event_id desc) as place
      from found f join semantic_event e using (event_id) where ${isRelatable(request)}),
    near as (
      select n.entity_id, n.event_id, n.kind, case n.kind when 'same_actor:' then v.acts else v.is_subject end as is_same
      from newest n join unnest(${via.map(({ id }) => id)}::uuid[], ${via.map(({ acts }) => acts)}::boolean[],
        ${via.map(({ isSubject }) => isSubject)}::boolean[]) as v (entity_id, acts, is_subject) using (entity_id)
      where n.place <= ${mostPerEntity}),
    ${rankRelated(sql`near`, request)}`);
  return rows;
}
