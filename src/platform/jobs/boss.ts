// pg-boss on our database: its schema, queues and schedules. Started in two parts, because a warm start must be quick: at
// once what adding and claiming needs (four small reads), later in the background its schedules and maintenance (0.3 s of
// first-time statements on the embedded store).
import type { ConstructorOptions, Db } from 'pg-boss';
import { PgBoss } from 'pg-boss';
import type { Clock, JobDefinition } from '../../core/index.ts';
import { CoreError, messageOf } from '../../core/index.ts';
import { ensureSchema, withRights } from '../postgres/migrate.ts';
import type { Database, Queryable } from '../postgres/ports.ts';
import { rawSql } from '../postgres/sql.ts';
import { undefinedJobError } from './attempt.ts';
import type { StoreHealth } from './events.ts';
import { crashAllowance } from './statements.ts';

/** pg-boss wraps what must be atomic in BEGIN … COMMIT, and never reads rows from such a script. */
const script = /^\s*begin;/i;

/** Runs the statements of pg-boss on the database or within one of our transactions. */
export function bossDatabase(queryable: Queryable): Db {
  return {
    async executeSql(text, values = []) {
      try {
        if (values.length === 0 && script.test(text)) {
          await queryable.script(text);
          return { rows: [] };
        }
        const { rows } = await queryable.query(rawSql(text, values));
        return { rows: [...rows] };
      } catch (error) {
        throw error instanceof CoreError ? copyOf(error) : error;
      }
    },
  };
}

/** pg-boss appends its queue and worker to the message of an error, which may be shared by several callers. */
function copyOf(error: CoreError): CoreError {
  const { code, message, isRetryable, retryAfterMs, details } = error;
  return new CoreError(code, message, { isRetryable, retryAfterMs, details, cause: error });
}

function newBoss(
  database: Database,
  schema: string,
  health: StoreHealth,
  settings: ConstructorOptions,
): PgBoss {
  const boss = new PgBoss({
    db: bossDatabase(database),
    schema,
    backend: database.capabilities.kind === 'server' ? 'postgres' : 'pglite',
    schedule: false,
    supervise: false,
    ...settings,
  });
  // Without a listener an error in a timer of pg-boss would end the process.
  return boss.on('error', (error) => health.failed('maintain', error));
}

/**
 * Creates or migrates the schema if needed; safe with several processes starting at once. Fails with STATE_UNUSABLE
 * when the schema cannot be created or used, and with STATE_UNAVAILABLE when the store is unavailable.
 */
export async function startBoss(database: Database, schema: string, health: StoreHealth): Promise<PgBoss> {
  const boss = newBoss(database, schema, health, { migrate: false });
  try {
    return await boss.start();
  } catch (error) {
    if (error instanceof CoreError) throw error;
    // Missing or outdated. Another cause shows in the installer or the second start.
    return await installAndStart(database, boss, schema, health);
  }
}

async function installAndStart(
  database: Database,
  boss: PgBoss,
  schema: string,
  health: StoreHealth,
): Promise<PgBoss> {
  const installer = newBoss(database, schema, health, { migrate: true, createSchema: false });
  try {
    return await withRights(database, async () => {
      await database.transaction((transaction) => ensureSchema(transaction, schema));
      await installer.start();
      await installer.stop({ graceful: false });
      return await boss.start();
    });
  } catch (error) {
    if (error instanceof CoreError) throw error;
    throw new CoreError(
      'STATE_UNUSABLE',
      `The job tables (schema ${schema}) cannot be created or used: ${messageOf(error)}. Check that no newer Headworks has used this store and that these tables were not changed.`,
      { cause: error },
    );
  }
}

/** pg-boss ends everything that is active for longer than a day; job timeouts must be shorter. */
const maxTimeoutMs = 23 * 3_600_000;

const tenYearsInSeconds = 315_360_000;

const unusedId = '00000000-0000-4000-8000-000000000000';

/** The job kinds defined in this process, each a queue of pg-boss. */
export class JobKinds {
  readonly #boss: PgBoss;
  readonly #definitions = new Map<string, JobDefinition<unknown>>();

  constructor(boss: PgBoss) {
    this.#boss = boss;
  }

  get(name: string): JobDefinition<unknown> {
    const definition = this.#definitions.get(name);
    if (!definition) throw undefinedJobError(name);
    return definition;
  }

