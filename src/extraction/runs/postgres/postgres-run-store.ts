// Runs in Postgres.
import { isUuid } from '../../../core/index.ts';
import type { Queryable, Transaction } from '../../../platform/postgres/ports.ts';
import type { Sql } from '../../../platform/postgres/sql.ts';
import { joinSql, json, sql } from '../../../platform/postgres/sql.ts';
import type { ExtractionRun, RunFilter, RunStore } from '../ports.ts';

const columns = sql`
  id, source, origin, vault, state, job_id as "jobId", session, types, calls, refusals, multiplier,
  items_per_second as "itemsPerSecond", started_at as "startedAt", finished_at as "finishedAt",
  reported_at as "reportedAt", message`;

export class PostgresRunStore implements RunStore {
  readonly #database: Queryable;

  constructor(database: Queryable) {
    this.#database = database;
  }

  async put(run: ExtractionRun, transaction?: unknown): Promise<boolean> {
    const on = (transaction as Transaction | undefined) ?? this.#database;
    const { affected } = await on.query(sql`
      insert into extraction_runs (id, source, origin, vault, state, job_id, session, types, calls, refusals,
        multiplier, items_per_second, started_at, finished_at, reported_at, message)
      values (${run.id}, ${run.source}, ${run.origin}, ${run.vault}, ${run.state}, ${run.jobId}, ${run.session},
        ${json(run.types)}, ${run.calls}, ${run.refusals}, ${run.multiplier}, ${run.itemsPerSecond},
        ${run.startedAt}, ${run.finishedAt}, ${run.reportedAt}, ${run.message})
      on conflict (id) do update set source = excluded.source, vault = excluded.vault, state = excluded.state,
        job_id = excluded.job_id, session = excluded.session, types = excluded.types, calls = excluded.calls,
        refusals = excluded.refusals, multiplier = excluded.multiplier,
        items_per_second = excluded.items_per_second, started_at = excluded.started_at,
        finished_at = excluded.finished_at, reported_at = excluded.reported_at, message = excluded.message
      where extraction_runs.origin = excluded.origin`);
    return affected === 1;
  }

  async get(id: string): Promise<ExtractionRun | null> {
    if (!isUuid(id)) return null;
    const { rows } = await this.#database.query<ExtractionRun>(
      sql`select ${columns} from extraction_runs where id = ${id}::uuid`,
    );
    return rows[0] ?? null;
  }

  async list({ source, states, limit, before }: RunFilter): Promise<readonly ExtractionRun[]> {
    const conditions: Sql[] = [sql`true`];
    if (source !== undefined) conditions.push(sql`source = ${source}`);
    if (states !== undefined) conditions.push(sql`state = any(${states}::text[])`);
    if (before !== undefined) conditions.push(sql`id < ${before}::uuid`);
    const { rows } = await this.#database.query<ExtractionRun>(sql`
      select ${columns} from extraction_runs
      where ${joinSql(conditions, sql` and `)} order by id desc limit ${limit}`);
    return rows;
  }

  async interruptWaiting(id: string, message: string, at: Date): Promise<boolean> {
    if (!isUuid(id)) return false;
    const { affected } = await this.#database.query(sql`
      update extraction_runs set state = 'interrupted', finished_at = ${at}, message = ${message}
      where id = ${id}::uuid and state = 'waiting'`);
    return affected === 1;
  }

  async interruptSilent(before: Date, message: string): Promise<number> {
    const { affected } = await this.#database.query(sql`
      update extraction_runs set state = 'interrupted', finished_at = reported_at, message = ${message}
      where state = 'running' and reported_at < ${before}`);
    return affected;
  }

  async purge(before: Date, limit: number): Promise<number> {
    const { affected } = await this.#database.query(sql`
      delete from extraction_runs where id in (
        select id from extraction_runs where finished_at < ${before} order by finished_at limit ${limit})`);
    return affected;
  }
}
