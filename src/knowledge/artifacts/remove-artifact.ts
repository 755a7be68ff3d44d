// Deletes an artifact with everything derived only from it.
import type { Transaction } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { sql } from '../../platform/postgres/sql.ts';
import { pairedWith } from '../entities/pair-store.ts';
import type { RemovedIds } from './types.ts';
import { removePostings } from '../search/postings.ts';

/** With entities that had pairs with those removed: their review flags are to be set again. */
type RemovedArtifact = RemovedIds & { readonly pairedIds: readonly string[] };

/** Runs in the caller's transaction. Null when the space has no such artifact. */
export async function removeArtifact(
  transaction: Transaction,
  spaceId: number,
  artifactUid: string,
): Promise<RemovedArtifact | null> {
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
    select entity_id as "entityId", resolved_id as "resolvedId", surface_form as "surfaceForm"
    from entity_mention m join artifact_revision r using (revision_id)
    where r.artifact_uid = ${artifactUid}::uuid and m.space_id = ${spaceId}`);
  const paired = await pairedWith(
    transaction,
    spaceId,
    mentions.rows.map(({ entityId }) => entityId),
  );
  await transaction.query(sql`delete from artifact where artifact_uid = ${artifactUid}::uuid`);
  const mentioned = await deleteOrphanedEntities(transaction, spaceId, mentions.rows);
  const unmentioned = await deleteInterruptedEntities(transaction, spaceId, artifactUid);
  await clearOrigin(transaction, spaceId, artifactUid);
  const entityIds = [...mentioned, ...unmentioned];
  const pairedIds = entityIds.length === 0 ? [] : paired;
  return { eventIds: events.rows.map(({ id }) => id), entityIds, pairedIds };
}

/**
 * Deletes entities that the artifact, or this revision, introduced and that have no mention: their job was interrupted
 * before it wrote the mentions.
 */
export async function deleteInterruptedEntities(
  transaction: Transaction,
  spaceId: number,
  artifactUid: string,
  revisionId: string | null = null,
): Promise<readonly string[]> {
  return deleteUnmentioned(
    transaction,
    sql`e.first_artifact_uid = ${artifactUid}::uuid and e.space_id = ${spaceId}
      and (${revisionId}::uuid is null or e.first_revision_id = ${revisionId}::uuid)`,
  );
}

/**
 * Deletes those of these entities that have no mention, with the entities merged into them. Locked ones are skipped: their
 * lock holder is about to mention them. The others are checked again once locked, for mentions written in between.
 */
export async function deleteUnmentioned(
  transaction: Transaction,
  condition: Sql,
): Promise<readonly string[]> {
  const isUnmentioned = sql`
    not exists (select from entity_mention m where m.entity_id = e.entity_id)
    and not exists (select from entity_mention m where m.resolved_id = e.entity_id and m.resolved_id <> m.entity_id)`;
  const { rows: free } = await transaction.query<{ id: string }>(sql`
    select e.entity_id as id from entity e where ${condition} and ${isUnmentioned} for update skip locked`);
  if (free.length === 0) return [];
  const { rows } = await transaction.query<{ id: string }>(sql`
    delete from entity e where e.entity_id = any(${free.map(({ id }) => id)}::uuid[]) and ${isUnmentioned}
    returning e.entity_id as id`);
  return rows.map(({ id }) => id);
}

/** Removes aliases and origins that only this artifact contributed. */
async function clearOrigin(transaction: Transaction, spaceId: number, artifactUid: string): Promise<void> {
  await transaction.query(sql`
    with given as (
      select a.entity_id, a.normalized_alias, a.alias from entity_alias a join entity e using (entity_id)
      where a.first_artifact_uid = ${artifactUid}::uuid and a.space_id = ${spaceId}
        and e.normalized_name <> a.normalized_alias),
    family as (select * from knowledge_family(array(select entity_id from given)))
    delete from entity_alias a using given g, family f
    where a.entity_id = g.entity_id and a.normalized_alias = g.normalized_alias and f.member = g.entity_id
      and not exists (select from entity_mention m where m.entity_id = f.root
        and lower(m.surface_form) = lower(g.alias))`);
  await transaction.query(sql`
    update entity_alias set first_artifact_uid = null
    where first_artifact_uid = ${artifactUid}::uuid and space_id = ${spaceId}`);
  await transaction.query(sql`
    update entity set first_artifact_uid = null, first_revision_id = null
    where first_artifact_uid = ${artifactUid}::uuid and space_id = ${spaceId}`);
}

export interface RemovedMention {
  readonly entityId: string;
  readonly resolvedId: string;
  readonly surfaceForm: string;
}

/**
 * After these mentions were deleted: deletes entities without a mention, with their pairs and merges; the others lose
 * the aliases that only these mentions contributed, and merges without a mention.
 */
export async function deleteOrphanedEntities(
  transaction: Transaction,
  spaceId: number,
  removed: readonly RemovedMention[],
): Promise<readonly string[]> {
  if (removed.length === 0) return [];
  const entityIds = [...new Set(removed.map(({ entityId }) => entityId))];
  const gone = new Set(
    await deleteUnmentioned(
      transaction,
      sql`e.entity_id = any(${entityIds}::uuid[]) and e.space_id = ${spaceId}`,
    ),
  );
  const left = removed.filter(({ entityId }) => !gone.has(entityId));
  if (left.length > 0) {
    await deleteEmptyMerges(transaction, spaceId, left);
    await deleteNames(transaction, spaceId, left);
  }
  return [...gone];
}

/**
 * Deletes merged entities that these mentions were resolved to, directly or through further merges, and to which no mention
 * is resolved any more; with them their merge and, unless another mention uses it, their name on the winner.
 */
async function deleteEmptyMerges(
  transaction: Transaction,
  spaceId: number,
  removed: readonly RemovedMention[],
): Promise<void> {
  await transaction.query(sql`
    with recursive merged as (
      select e.entity_id, e.merged_into from entity e
        where e.entity_id = any(${removed.map(({ resolvedId }) => resolvedId)}::uuid[]) and e.space_id = ${spaceId}
          and e.merged_into is not null
      union
      select e.entity_id, e.merged_into from merged m join entity e on e.entity_id = m.merged_into
        where e.merged_into is not null),
    -- Everything merged into one of these, directly or not.
    below as (
      select m.entity_id as id, m.entity_id as member, 0 as depth from merged m
      union all
      select b.id, e.entity_id, b.depth + 1 from below b join entity e on e.merged_into = b.member where b.depth < 32),
    empty as (
      select b.id from below b group by b.id
      having not bool_or(exists (select from entity_mention m
        where m.resolved_id = b.member and m.resolved_id <> m.entity_id))),
    losers as (
      delete from entity e using empty where e.entity_id = empty.id
      returning e.merged_into as winner_id, e.normalized_name)
    delete from entity_alias a using losers l
    where a.entity_id = l.winner_id and a.normalized_alias = l.normalized_name
      and not exists (select from entity_mention m where m.entity_id = a.entity_id
        and lower(m.surface_form) = lower(a.alias))`);
}

async function deleteNames(
  transaction: Transaction,
  spaceId: number,
  removed: readonly RemovedMention[],
): Promise<void> {
  await transaction.query(sql`
    with gone as (
      select distinct entity_id, lower(surface_form) as form
      from unnest(${removed.map(({ entityId }) => entityId)}::uuid[],
        ${removed.map(({ surfaceForm }) => surfaceForm)}::text[]) as t (entity_id, surface_form)),
    -- Names stay with the entity that introduced them, also after a merge.
    family as (select * from knowledge_family(array(select entity_id from gone)))
    delete from entity_alias a using gone, family f, entity e
    where a.space_id = ${spaceId} and f.root = gone.entity_id and a.entity_id = f.member and lower(a.alias) = gone.form
      and e.entity_id = a.entity_id and e.normalized_name <> a.normalized_alias
      and not exists (select from entity_mention m where m.entity_id = gone.entity_id
        and lower(m.surface_form) = gone.form)`);
}
