// Executions and their files in Postgres.
import { CoreError, isUuid } from '../../core/index.ts';
import type { Database, Queryable, Transaction } from '../../platform/postgres/ports.ts';
import { hasSqlState, joinSql, json, sql } from '../../platform/postgres/sql.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import type {
  Execution,
  ExecutionFilter,
  ExecutionInput,
  ExecutionOutcome,
  ExecutionStore,
  UploadedFile,
} from '../executions/types.ts';

const executionColumns = (result: Sql): Sql => sql`
  id as "executionId", organization_id as "organizationId", deployment_id as "deploymentId", status,
  idempotency_key as "idempotencyKey", request_hash as "requestHash", job_id as "jobId",
  accepted_at as "acceptedAt", started_at as "startedAt", finished_at as "finishedAt", ${result} as result, failure,
  warnings`;
const columns = executionColumns(sql`result`);
const columnsWithoutResult = executionColumns(sql`null`);

/** Rolls a dispatch back: the job that was added with it must not stay. */
class KeyIsTaken extends Error {}

const foreignKeyViolation = '23503';

export class PostgresExecutionStore implements ExecutionStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async dispatch(
    execution: Omit<Execution, 'jobId'>,
    input: ExecutionInput,
    enqueue: (transaction: unknown) => Promise<string>,
    limits?: { readonly signal: AbortSignal; readonly withinMs: number },
  ): Promise<{ readonly execution: Execution; readonly isNew: boolean }> {
    const options = limits ? { signal: limits.signal, leaseMs: limits.withinMs } : {};
    try {
      const jobId = await this.#database.transaction(async (transaction) => {
        const id = await enqueue(transaction);
        await insert(transaction, { ...execution, jobId: id }, input);
        return id;
      }, options);
      return { execution: { ...execution, jobId }, isNew: true };
    } catch (error) {
      if (error instanceof KeyIsTaken && execution.idempotencyKey !== null) {
        const { deploymentId, idempotencyKey } = execution;
        const known = await this.byIdempotencyKey(deploymentId, idempotencyKey, limits?.signal);
        if (known) return { execution: known, isNew: false };
      }
      if (hasSqlState(error, foreignKeyViolation))
        throw new CoreError('NOT_FOUND', 'The deployment was deleted.', { cause: error });
      throw error;
    }
  }

  async get(executionId: string, signal?: AbortSignal): Promise<Execution | null> {
    if (!isUuid(executionId)) return null;
    return this.#one(sql`id = ${executionId}::uuid`, signal);
  }

  async byIdempotencyKey(deploymentId: string, key: string, signal?: AbortSignal): Promise<Execution | null> {
    return this.#one(sql`deployment_id = ${deploymentId}::uuid and idempotency_key = ${key}`, signal);
  }

  async list(filter: ExecutionFilter): Promise<readonly Execution[]> {
    const { organizationId, deploymentId, statuses, before, limit } = filter;
    const conditions: Sql[] = [sql`true`];
    if (organizationId !== undefined) conditions.push(sql`organization_id = ${organizationId}`);
    if (deploymentId !== undefined) conditions.push(sql`deployment_id = ${deploymentId}::uuid`);
    if (statuses !== undefined) conditions.push(sql`status = any(${statuses}::text[])`);
    if (before !== undefined) conditions.push(sql`id < ${before}::uuid`);
    const { rows } = await this.#database.query<Execution>(sql`
      select ${columnsWithoutResult} from executions
      where ${joinSql(conditions, sql` and `)} order by id desc limit ${limit}`);
    return rows;
  }

  async input(executionId: string): Promise<ExecutionInput | null> {
    const { rows } = await this.#database.query<Pick<ExecutionInput, 'parameters'>>(
      sql`select parameters from executions where id = ${executionId}::uuid`,
    );
    const [row] = rows;
    if (!row) return null;
    const files = await this.#database.query<UploadedFile>(sql`
      select name, media_type as "mediaType", bytes from execution_files
      where execution_id = ${executionId}::uuid order by position`);
    return { parameters: row.parameters, files: files.rows };
  }

  async begin(executionId: string, at: Date): Promise<boolean> {
    const { affected } = await this.#database.query(sql`
      update executions set status = 'running', started_at = coalesce(started_at, ${at}::timestamptz)
      where id = ${executionId}::uuid and finished_at is null`);
    return affected === 1;
  }

  async end(
    executionId: string,
    outcome: ExecutionOutcome,
    at: Date,
    alongside?: (execution: Execution, transaction: unknown) => Promise<unknown>,
  ): Promise<Execution | null> {
    if (!isUuid(executionId)) return null;
    const result = outcome.status === 'completed' ? json(outcome.result) : null;
    const warnings = outcome.status === 'completed' ? outcome.warnings : [];
    const failure = outcome.status === 'failed' ? json(outcome.failure) : null;
    return this.#database.transaction(async (transaction) => {
      const { rows } = await transaction.query<Execution>(sql`
        update executions set status = ${outcome.status}, finished_at = ${at}::timestamptz, result = ${result}::json,
          failure = ${failure}::json, warnings = ${json(warnings)}::json
        where id = ${executionId}::uuid and finished_at is null
        returning ${columns}`);
      const [ended] = rows;
      if (!ended) return null;
      await alongside?.(ended, transaction);
      await transaction.notify(endedChannel(this.#database.schema), executionId);
      return ended;
    });
  }

  async unfinished(): ReturnType<ExecutionStore['unfinished']> {
    const { rows } = await this.#database.query<
      Pick<Execution, 'executionId' | 'organizationId' | 'acceptedAt' | 'jobId'>
    >(sql`
      select id as "executionId", organization_id as "organizationId", accepted_at as "acceptedAt", job_id as "jobId"
      from executions where finished_at is null order by id`);
    return rows;
  }

  async ended(executionIds: readonly string[]): Promise<readonly string[]> {
    const ids = executionIds.filter(isUuid);
    if (ids.length === 0) return [];
    const { rows } = await this.#database.query<{ id: string }>(
      sql`select id from executions where id = any(${ids}::uuid[]) and finished_at is not null order by id`,
    );
    return rows.map(({ id }) => id);
  }

  onEnded(listener: (executionId: string) => void): Promise<() => Promise<void>> {
    return this.#database.listen(endedChannel(this.#database.schema), listener);
  }

  async purge(before: Date, limit: number): Promise<number> {
    const { affected } = await this.#database.query(sql`
      delete from executions where id in (
        select id from executions where finished_at < ${before}::timestamptz order by finished_at limit ${limit})`);
    return affected;
  }

  async purgeFiles(before: Date, limit: number): Promise<number> {
    const { rows } = await this.#database.query<{ count: number }>(sql`
      with old as (
        select id from executions where finished_at < ${before}::timestamptz
          and exists (select from execution_files where execution_id = id)
        order by finished_at limit ${limit}),
      gone as (delete from execution_files using old where execution_id = old.id)
      select count(*) as count from old`);
    return rows[0]?.count ?? 0;
  }

  async #one(condition: Sql, signal: AbortSignal | undefined): Promise<Execution | null> {
    const { rows } = await this.#database.query<Execution>(
      sql`select ${columns} from executions where ${condition}`,
      signal ? { signal } : {},
    );
    return rows[0] ?? null;
  }
}

/** Channels belong to the whole database; a schema has at most 50 characters, a channel 63. */
const endedChannel = (schema: string): string => `${schema}_executions`;

async function insert(transaction: Transaction, execution: Execution, input: ExecutionInput): Promise<void> {
  const { affected } = await transaction.query(sql`
    insert into executions (id, organization_id, deployment_id, status, idempotency_key, request_hash, job_id,
      parameters, accepted_at)
    values (${execution.executionId}, ${execution.organizationId}, ${execution.deploymentId}, ${execution.status},
      ${execution.idempotencyKey}, ${execution.requestHash}, ${execution.jobId}, ${json(input.parameters)}::json,
      ${execution.acceptedAt})
    on conflict (deployment_id, idempotency_key) where idempotency_key is not null do nothing`);
  if (affected === 0) throw new KeyIsTaken('The idempotency key belongs to another execution.');
  await insertFiles(transaction, execution.executionId, input.files);
}

/** One statement each: together they could be larger than one message of the protocol may be. */
async function insertFiles(
  on: Queryable,
  executionId: string,
  files: readonly UploadedFile[],
): Promise<void> {
  for (const [position, { name, mediaType, bytes }] of files.entries())
    await on.query(sql`
      insert into execution_files (execution_id, position, name, media_type, bytes)
      values (${executionId}, ${position}, ${name}, ${mediaType}, ${bytes})`);
}
