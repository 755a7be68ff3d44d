// Takes an artifact in: revision, chunks, postings and job, all or nothing.
import type { IdSource } from '../../core/index.ts';
import type { Transaction } from '../../platform/postgres/ports.ts';
import { sql } from '../../platform/postgres/sql.ts';
import { contentHash } from '../documents/content-hash.ts';
import type { ArtifactStore, ChunkDraft, IngestResult, ParsedDocument, Space } from '../ports.ts';
import { removePostings, writePostings } from '../search/postings.ts';
import { forgetUnmentioned } from './postgres-remove-artifact.ts';
import { storedJson } from './stored-json.ts';

/** A statement of this many chunks stays well below what a store takes in one message, and within its time. */
const chunksAtOnce = 200;

export interface Acceptance {
  readonly space: Space;
  readonly incoming: ParsedDocument;
  readonly chunks: readonly ChunkDraft[];
  readonly enqueue: Parameters<ArtifactStore['accept']>[3];
  readonly ids: IdSource;
  readonly at: Date;
}

/** In the caller's transaction, which is to be rolled back when it fails. */
export async function acceptArtifact(transaction: Transaction, wish: Acceptance): Promise<IngestResult> {
  const { space, incoming, chunks, ids, at } = wish;
  const { spaceId } = space;
  const artifact = await lockedArtifact(transaction, wish);
  const latest = artifact.isNew ? undefined : await latestRevision(transaction, artifact.artifactUid);
  const hash = contentHash(incoming);
  if (latest?.contentHash === hash)
    return {
      outcome: 'unchanged',
      artifactUid: artifact.artifactUid,
      revisionId: latest.revisionId,
      jobId: null,
      chunks: latest.chunkCount,
    };
  if (latest) {
    await supersede(transaction, spaceId, latest.revisionId, at);
    await forgetUnmentioned(transaction, spaceId, artifact.artifactUid, latest.revisionId);
  }
  if (artifact.type !== incoming.type)
    await transaction.query(
      sql`update artifact set type = ${incoming.type} where artifact_uid = ${artifact.artifactUid}::uuid`,
    );
  const revisionId = ids.uuid();
  const jobId = await wish.enqueue({ spaceId, revisionId }, transaction);
  const revision = { artifactUid: artifact.artifactUid, revisionId, jobId, hash };
  await insertRevision(transaction, wish, revision);
  for (let first = 0; first < chunks.length; first += chunksAtOnce)
    await insertChunks(transaction, wish, revision, chunks.slice(first, first + chunksAtOnce));
  return {
    outcome: latest ? 'revised' : 'added',
    artifactUid: artifact.artifactUid,
    revisionId,
    jobId,
    chunks: chunks.length,
  };
}

/** Held until the transaction ends: the same artifact is taken in by one at a time. */
async function lockedArtifact(
  transaction: Transaction,
  { space, incoming, ids, at }: Acceptance,
): Promise<{ readonly artifactUid: string; readonly type: string; readonly isNew: boolean }> {
  const artifactUid = ids.uuid();
  const { affected } = await transaction.query(
    sql`
    insert into artifact (artifact_uid, space_id, type, source_system, source_id, created_at)
    values (${artifactUid}, ${space.spaceId}, ${incoming.type}, ${incoming.sourceSystem}, ${incoming.sourceId}, ${at})
    on conflict (space_id, source_system, source_id) do nothing`,
    { isFrequent: true },
  );
  if (affected === 1) return { artifactUid, type: incoming.type, isNew: true };
  const { rows } = await transaction.query<{ artifactUid: string; type: string }>(sql`
    select artifact_uid as "artifactUid", type from artifact
    where space_id = ${space.spaceId} and source_system = ${incoming.sourceSystem}
      and source_id = ${incoming.sourceId}
    for update`);
  const [known] = rows;
  // Removed between the two statements: then it is new after all.
  return known
    ? { ...known, isNew: false }
    : lockedArtifact(transaction, { space, incoming, ids, at } as Acceptance);
}

