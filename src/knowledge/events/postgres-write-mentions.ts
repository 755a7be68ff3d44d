// Whatever is written stands at a place that is still there, and is of entities that are still live.
import { CoreError } from '../../core/index.ts';
import type { Transaction } from '../../platform/postgres/ports.ts';
import { sql } from '../../platform/postgres/sql.ts';
import type { EntityResolutionResult, MentionPlace } from '../ports.ts';

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

/**
 * What is brought by a revision is written while it is the latest: it stays so until the transaction ends. Fails with
 * CONFLICT when it was removed or revised meanwhile.
 */
export async function lockRevision(
  transaction: Transaction,
  spaceId: number,
  { revisionId }: Pick<MentionPlace, 'revisionId'>,
): Promise<void> {
  const { rows } = await transaction.query(sql`
    select from artifact_revision where revision_id = ${revisionId}::uuid and space_id = ${spaceId} and is_latest
    for share`);
  if (rows.length === 0)
    throw new CoreError('CONFLICT', 'The artifact was removed or revised while it was read.');
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
