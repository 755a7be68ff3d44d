// Artifacts, revisions, chunks and their steps in Postgres.
import type { Clock, IdSource } from '../../core/index.ts';
import { CoreError, isUuid } from '../../core/index.ts';
import type { Database } from '../../platform/postgres/ports.ts';
import { hasSqlState } from '../../platform/postgres/sql-error.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { joinSql, sql } from '../../platform/postgres/sql.ts';
import type {
  IngestResult,
  ArtifactFilter,
  ArtifactStore,
  Chunk,
  ChunkDraft,
  RemovedIds,
  ParsedDocument,
  DroppedCount,
  Revision,
  Space,
  ChunkStepResult,
} from '../ports.ts';
import { acceptArtifact } from './postgres-accept.ts';
import { removeArtifact } from './postgres-remove-artifact.ts';
import { chunkColumns, revisionColumns } from './revision-columns.ts';

/** The largest text takes a few seconds; the store may be busy with others of that size. */
const acceptLeaseMs = 300_000;
const foreignKeyViolation = '23503';

export class PostgresArtifactStore implements ArtifactStore {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #ids: IdSource;

  constructor(database: Database, { clock, ids }: { readonly clock: Clock; readonly ids: IdSource }) {
    this.#database = database;
    this.#clock = clock;
    this.#ids = ids;
  }

  async accept(
    space: Space,
    incoming: ParsedDocument,
    chunks: readonly ChunkDraft[],
    enqueue: Parameters<ArtifactStore['accept']>[3],
  ): Promise<IngestResult> {
    const wish = { space, incoming, chunks, enqueue, ids: this.#ids, at: this.#now() };
    try {
      return await this.#database.transaction((transaction) => acceptArtifact(transaction, wish), {
        leaseMs: acceptLeaseMs,
      });
    } catch (error) {
      if (!hasSqlState(error, foreignKeyViolation)) throw error;
      throw new CoreError('NOT_FOUND', `The space ${space.name} was removed.`, { cause: error });
    }
  }

  async get(spaceId: number, artifactUid: string): Promise<Revision | null> {
    if (!isUuid(artifactUid)) return null;
    const [found] = await this.#revisions(sql`r.artifact_uid = ${artifactUid}::uuid and r.is_latest
      and r.space_id = ${spaceId}`);
    return found ?? null;
  }

  async revision(
    spaceId: number,
    revisionId: string,
  ): Promise<(Revision & { readonly text: string }) | null> {
    if (!isUuid(revisionId)) return null;
    const { rows } = await this.#database.query<Revision & { text: string }>(
      sql`
      select ${revisionColumns}, r.text from artifact_revision r join artifact a using (artifact_uid)
      where r.revision_id = ${revisionId}::uuid and r.space_id = ${spaceId}`,
      { isFrequent: true },
    );
    return rows[0] ?? null;
  }

  async revisions(spaceId: number, artifactUid: string): Promise<readonly Revision[]> {
    if (!isUuid(artifactUid)) return [];
    return this.#revisions(
      sql`r.artifact_uid = ${artifactUid}::uuid and r.space_id = ${spaceId}`,
      sql`order by r.ingested_at desc, r.revision_id desc`,
    );
  }

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

  async saveSteps(spaceId: number, marks: readonly ChunkStepResult[]): Promise<void> {
    if (marks.length === 0) return;
    // Marks of chunks that are gone are left out: an artifact may be removed while it is worked on.
    await this.#database.query(
      sql`
      insert into chunk_step (chunk_id, step, space_id, status, method, cause, message, not_taken, updated_at)
      select distinct on (chunk_id, step) chunk_id, step, ${spaceId}::integer, status, method, cause, message,
        not_taken::jsonb, ${this.#now()}::timestamptz
      from unnest(${marks.map(({ chunkId }) => chunkId)}::bigint[], ${marks.map(({ step }) => step)}::text[],
        ${marks.map(({ status }) => status)}::text[], ${marks.map(({ method }) => method ?? null)}::text[],
        ${marks.map(({ cause }) => cause ?? null)}::text[], ${marks.map(({ message }) => message ?? null)}::text[],
        ${marks.map(({ dropped }) => (dropped ? JSON.stringify(dropped) : null))}::text[])
        with ordinality as t (chunk_id, step, status, method, cause, message, not_taken, number)
      where exists (select from chunk c where c.chunk_id = t.chunk_id and c.space_id = ${spaceId})
      order by chunk_id, step, number desc
      on conflict (chunk_id, step) do update set status = excluded.status, method = excluded.method,
        cause = excluded.cause, message = excluded.message, not_taken = excluded.not_taken,
        updated_at = excluded.updated_at`,
      { isFrequent: true },
    );
  }

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
      select s.chunk_id as "chunkId", s.step, s.status, s.method, s.cause, s.message, s.not_taken as "dropped",
        s.updated_at as "updatedAt"
      from chunk c join chunk_step s using (chunk_id)
      where c.revision_id = ${revisionId}::uuid order by c.position, s.step`,
      { isFrequent: true },
    );
    return rows.map(({ method, cause, message, dropped, ...step }) => ({
      ...step,
      ...(method === null ? {} : { method }),
      ...(cause === null ? {} : { cause }),
      ...(message === null ? {} : { message }),
      ...(dropped === null ? {} : { dropped }),
    }));
  }

  async unfinished({
    step,
    spaceId,
    doneBy,
    after,
    limit,
  }: Parameters<ArtifactStore['unfinished']>[0]): Promise<readonly Chunk[]> {
    const { rows } = await this.#database.query<Chunk>(sql`
      select ${chunkColumns} from chunk c join artifact_revision r using (revision_id)
        left join chunk_step s on s.chunk_id = c.chunk_id and s.step = ${step}
      where r.is_latest and c.chunk_id > ${after ?? 0}
        and (${spaceId ?? null}::integer is null or c.space_id = ${spaceId ?? null}::integer)
        and (s.status is distinct from 'done' or s.method = ${doneBy ?? null}::text)
      order by c.chunk_id limit ${limit}`);
    return rows;
  }

  async remove(spaceId: number, artifactUid: string): Promise<RemovedIds | null> {
    if (!isUuid(artifactUid)) return null;
    return this.#database.transaction((transaction) => removeArtifact(transaction, spaceId, artifactUid), {
      leaseMs: acceptLeaseMs,
    });
  }

  async #revisions(condition: Sql, order: Sql = sql``): Promise<readonly Revision[]> {
    const { rows } = await this.#database.query<Revision>(sql`
      select ${revisionColumns} from artifact_revision r join artifact a using (artifact_uid)
      where ${condition} ${order}`);
    return rows;
  }

  #now(): Date {
    return new Date(this.#clock.now());
  }
}