async function latestRevision(transaction: Transaction, artifactUid: string) {
  const { rows } = await transaction.query<{
    revisionId: string;
    contentHash: string;
    chunkCount: number;
  }>(sql`
    select revision_id as "revisionId", content_hash as "contentHash", chunk_count as "chunkCount"
    from artifact_revision where artifact_uid = ${artifactUid}::uuid and is_latest`);
  return rows[0];
}

/** What is searched is of latest revisions only; what happened stays known, as what was said once. */
async function supersede(
  transaction: Transaction,
  spaceId: number,
  revisionId: string,
  at: Date,
): Promise<void> {
  await removePostings(transaction, spaceId, revisionId);
  await transaction.query(sql`
    delete from chunk_vector v using chunk c
    where c.revision_id = ${revisionId}::uuid and v.chunk_id = c.chunk_id`);
  await transaction.query(sql`
    update semantic_event set superseded_at = ${at}
    where revision_id = ${revisionId}::uuid and superseded_at is null`);
  await transaction.query(
    sql`update artifact_revision set is_latest = false where revision_id = ${revisionId}::uuid`,
  );
}

interface NewRevision {
  readonly artifactUid: string;
  readonly revisionId: string;
  readonly jobId: string | null;
  readonly hash: string;
}

async function insertRevision(
  transaction: Transaction,
  { space, incoming, chunks, at }: Acceptance,
  { artifactUid, revisionId, jobId, hash }: NewRevision,
): Promise<void> {
  const { title, text, sourceTs, warnings, mentions } = incoming;
  const metadata = mentions.length === 0 ? incoming.metadata : { ...incoming.metadata, mentions };
  const tokens = chunks.reduce((sum, { tokenCount }) => sum + tokenCount, 0);
  await transaction.query(
    sql`
    insert into artifact_revision (revision_id, artifact_uid, space_id, content_hash, title, text, source_ts, metadata,
      warnings, token_count, chunk_count, is_chunked, is_latest, job_id, ingested_at)
    values (${revisionId}, ${artifactUid}, ${space.spaceId}, ${hash}, ${title}, ${text}, ${sourceTs},
      ${storedJson(metadata)}::jsonb, ${storedJson(warnings)}::jsonb, ${tokens}, ${chunks.length}, ${chunks.length > 1}, true, ${jobId}, ${at})`,
    { isFrequent: true },
  );
}

async function insertChunks(
  transaction: Transaction,
  { space, incoming, at }: Acceptance,
  { artifactUid, revisionId }: NewRevision,
  chunks: readonly ChunkDraft[],
): Promise<void> {
  const { spaceId } = space;
  const column = <Key extends keyof ChunkDraft>(key: Key) => chunks.map((chunk) => chunk[key]);
  const { rows } = await transaction.query<{ chunkId: number; position: number }>(
    sql`
    with made as (
      insert into chunk (space_id, artifact_uid, revision_id, position, start_char, end_char, token_count, heading, text)
      select ${spaceId}::integer, ${artifactUid}::uuid, ${revisionId}::uuid, position, start_char, end_char,
        token_count, heading, body
      from unnest(${column('position')}::integer[], ${column('startChar')}::integer[],
        ${column('endChar')}::integer[], ${column('tokenCount')}::integer[], ${column('heading')}::text[],
        ${column('text')}::text[]) as t (position, start_char, end_char, token_count, heading, body)
      order by position
      returning chunk_id, position),
    marked as (
      insert into chunk_step (chunk_id, step, space_id, status, updated_at)
      select chunk_id, 'index', ${spaceId}::integer, 'done', ${at}::timestamptz from made)
    select chunk_id as "chunkId", position from made`,
    { isFrequent: true },
  );
  const drafts = new Map(chunks.map((chunk) => [chunk.position, chunk]));
  await writePostings(
    transaction,
    space,
    rows.map(({ chunkId, position }) => ({
      chunkId,
      text: drafts.get(position)?.text ?? '',
      heading: drafts.get(position)?.heading ?? null,
      title: incoming.title,
    })),
  );
}