  /** Creates or updates only the queues that differ: with all of them in place it costs one query, and one per kind. */
  async define(definitions: readonly JobDefinition<unknown>[]): Promise<void> {
    for (const definition of definitions) checkDefinition(definition);
    const queues = new Map((await this.#boss.getQueues()).map((queue) => [queue.name, queue]));
    for (const definition of definitions) {
      const { name } = definition;
      const settings = queueSettings(definition);
      const queue = queues.get(name);
      if (!queue) await this.#boss.createQueue(name, { ...settings, policy: 'exclusive' });
      else if (queue.retryLimit !== settings.retryLimit) await this.#boss.updateQueue(name, settings);
      this.#definitions.set(name, definition);
    }
    // Fills pg-boss's cache, also for queues that another process created after the start: looking a queue up during a
    // send inside a transaction would deadlock on the single session.
    await Promise.all(definitions.map(({ name }) => this.#boss.findJobs(name, { id: unusedId })));
  }
}

/** pg-boss deletes nothing: queued jobs wait as long as it takes, ended ones until our retention deletes them. */
function queueSettings(definition: JobDefinition<unknown>) {
  return {
    retryLimit: definition.retries + crashAllowance,
    retryDelay: 0,
    expireInSeconds: 86_400,
    retentionSeconds: tenYearsInSeconds,
    deleteAfterSeconds: 0,
    notify: true,
  };
}

function checkDefinition(definition: JobDefinition<unknown>): void {
  const {
    name,
    timeoutMs,
    concurrency,
    groupConcurrency = 1,
    retries,
    retryDelayMs,
    retryDelayMaxMs = 0,
  } = definition;
  const problem =
    (!/^[\w.-]+$/.test(name) && `its name may contain only letters, digits, ".", "-" and "_"`) ||
    (!(timeoutMs > 0 && timeoutMs <= maxTimeoutMs) &&
      `timeoutMs is ${timeoutMs}, not between 1 and ${maxTimeoutMs}`) ||
    (!(Number.isInteger(concurrency) && concurrency > 0) && `concurrency is ${concurrency}, not 1 or more`) ||
    (!(Number.isInteger(groupConcurrency) && groupConcurrency > 0) &&
      `groupConcurrency is ${groupConcurrency}, not 1 or more`) ||
    (!(Number.isInteger(retries) && retries >= 0) && `retries is ${retries}, not 0 or more`) ||
    (!isDelay(retryDelayMs) && `retryDelayMs is ${retryDelayMs}, not a number of 0 or more`) ||
    (!isDelay(retryDelayMaxMs) && `retryDelayMaxMs is ${retryDelayMaxMs}, not a number of 0 or more`);
  if (problem) throw new CoreError('INTERNAL', `The job "${name}" cannot be defined: ${problem}.`);
}

const isDelay = (ms: number): boolean => Number.isFinite(ms) && ms >= 0;

export interface BossMaintenanceOptions {
  readonly database: Database;
  readonly schema: string;
  readonly clock: Clock;
  readonly health: StoreHealth;
  /** Whether to add the scheduled jobs. */
  readonly runSchedules: boolean;
  /** How long after the start it begins, so that requests come first. */
  readonly delayMs: number;
  /** Interval between checks of the schedules. */
  readonly cronMs: number;
}

const startRetryMs = 5_000;

/** The schedules and the index maintenance of pg-boss, started later and in the background. */
export class BossMaintenance {
  readonly #options: BossMaintenanceOptions;
  #boss: PgBoss | undefined;
  #starting: Promise<void> = Promise.resolve();
  #cancelTimer: () => void = () => undefined;
  #isStopped = false;

  constructor(options: BossMaintenanceOptions) {
    this.#options = options;
  }

  /** Starts after a delay; repeats the start while the store is unavailable. */
  start(delayMs = this.#options.delayMs): void {
    if (this.#isStopped) return;
    this.#cancelTimer = this.#options.clock.after(delayMs, () => {
      this.#starting = this.#startNow();
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelTimer();
    await this.#starting;
    await this.#boss?.stop({ graceful: false });
  }

  async #startNow(): Promise<void> {
    const { database, schema, health, runSchedules, cronMs } = this.#options;
    try {
      this.#boss = await newBoss(database, schema, health, {
        migrate: true,
        schedule: runSchedules,
        cronMonitorIntervalSeconds: Math.max(1, Math.round(cronMs / 1_000)),
        cronWorkerIntervalSeconds: Math.max(1, Math.round(cronMs / 6_000)),
        // Lost jobs, retention and counts are handled here; its supervision only maintains indexes on a server.
        supervise: database.capabilities.kind === 'server',
        superviseIntervalSeconds: 3_600,
        monitorIntervalSeconds: 3_600,
        flowIntervalSeconds: 3_600,
        bamIntervalSeconds: 3_600,
      }).start();
    } catch (error) {
      health.failed('maintain', error);
      this.start(startRetryMs);
    }
  }
}
