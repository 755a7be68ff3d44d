// Artifacts, their revisions, chunks and steps in Postgres.
import type { Clock, IdSource } from '../../core/index.ts';
import { CoreError, isUuid } from '../../core/index.ts';
import type { Database, Transaction } from '../../platform/postgres/ports.ts';
import { hasSqlState, joinSql, sql, storedJson } from '../../platform/postgres/sql.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { contentHash } from '../documents/parse-text.ts';
import type { DroppedCount } from '../reading/types.ts';
import { lockEntities } from '../entities/entity-writes.ts';
import { refreshUncertain } from '../entities/pair-store.ts';
import type { Space } from '../spaces/spaces.ts';
import type {
  ArtifactFilter,
  Chunk,
  ChunkDraft,
  ChunkStepResult,
  IngestResult,
  ParsedDocument,
  RemovedIds,
  Revision,
} from './types.ts';
import { removePostings, writePostings } from '../search/postings.ts';
import { deleteInterruptedEntities, removeArtifact } from './remove-artifact.ts';

/** The largest text takes a few seconds, and others of that size may be ahead. */
const acceptLeaseMs = 300_000;
const foreignKeyViolation = '23503';

/** Enqueues the job of an accepted revision in the given transaction; returns the job's id. */
type EnqueueJob = (
  revision: { readonly spaceId: number; readonly revisionId: string },
  transaction: unknown,
) => Promise<string | null>;

type RevisionWithText = Revision & { readonly text: string };
type IncompleteRevision = Pick<Revision, 'spaceId' | 'revisionId' | 'jobId' | 'ingestedAt'>;

export interface StoreDeps {
  readonly clock: Clock;
  readonly ids: IdSource;
}

export class ArtifactStore {
  readonly #database: Database;
  readonly #deps: StoreDeps;

  constructor(database: Database, deps: StoreDeps) {
    this.#database = database;
    this.#deps = deps;
  }

