// Entities as people look at them: with their names, and how often they are seen.
import { isUuid } from '../../core/index.ts';
import type { Database } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { joinSql, sql } from '../../platform/postgres/sql.ts';
import type { EntityFilter } from '../ports.ts';
import type { EntityRow, MentionRow } from '../resolution/store-ports.ts';
import { entityColumns, longestChain } from './entity-columns.ts';

/** Live entities, oldest first; with `only` that one, live or merged. Counted is what latest revisions say. */
export async function listEntities(
  database: Database,
  { spaceId, type, needsReview, name, limit, after }: EntityFilter,
  only?: readonly string[],
): Promise<readonly EntityRow[]> {
  const conditions: Sql[] = [sql`e.space_id = ${spaceId}`];
  conditions.push(only === undefined ? sql`e.merged_into is null` : sql`e.entity_id = any(${only}::uuid[])`);
  if (type !== undefined) conditions.push(sql`e.entity_type = ${type}`);
  if (needsReview !== undefined) conditions.push(sql`e.needs_review = ${needsReview}`);
  if (after !== undefined) conditions.push(isUuid(after) ? sql`e.entity_id > ${after}::uuid` : sql`false`);
  if (name !== undefined) conditions.push(isCalled(spaceId, name));
  const { rows } = await database.query<EntityRow>(sql`
    with chosen as (
      select * from entity e where ${joinSql(conditions, sql` and `)} order by e.entity_id limit ${limit})
    select ${entityColumns}, names.aliases,
      (select count(*) from entity_mention m join artifact_revision r using (revision_id)
        where m.entity_id = e.entity_id and r.is_latest) as "mentionCount",
      (select count(*) from (select event_id from event_actor where entity_id = e.entity_id
        union select event_id from event_subject where entity_id = e.entity_id) parts
        join semantic_event v using (event_id) where v.superseded_at is null) as "eventCount"
    from chosen e cross join lateral (
      with recursive family as (
        select e.entity_id as member, 0 as depth
        union all
        select m.entity_id, f.depth + 1 from family f join entity m on m.merged_into = f.member
          where f.depth < ${longestChain})
      select coalesce(array_agg(distinct a.alias order by a.alias), '{}') as aliases
      from family f join entity_alias a on a.entity_id = f.member
      where a.alias <> e.canonical_name) names
    order by e.entity_id`);
  return rows;
}

/** Part of its name, or of a name of anything that was merged into it. */
function isCalled(spaceId: number, name: string): Sql {
  const pattern = `%${name.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
  return sql`e.entity_id in (
    with recursive up as (
      select e2.entity_id as at, e2.merged_into, 0 as depth from entity e2
        where e2.space_id = ${spaceId} and (e2.canonical_name ilike ${pattern} or exists (
          select from entity_alias a where a.entity_id = e2.entity_id and a.alias ilike ${pattern}))
      union all
      select e3.entity_id, e3.merged_into, up.depth + 1 from up join entity e3 on e3.entity_id = up.merged_into
        where up.depth < ${longestChain})
    select at from up where merged_into is null)`;
}

/** Of latest revisions, newest first. */
export async function listMentions(
  database: Database,
  spaceId: number,
  entityId: string,
  limit: number,
): Promise<readonly MentionRow[]> {
  if (!isUuid(entityId)) return [];
  const { rows } = await database.query<MentionRow>(sql`
    select m.mention_id as "mentionId", m.artifact_uid as "artifactUid", r.title, m.surface_form as "surfaceForm",
      m.start_char as "startChar", m.end_char as "endChar", m.method, m.confidence, m.relation
    from entity_mention m join artifact_revision r using (revision_id)
    where m.entity_id = ${entityId}::uuid and m.space_id = ${spaceId} and r.is_latest
    order by m.mention_id desc limit ${limit}`);
  return rows;
}
