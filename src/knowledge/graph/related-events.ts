// Which events lie near others, best first: the same for every graph that can name those who are shared.
import type { Sql } from '../../platform/postgres/sql.ts';
import { sql } from '../../platform/postgres/sql.ts';
import type { ExpansionRequest } from '../ports.ts';

/** Of one entity so many events are looked at, the newest: whoever takes part in everything tells little. */
export const mostPerEntity = 100;

/** Which events may be related at all; `e` is semantic_event. */
export function isRelatable({
  spaceId,
  seedEventIds,
  exceptEventIds = [],
  categories,
}: ExpansionRequest): Sql {
  const not = [...new Set([...seedEventIds, ...exceptEventIds])];
  return sql`
    e.superseded_at is null and e.space_id = ${spaceId} and e.event_id <> all(${not}::uuid[])
    ${categories === undefined ? sql`` : sql`and e.category = any(${categories}::text[])`}`;
}

/**
 * `near` has rows (entity_id, event_id, kind, is_same): who is shared, how it takes part in the event (`same_actor:`,
 * `same_subject:`), and whether it does so in a seed too; if not it counts half. An event counts the more, the more it
 * shares with the seeds and the fewer events those it shares take part in.
 */
export function rankRelated(near: Sql, { budget }: ExpansionRequest): Sql {
  return sql`
    scored as (
      select event_id, entity_id, kind, case when is_same then 1.0::float8 else 0.5 end
        / ln(2.718281828459045::float8 + count(*) over (partition by entity_id)) as score
      from ${near} as near),
    ranked as (
      select event_id, sum(score) as score,
        (array_agg(kind order by score desc, entity_id, kind))[1] as kind,
        (array_agg(entity_id order by score desc, entity_id, kind))[1] as entity_id
      from scored group by event_id)
    select r.event_id as "eventId", r.kind || n.canonical_name as reason, r.entity_id as "viaEntityId", r.score
    from ranked r join entity n using (entity_id)
    order by r.score desc, r.event_id desc limit ${budget}`;
}
