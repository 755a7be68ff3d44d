// Mentions as they are written: at a place that is still there, of entities that are still live.
import type { IdSource } from '../../core/index.ts';
import { CoreError } from '../../core/index.ts';
import type { Transaction } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { sql } from '../../platform/postgres/sql.ts';
import type { EntityMention, EntityResolutionResult, MentionPlace } from '../ports.ts';

/** What is found in a place is written by one at a time. Whether it is of a latest revision. Fails with CONFLICT. */
export async function lockPlace(
  transaction: Transaction,
  { spaceId, revisionId, chunkId }: Pick<MentionPlace, 'spaceId' | 'revisionId' | 'chunkId'>,
): Promise<boolean> {
  const { rows } = await transaction.query<{ isLatest: boolean }>(
    chunkId === null
      ? sql`select is_latest as "isLatest" from artifact_revision
          where revision_id = ${revisionId}::uuid and space_id = ${spaceId} for update`
      : sql`select r.is_latest as "isLatest" from chunk c join artifact_revision r using (revision_id)
          where c.chunk_id = ${chunkId} and c.space_id = ${spaceId} and c.revision_id = ${revisionId}::uuid
          for update of c`,
  );
  const [found] = rows;
  if (!found) throw new CoreError('CONFLICT', 'The artifact was removed while it was read.');
  return found.isLatest;
}

/** How often an entity that a mention was resolved to may have been merged further meanwhile. */
const longestChain = 32;

/**
 * The entities that the results mean now, in their order: one that was merged meanwhile is the one it became part of.
 * They stay until the transaction ends. Fails with CONFLICT when one has been removed.
 */
export async function liveEntities(
  transaction: Transaction,
  spaceId: number,
  results: readonly EntityResolutionResult[],
): Promise<readonly string[]> {
  const wanted = [...new Set(results.map(({ entityId }) => entityId))];
  if (wanted.length === 0) return [];
  const { rows } = await transaction.query<{ wanted: string; live: string }>(sql`
    with recursive chain as (
      select entity_id as wanted, entity_id as at, merged_into, 0 as depth from entity
        where entity_id = any(${wanted}::uuid[]) and space_id = ${spaceId}
      union all
      select c.wanted, e.entity_id, e.merged_into, c.depth + 1 from chain c join entity e on e.entity_id = c.merged_into
        where c.depth < ${longestChain})
    select c.wanted, e.entity_id as live from chain c join entity e on e.entity_id = c.at and e.merged_into is null
    for key share of e`);
  const live = new Map(rows.map((row) => [row.wanted, row.live]));
  return results.map(({ entityId }) => {
    const found = live.get(entityId);
    if (found === undefined)
      throw new CoreError('CONFLICT', 'An entity was removed while it was being mentioned.', {
        isRetryable: true,
      });
    return found;
  });
}

export interface MentionRow {
  readonly mention: EntityMention;
  readonly relation: string | null;
  readonly entityId: string;
}

/** One statement, which may be part of a larger one. */
export function mentionInsert(
  { spaceId, artifactUid, revisionId, chunkId }: Omit<MentionPlace, 'relation'>,
  rows: readonly MentionRow[],
  ids: IdSource,
): Sql {
  const column = <T>(read: (row: MentionRow) => T) => rows.map(read);
  return sql`
    insert into entity_mention (mention_id, space_id, entity_id, artifact_uid, revision_id, chunk_id, surface_form,
      start_char, end_char, method, confidence, relation)
    select mention_id, ${spaceId}::integer, entity_id, ${artifactUid}::uuid, ${revisionId}::uuid, ${chunkId}::bigint,
      surface_form, start_char, end_char, method, confidence, relation
    from unnest(${rows.map(() => ids.uuid())}::uuid[], ${column(({ entityId }) => entityId)}::uuid[],
      ${column(({ mention }) => mention.surfaceForm.replaceAll('\0', ''))}::text[], ${column(({ mention }) => mention.startChar)}::integer[],
      ${column(({ mention }) => mention.endChar)}::integer[], ${column(({ mention }) => mention.method)}::text[],
      ${column(({ mention }) => mention.confidence)}::real[], ${column(({ relation }) => relation)}::text[])
      as t (mention_id, entity_id, surface_form, start_char, end_char, method, confidence, relation)`;
}
