// Stored runs and sources: types, interfaces and the Postgres stores.
import { CoreError, isUuid } from '../../core/index.ts';
import type { Queryable, Transaction } from '../../platform/postgres/ports.ts';
import { hasSqlState, joinSql, json, sql } from '../../platform/postgres/sql.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import type { ProgressFigures, TypeFigures } from '../events.ts';
import type { RunOrigin, RunState } from '../types.ts';
import type { ExtractionSource } from '../vocabulary.ts';

export interface RunFigures {
  readonly types: readonly Omit<TypeFigures, 'itemsThisRun'>[];
  readonly calls: number;
  /** Calls that received a 429. */
  readonly rateLimitedCalls: number;
  /** The rate limits are divided by this. */
  readonly multiplier: number;
  readonly itemsPerSecond: number | null;
}

export const noFigures: RunFigures = {
  types: [],
  calls: 0,
  rateLimitedCalls: 0,
  multiplier: 1,
  itemsPerSecond: null,
};

/** Accepts an extraction's result too, which has the same fields. */
export function figuresOf({
  types,
  calls,
  rateLimitedCalls,
  rateLimiter,
  itemsPerSecond,
}: Pick<ProgressFigures, 'types' | 'calls' | 'rateLimitedCalls' | 'rateLimiter'> & {
  readonly itemsPerSecond: number | null;
}): RunFigures {
  return {
    types: types.map(({ type, items, total, state }) => ({ type, items, total, state })),
    calls,
    rateLimitedCalls,
    multiplier: rateLimiter.backoff_multiplier,
    itemsPerSecond,
  };
}

export const itemsOf = ({ types }: RunFigures): number => types.reduce((sum, { items }) => sum + items, 0);

/** Null until the total of every type is known. */
export function totalOf({ types }: RunFigures): number | null {
  return types.reduce<number | null>(
    (sum, { total }) => (sum === null || total === null ? null : sum + total),
    0,
  );
}

export interface ExtractionRun extends RunFigures {
  readonly id: string;
  /** The registered name; of a command, the name of its source. */
  readonly source: string;
  readonly origin: RunOrigin;
  readonly vault: string;
  readonly state: RunState;
  /** Job of the server that runs it; null for a run of a command. */
  readonly jobId: string | null;
  /** Id of the session in the vault; null until it is open. */
  readonly session: string | null;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  /** Last heartbeat. */
  readonly reportedAt: Date;
  /** One sentence about its end, or null. */
  readonly message: string | null;
}

export interface RunFilter {
  readonly source?: string;
  readonly states?: readonly RunState[];
  readonly limit: number;
  /** Only runs before this one (its id). */
  readonly before?: string;
}

/** Passed through to stores and the job queue; undefined where there are no transactions. */
export type InTransaction = <T>(work: (transaction: unknown) => Promise<T>) => Promise<T>;

export interface SourceStore {
  /** Sorted by name. */
  list(): Promise<readonly ExtractionSource[]>;
  get(id: string): Promise<ExtractionSource | null>;
  /** Fails with CONFLICT when the name is taken. */
  add(source: ExtractionSource): Promise<void>;
  /** Everything except id, name and time of creation. False when there is no such source. */
  update(source: ExtractionSource): Promise<boolean>;
  remove(id: string): Promise<boolean>;
  /**
   * Moves `lastScheduledAt` to `at` if the source is unchanged. False: another server claimed this occurrence, or the
   * source was updated or deleted.
   */
  claim(seen: ExtractionSource, at: Date, transaction: unknown): Promise<boolean>;
}

export interface RunStore {
  /** Adds the run, or replaces it. False when the id is taken by a run of another origin. */
  put(run: ExtractionRun, transaction?: unknown): Promise<boolean>;
  get(id: string): Promise<ExtractionRun | null>;
  /** Newest first. */
  list(filter: RunFilter): Promise<readonly ExtractionRun[]>;
  /** Ends a queued run. False when it has started or does not exist. */
  interruptQueued(id: string, message: string, at: Date): Promise<boolean>;
  /** Ends running runs without a heartbeat since `before`; how many. */
  interruptStale(before: Date, message: string): Promise<number>;
  /** Deletes runs that ended before `before`, at most `limit`; how many. */
  purge(before: Date, limit: number): Promise<number>;
}

// Runs in Postgres.

