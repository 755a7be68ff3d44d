// Removes an artifact with everything that was derived from it and from nothing else.
import type { Transaction } from '../../platform/postgres/ports.ts';
import { sql } from '../../platform/postgres/sql.ts';
import type { Gone } from '../ports.ts';
import { longestChain } from './entity-columns.ts';
import { removePostings } from './postgres-postings.ts';

/** In the caller's transaction. Null when the space has no such artifact. */
export async function removeArtifact(
  transaction: Transaction,
  spaceId: number,
  artifactUid: string,
): Promise<Gone | null> {
  const { rows } = await transaction.query<{ revisionId: string | null }>(sql`
    select r.revision_id as "revisionId"
    from artifact a left join artifact_revision r on r.artifact_uid = a.artifact_uid and r.is_latest
    where a.artifact_uid = ${artifactUid}::uuid and a.space_id = ${spaceId} for update of a`);
  const [found] = rows;
  if (!found) return null;
  if (found.revisionId !== null) await removePostings(transaction, spaceId, found.revisionId);
  const events = await transaction.query<{ id: string }>(
    sql`select event_id as id from semantic_event where artifact_uid = ${artifactUid}::uuid and space_id = ${spaceId}`,
  );
  const mentions = await transaction.query<RemovedMention>(sql`
    select mention_id as "mentionId", entity_id as "entityId", surface_form as "surfaceForm"
    from entity_mention m join artifact_revision r using (revision_id)
    where r.artifact_uid = ${artifactUid}::uuid and m.space_id = ${spaceId}`);
  await transaction.query(sql`delete from artifact where artifact_uid = ${artifactUid}::uuid`);
  const entityIds = await forgetEntities(transaction, spaceId, mentions.rows);
  return { eventIds: events.rows.map(({ id }) => id), entityIds };
}

export interface RemovedMention {
  readonly mentionId: string;
  readonly entityId: string;
  readonly surfaceForm: string;
}

/**
 * After these mentions were deleted: entities that nothing mentions any more go, with their pairs and merges; those
 * that stay lose the names that only these mentions gave them, and the merges of which nothing is left.
 */
export async function forgetEntities(
  transaction: Transaction,
  spaceId: number,
  removed: readonly RemovedMention[],
): Promise<readonly string[]> {
  if (removed.length === 0) return [];
  const entityIds = [...new Set(removed.map(({ entityId }) => entityId))];
  const { rows } = await transaction.query<{ id: string }>(sql`
    with unmentioned as (
      select entity_id from entity e where e.entity_id = any(${entityIds}::uuid[]) and e.space_id = ${spaceId}
        and not exists (select from entity_mention m where m.entity_id = e.entity_id)),
    -- What became part of them goes with them; the graph does not know those.
    gone as (delete from entity e using unmentioned u where e.entity_id = u.entity_id returning e.entity_id as id)
    select id from gone`);
  const gone = new Set(rows.map(({ id }) => id));
  const left = removed.filter(({ entityId }) => !gone.has(entityId));
  if (left.length > 0) {
    await forgetEmptyMerges(transaction, spaceId, left);
    await forgetNames(transaction, spaceId, left);
  }
  return [...gone];
}

/** A merge moved some of these mentions, and none of those it moved is left: its loser is known by nothing now. */
async function forgetEmptyMerges(
  transaction: Transaction,
  spaceId: number,
  removed: readonly RemovedMention[],
): Promise<void> {
  await transaction.query(sql`
    with moved as (
      select g.merge_id, g.loser_id, g.winner_id,
        case when value #>> '{}' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then (value #>> '{}')::uuid end as id
      from entity_merge g cross join lateral jsonb_path_query(g.moved, 'strict $.** ? (@.type() == "string")') as value
      where g.space_id = ${spaceId} and g.winner_id = any(${removed.map(({ entityId }) => entityId)}::uuid[])),
    empty as (
      select loser_id, winner_id from moved group by merge_id, loser_id, winner_id
      having bool_or(id = any(${removed.map(({ mentionId }) => mentionId)}::uuid[]))
        and not bool_or(exists (select from entity_mention m where m.mention_id = moved.id))),
    losers as (
      delete from entity e using empty where e.entity_id = empty.loser_id and e.merged_into is not null
      returning empty.winner_id, e.normalized_name)
    delete from entity_alias a using losers l
    where a.entity_id = l.winner_id and a.normalized_alias = l.normalized_name
      and not exists (select from entity_mention m where m.entity_id = a.entity_id
        and lower(m.surface_form) = lower(a.alias))`);
}

async function forgetNames(
  transaction: Transaction,
  spaceId: number,
  removed: readonly RemovedMention[],
): Promise<void> {
  await transaction.query(sql`
    with recursive gone as (
      select distinct entity_id, lower(surface_form) as form
      from unnest(${removed.map(({ entityId }) => entityId)}::uuid[],
        ${removed.map(({ surfaceForm }) => surfaceForm)}::text[]) as t (entity_id, surface_form)),
    -- Names stay with the entity they came with, also after it was merged into the one that is mentioned.
    family as (
      select distinct entity_id as root, entity_id as member, 0 as depth from gone
      union all
      select f.root, m.entity_id, f.depth + 1 from family f join entity m on m.merged_into = f.member
        where f.depth < ${longestChain})
    delete from entity_alias a using gone, family f, entity e
    where a.space_id = ${spaceId} and f.root = gone.entity_id and a.entity_id = f.member and lower(a.alias) = gone.form
      and e.entity_id = a.entity_id and e.normalized_name <> a.normalized_alias
      and not exists (select from entity_mention m where m.entity_id = gone.entity_id
        and lower(m.surface_form) = gone.form)`);
}