  /**
   * Writes artifact, revision, chunks, postings, structured mentions (in the revision's metadata under `mentions`) and
   * job in one transaction; the artifact is searchable when it resolves. A new revision supersedes the previous one:
   * its postings and vectors are deleted, its events marked as superseded. One document per transaction, because the
   * `corpus_total` row stays locked until commit.
   */
  async accept(
    space: Space,
    document: ParsedDocument,
    chunks: readonly ChunkDraft[],
    enqueue: EnqueueJob,
  ): Promise<IngestResult> {
    const request = { space, document, chunks, enqueue, ids: this.#deps.ids, at: this.#now() };
    try {
      return await this.#database.transaction((transaction) => acceptArtifact(transaction, request), {
        leaseMs: acceptLeaseMs,
      });
    } catch (error) {
      if (!hasSqlState(error, foreignKeyViolation)) throw error;
      throw new CoreError('NOT_FOUND', `The space ${space.name} was deleted.`, { cause: error });
    }
  }

  /** The latest revision. */
  get(spaceId: number, artifactUid: string): Promise<RevisionWithText | null> {
    return this.#withText(sql`r.artifact_uid = ${artifactUid}::uuid and r.is_latest`, spaceId, artifactUid);
  }

  revision(spaceId: number, revisionId: string): Promise<RevisionWithText | null> {
    return this.#withText(sql`r.revision_id = ${revisionId}::uuid`, spaceId, revisionId);
  }

  async revisions(spaceId: number, artifactUid: string): Promise<readonly Revision[]> {
    if (!isUuid(artifactUid)) return [];
    return this.#revisions(
      sql`r.artifact_uid = ${artifactUid}::uuid and r.space_id = ${spaceId}`,
      sql`order by r.ingested_at desc, r.revision_id desc`,
    );
  }

  /** Latest revisions, newest first. */
  list({ spaceId, type, sourceSystem, before, limit }: ArtifactFilter): Promise<readonly Revision[]> {
    const conditions = [
      sql`r.space_id = ${spaceId} and r.is_latest`,
      ...(type === undefined ? [] : [sql`a.type = ${type}`]),
      ...(sourceSystem === undefined ? [] : [sql`a.source_system = ${sourceSystem}`]),
      ...(before === undefined
        ? []
        : [
            sql`(r.ingested_at, r.revision_id) < (
              select ingested_at, revision_id from artifact_revision where revision_id = ${before}::uuid
                and space_id = ${spaceId})`,
          ]),
    ];
    return this.#revisions(
      joinSql(conditions, sql` and `),
      sql`order by r.ingested_at desc, r.revision_id desc limit ${limit}`,
    );
  }

  async chunks(revisionId: string): Promise<readonly Chunk[]> {
    const { rows } = await this.#database.query<Chunk>(
      sql`select ${chunkColumns} from chunk c where c.revision_id = ${revisionId}::uuid order by c.position`,
      { isFrequent: true },
    );
    return rows;
  }

  async chunk(spaceId: number, chunkId: number): Promise<Chunk | null> {
    const { rows } = await this.#database.query<Chunk>(
      sql`select ${chunkColumns} from chunk c where c.chunk_id = ${chunkId} and c.space_id = ${spaceId}`,
    );
    return rows[0] ?? null;
  }

  /** The newest result of a chunk's step wins. */
  async saveSteps(spaceId: number, results: readonly ChunkStepResult[]): Promise<void> {
    if (results.length === 0) return;
    // Results of deleted chunks are ignored: an artifact may be deleted while its job runs.
    await this.#database.query(
      sql`
      insert into chunk_step (chunk_id, step, space_id, status, method, cause, message, dropped, updated_at)
      select distinct on (chunk_id, step) chunk_id, step, ${spaceId}::integer, status, method, cause, message,
        dropped::jsonb, ${this.#now()}::timestamptz
      from unnest(${results.map(({ chunkId }) => chunkId)}::bigint[], ${results.map(({ step }) => step)}::text[],
        ${results.map(({ status }) => status)}::text[], ${results.map(({ method }) => method ?? null)}::text[],
        ${results.map(({ cause }) => cause ?? null)}::text[], ${results.map(({ message }) => message ?? null)}::text[],
        ${results.map(({ dropped }) => (dropped ? JSON.stringify(dropped) : null))}::text[])
        with ordinality as t (chunk_id, step, status, method, cause, message, dropped, number)
      where exists (select from chunk c where c.chunk_id = t.chunk_id and c.space_id = ${spaceId})
      order by chunk_id, step, number desc
      on conflict (chunk_id, step) do update set status = excluded.status, method = excluded.method,
        cause = excluded.cause, message = excluded.message, dropped = excluded.dropped,
        updated_at = excluded.updated_at`,
      { isFrequent: true },
    );
  }

  /** False when it was superseded or deleted. */
  async isLatest(spaceId: number, revisionId: string): Promise<boolean> {
    const { rows } = await this.#database.query(
      sql`select from artifact_revision where revision_id = ${revisionId}::uuid and space_id = ${spaceId} and is_latest`,
      { isFrequent: true },
    );
    return rows.length > 0;
  }

  async steps(revisionId: string): Promise<readonly (ChunkStepResult & { readonly updatedAt: Date })[]> {
    type Row = Omit<ChunkStepResult, 'method' | 'cause' | 'message' | 'dropped'> &
      Record<'method' | 'cause' | 'message', string | null> & {
        dropped: readonly DroppedCount[] | null;
        updatedAt: Date;
      };
    const { rows } = await this.#database.query<Row>(
      sql`
      select s.chunk_id as "chunkId", s.step, s.status, s.method, s.cause, s.message, s.dropped as "dropped",
        s.updated_at as "updatedAt"
      from chunk c join chunk_step s using (chunk_id)
      where c.revision_id = ${revisionId}::uuid order by c.position, s.step`,
      { isFrequent: true },
    );
    return rows.map(({ method, cause, message, dropped, ...step }) => ({
      ...step,
      method: method ?? undefined,
      cause: cause ?? undefined,
      message: message ?? undefined,
      dropped: dropped ?? undefined,
    }));
  }

  /**
   * Latest revisions with a chunk that was never read, that rules read although no model failed (`readByRules`), or that
   * was read and never added to the graph (`notInGraph`). Failed steps have ledger rows and are not listed.
   */
  async listIncomplete({
    readByRules,
    notInGraph,
    limit,
  }: {
    readonly readByRules: boolean;
    readonly notInGraph: boolean;
    readonly limit: number;
  }): Promise<readonly IncompleteRevision[]> {
    const { rows } = await this.#database.query<IncompleteRevision>(sql`
      select distinct r.space_id as "spaceId", r.revision_id as "revisionId", r.job_id as "jobId",
        r.ingested_at as "ingestedAt"
      from chunk c join artifact_revision r using (revision_id)
        left join chunk_step s on s.chunk_id = c.chunk_id and s.step = 'read'
        left join chunk_step g on g.chunk_id = c.chunk_id and g.step = 'graph'
      where r.is_latest and (s.chunk_id is null
        or (${readByRules} and s.status = 'completed' and s.method = 'rules' and s.cause is null)
        or (${notInGraph} and s.status = 'completed' and g.chunk_id is null))
      order by r.revision_id limit ${limit}`);
    return rows;
  }

  /** The job that processes the revision now. */
  async setJob(revisionId: string, jobId: string): Promise<void> {
    await this.#database.query(
      sql`update artifact_revision set job_id = ${jobId} where revision_id = ${revisionId}::uuid`,
    );
  }

  /**
   * Deletes the artifact with everything derived from it, including entities that nothing else mentions and their
   * merges. Returns what a separate graph store has to remove; null when there is no such artifact.
   */
  async remove(spaceId: number, artifactUid: string): Promise<RemovedIds | null> {
    if (!isUuid(artifactUid)) return null;
    const removed = await this.#database.transaction(
      (transaction) => removeArtifact(transaction, spaceId, artifactUid),
      { leaseMs: acceptLeaseMs },
    );
    if (removed === null) return null;
    const { pairedIds, ...ids } = removed;
    // On its own: it takes the lock of the space, for which a removal would wait with locks of its own.
    if (pairedIds.length > 0)
      await this.#database.transaction(async (transaction) => {
        await lockEntities(transaction, this.#database.schema, spaceId);
        await refreshUncertain(transaction, spaceId, pairedIds);
      });
    return ids;
  }

  /** Null when there is none, or `id` is not an id. */
  async #withText(condition: Sql, spaceId: number, id: string): Promise<RevisionWithText | null> {
    if (!isUuid(id)) return null;
    const { rows } = await this.#database.query<RevisionWithText>(
      sql`
      select ${revisionColumns}, r.text from artifact_revision r join artifact a using (artifact_uid)
      where ${condition} and r.space_id = ${spaceId}`,
      { isFrequent: true },
    );
    return rows[0] ?? null;
  }

  async #revisions(condition: Sql, order: Sql = sql``): Promise<readonly Revision[]> {
    const { rows } = await this.#database.query<Revision>(sql`
      select ${revisionColumns} from artifact_revision r join artifact a using (artifact_uid)
      where ${condition} ${order}`);
    return rows;
  }

  #now(): Date {
    return new Date(this.#deps.clock.now());
  }
}

/** Keeps one statement well below the message size and statement timeout of Postgres. */
const chunkBatchSize = 200;

interface AcceptRequest {
  readonly space: Space;
  readonly document: ParsedDocument;
  readonly chunks: readonly ChunkDraft[];
  readonly enqueue: EnqueueJob;
  readonly ids: IdSource;
  readonly at: Date;
}

/** Runs in the caller's transaction, which rolls back when it fails. */
async function acceptArtifact(transaction: Transaction, request: AcceptRequest): Promise<IngestResult> {
  const { space, document, chunks, ids, at } = request;
  const { spaceId } = space;
  const artifact = await lockedArtifact(transaction, request);
  const latest = artifact.isNew ? undefined : await latestRevision(transaction, artifact.artifactUid);
  const hash = contentHash(document);
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
    await deleteInterruptedEntities(transaction, spaceId, artifact.artifactUid, latest.revisionId);
  }
  if (artifact.type !== document.type)
    await transaction.query(
      sql`update artifact set type = ${document.type} where artifact_uid = ${artifact.artifactUid}::uuid`,
    );
  const revisionId = ids.uuid();
  const jobId = await request.enqueue({ spaceId, revisionId }, transaction);
  const revision = { artifactUid: artifact.artifactUid, revisionId, jobId, hash };
  await insertRevision(transaction, request, revision);
  for (let first = 0; first < chunks.length; first += chunkBatchSize)
    await insertChunks(transaction, request, revision, chunks.slice(first, first + chunkBatchSize));
  return {
    outcome: latest ? 'revised' : 'added',
    artifactUid: artifact.artifactUid,
    revisionId,
    jobId,
    chunks: chunks.length,
  };
}

/** Row lock until the transaction ends: one ingest of the same artifact at a time. */
async function lockedArtifact(
  transaction: Transaction,
  request: AcceptRequest,
): Promise<{ readonly artifactUid: string; readonly type: string; readonly isNew: boolean }> {
  const { space, document, ids, at } = request;
  const artifactUid = ids.uuid();
  const { affected } = await transaction.query(
    sql`
    insert into artifact (artifact_uid, space_id, type, source_system, source_id, created_at)
    values (${artifactUid}, ${space.spaceId}, ${document.type}, ${document.sourceSystem}, ${document.sourceId}, ${at})
    on conflict (space_id, source_system, source_id) do nothing`,
    { isFrequent: true },
  );
  if (affected === 1) return { artifactUid, type: document.type, isNew: true };
  const { rows } = await transaction.query<{ artifactUid: string; type: string }>(sql`
    select artifact_uid as "artifactUid", type from artifact
    where space_id = ${space.spaceId} and source_system = ${document.sourceSystem}
      and source_id = ${document.sourceId}
    for update`);
  const [known] = rows;
  // Deleted between the two statements: insert again.
  return known ? { ...known, isNew: false } : lockedArtifact(transaction, request);
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

/** Only latest revisions are searched; events of older ones are kept and marked as superseded. */
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
  { space, document, chunks, at }: AcceptRequest,
  { artifactUid, revisionId, jobId, hash }: NewRevision,
): Promise<void> {
  const { title, text, sourceTs, warnings, mentions } = document;
  const metadata = mentions.length === 0 ? document.metadata : { ...document.metadata, mentions };
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
  { space, document, at }: AcceptRequest,
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
      select chunk_id, 'index', ${spaceId}::integer, 'completed', ${at}::timestamptz from made)
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
      title: document.title,
    })),
  );
}

/** Columns of `artifact_revision r join artifact a using (artifact_uid)`. */
const revisionColumns = sql`
  r.revision_id as "revisionId", r.artifact_uid as "artifactUid", r.space_id as "spaceId", a.type,
  a.source_system as "sourceSystem", a.source_id as "sourceId", r.content_hash as "contentHash", r.title,
  r.source_ts as "sourceTs", r.metadata, r.warnings, r.token_count as "tokenCount", r.chunk_count as "chunkCount",
  r.is_latest as "isLatest", r.job_id as "jobId", r.ingested_at as "ingestedAt"`;

/** Columns of `chunk c`. */
const chunkColumns = sql`
  c.chunk_id as "chunkId", c.space_id as "spaceId", c.artifact_uid as "artifactUid", c.revision_id as "revisionId",
  c.position, c.start_char as "startChar", c.end_char as "endChar", c.token_count as "tokenCount", c.heading, c.text`;