const runColumns = sql`
  id, source, origin, vault, state, job_id as "jobId", session, types, calls, rate_limited_calls as "rateLimitedCalls", multiplier,
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
      insert into extraction_runs (id, source, origin, vault, state, job_id, session, types, calls, rate_limited_calls,
        multiplier, items_per_second, started_at, finished_at, reported_at, message)
      values (${run.id}, ${run.source}, ${run.origin}, ${run.vault}, ${run.state}, ${run.jobId}, ${run.session},
        ${json(run.types)}, ${run.calls}, ${run.rateLimitedCalls}, ${run.multiplier}, ${run.itemsPerSecond},
        ${run.startedAt}, ${run.finishedAt}, ${run.reportedAt}, ${run.message})
      on conflict (id) do update set source = excluded.source, vault = excluded.vault, state = excluded.state,
        job_id = excluded.job_id, session = excluded.session, types = excluded.types, calls = excluded.calls,
        rate_limited_calls = excluded.rate_limited_calls, multiplier = excluded.multiplier,
        items_per_second = excluded.items_per_second, started_at = excluded.started_at,
        finished_at = excluded.finished_at, reported_at = excluded.reported_at, message = excluded.message
      where extraction_runs.origin = excluded.origin`);
    return affected === 1;
  }

  async get(id: string): Promise<ExtractionRun | null> {
    if (!isUuid(id)) return null;
    const { rows } = await this.#database.query<ExtractionRun>(
      sql`select ${runColumns} from extraction_runs where id = ${id}::uuid`,
    );
    return rows[0] ?? null;
  }

  async list({ source, states, limit, before }: RunFilter): Promise<readonly ExtractionRun[]> {
    const conditions: Sql[] = [sql`true`];
    if (source !== undefined) conditions.push(sql`source = ${source}`);
    if (states !== undefined) conditions.push(sql`state = any(${states}::text[])`);
    if (before !== undefined) conditions.push(sql`id < ${before}::uuid`);
    const { rows } = await this.#database.query<ExtractionRun>(sql`
      select ${runColumns} from extraction_runs
      where ${joinSql(conditions, sql` and `)} order by id desc limit ${limit}`);
    return rows;
  }

  async interruptQueued(id: string, message: string, at: Date): Promise<boolean> {
    if (!isUuid(id)) return false;
    const { affected } = await this.#database.query(sql`
      update extraction_runs set state = 'interrupted', finished_at = ${at}, message = ${message}
      where id = ${id}::uuid and state = 'queued'`);
    return affected === 1;
  }

  async interruptStale(before: Date, message: string): Promise<number> {
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

// Registered sources in Postgres.

const sourceColumns = sql`
  id, name, kind, settings, options, schedule, vault, is_active, is_from_file as "isFromFile",
  last_scheduled_at as "lastScheduledAt", created_at as "createdAt", modified_at as "modifiedAt"`;

const uniqueViolation = '23505';

export class PostgresSourceStore implements SourceStore {
  readonly #database: Queryable;

  constructor(database: Queryable) {
    this.#database = database;
  }

  async list(): Promise<readonly ExtractionSource[]> {
    const { rows } = await this.#database.query<ExtractionSource>(
      sql`select ${sourceColumns} from extraction_sources order by name collate "C"`,
    );
    return rows;
  }

  async get(id: string): Promise<ExtractionSource | null> {
    if (!isUuid(id)) return null;
    const { rows } = await this.#database.query<ExtractionSource>(
      sql`select ${sourceColumns} from extraction_sources where id = ${id}::uuid`,
    );
    return rows[0] ?? null;
  }

  async add(source: ExtractionSource): Promise<void> {
    const { id, name, kind, settings, options, schedule, vault, is_active: isActive, isFromFile } = source;
    const { lastScheduledAt, createdAt, modifiedAt } = source;
    try {
      await this.#database.query(sql`
        insert into extraction_sources (id, name, kind, settings, options, schedule, vault, is_active, is_from_file,
          last_scheduled_at, created_at, modified_at)
        values (${id}, ${name}, ${kind}, ${json(settings)}, ${json(options)}, ${schedule}, ${vault},
          ${isActive}, ${isFromFile}, ${lastScheduledAt}, ${createdAt}, ${modifiedAt})`);
    } catch (error) {
      if (!hasSqlState(error, uniqueViolation)) throw error;
      throw new CoreError('CONFLICT', `There is a source named ${name} already.`, { cause: error });
    }
  }

  async update(source: ExtractionSource): Promise<boolean> {
    const { affected } = await this.#database.query(sql`
      update extraction_sources set settings = ${json(source.settings)}, options = ${json(source.options)},
        schedule = ${source.schedule}, vault = ${source.vault}, is_active = ${source.is_active},
        is_from_file = ${source.isFromFile}, last_scheduled_at = ${source.lastScheduledAt},
        modified_at = ${source.modifiedAt}
      where id = ${source.id}::uuid`);
    return affected === 1;
  }

  async remove(id: string): Promise<boolean> {
    if (!isUuid(id)) return false;
    const { affected } = await this.#database.query(
      sql`delete from extraction_sources where id = ${id}::uuid`,
    );
    return affected === 1;
  }

  async claim(seen: ExtractionSource, at: Date, transaction: unknown): Promise<boolean> {
    // A Date has milliseconds; stored times may have microseconds.
    const { affected } = await (transaction as Transaction).query(sql`
      update extraction_sources set last_scheduled_at = ${at}
      where id = ${seen.id}::uuid and schedule = ${seen.schedule} and is_active
        and date_trunc('milliseconds', last_scheduled_at) = ${seen.lastScheduledAt}::timestamptz`);
    return affected === 1;
  }
}
