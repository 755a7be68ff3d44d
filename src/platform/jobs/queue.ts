// The job queue on pg-boss, in our own Postgres, embedded or server. pg-boss keeps the schema, adds, claims and schedules
// jobs; how attempts end, heartbeats and progress are written by us, in batches and with millisecond delays.
import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { PgBoss, ScheduleOptions } from 'pg-boss';
import type {
  Clock,
  Emitter,
  EnqueueOptions,
  IdSource,
  JobCount,
  JobDefinition,
  JobFilter,
  JobHandler,
  JobOutcome,
  JobQueue,
  JobView,
  Random,
} from '../../core/index.ts';
import { CoreError, isUuid, parseCron, snakeCaseKeys } from '../../core/index.ts';
import { jobsSchemaOf } from '../postgres/migrate.ts';
import type { Database, Transaction } from '../postgres/ports.ts';
import { hasSqlState } from '../postgres/sql.ts';
import { defaultAbortGraceMs, duplicateHandlerError, duplicateKeyError } from './attempt.ts';
import { bossDatabase, BossMaintenance, JobKinds, startBoss } from './boss.ts';
import type { JobEventSpecs } from './events.ts';
import { StoreHealth } from './events.ts';
import type { MaintenanceTiming } from './maintenance.ts';
import { JobMaintenance } from './maintenance.ts';
import type { JobRow } from './statements.ts';
import { canceledReason, JobStatements, toJobView } from './statements.ts';
import type { ClaimedRow } from './worker.ts';
import { CompletionWriter, JobWorker } from './worker.ts';

export interface JobQueueOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: IdSource;
  readonly events: Emitter<JobEventSpecs>;
  /** Removes secrets from reasons and progress before they are stored. */
  readonly redact: (text: string) => string;
  /** Whether this process adds the scheduled jobs. Any number may: each occurrence is added once. */
  readonly runSchedules: boolean;
  /** Wraps every attempt, for traces. */
  readonly wrapAttempt?: (name: string, id: string, work: () => Promise<JobOutcome>) => Promise<JobOutcome>;
  readonly abortGraceMs?: number;
  readonly timing?: Partial<JobTiming>;
}

interface JobTiming extends MaintenanceTiming {
  /** Interval between checks of the schedules. */
  readonly cronMs: number;
  /** Delay from the start of the queue to the start of schedules and index maintenance. */
  readonly maintenanceDelayMs: number;
}

const defaultTiming: JobTiming = {
  pollMs: 1_000,
  heartbeatMs: 10_000,
  lostAfterMs: 30_000,
  cronMs: 30_000,
  maintenanceDelayMs: 3_000,
};

/** How long a stopping process tries to write to a store that is unavailable. */
const lastWriteMs = 2_000;

/** Creates or migrates pg-boss's schema (`<schema>_jobs`) if needed and starts. Fails as the database does. */
export async function createJobQueue(options: JobQueueOptions): Promise<JobQueue> {
  const { database, clock, events } = options;
  const health = new StoreHealth(clock, events);
  const boss = await startBoss(database, jobsSchemaOf(database.schema), health);
  const queue = new PgBossJobQueue(options, boss, health);
  try {
    await queue.start();
  } catch (error) {
    await boss.stop({ graceful: false });
    throw error;
  }
  return queue;
}

class PgBossJobQueue implements JobQueue {
  readonly #options: JobQueueOptions;
  readonly #database: Database;
  readonly #boss: PgBoss;
  readonly #statements: JobStatements;
  readonly #kinds: JobKinds;
  readonly #health: StoreHealth;
  readonly #completions: CompletionWriter;
  readonly #maintenance: JobMaintenance;
  readonly #bossMaintenance: BossMaintenance;
  readonly #workers = new Map<string, JobWorker>();
  /** The channel that pg-boss notifies: the hash is its own. */
  readonly #channel: string;
  /** Jobs must not inherit the async context of the request or transaction that woke their worker. */
  readonly #runOutside = AsyncLocalStorage.snapshot();
  #unlisten: () => Promise<void> = () => Promise.resolve();
  #stopping: Promise<void> | undefined;

  constructor(options: JobQueueOptions, boss: PgBoss, health: StoreHealth) {
    const { database, clock, events, runSchedules } = options;
    const { maintenanceDelayMs: delayMs, cronMs, ...timing } = { ...defaultTiming, ...options.timing };
    const schema = jobsSchemaOf(database.schema);
    const statements = new JobStatements(schema);
    this.#options = options;
    this.#database = database;
    this.#boss = boss;
    this.#health = health;
    this.#statements = statements;
    this.#kinds = new JobKinds(boss);
    this.#completions = new CompletionWriter(database, statements, clock, health);
    this.#bossMaintenance = new BossMaintenance({
      database,
      schema,
      clock,
      health,
      runSchedules,
      cronMs,
      delayMs,
    });
    this.#channel = `pgboss_${createHash('sha224').update(schema).digest('hex').slice(0, 24)}`;
    const workers = this.#workers;
    this.#maintenance = new JobMaintenance({ database, statements, clock, events, health, workers, timing });
  }

  async start(): Promise<void> {
    this.#unlisten = await this.#database.listen(this.#channel, (payload) => this.#onNotify(payload));
    this.#maintenance.start();
    this.#bossMaintenance.start();
  }

  define(definitions: readonly JobDefinition<unknown>[]): Promise<void> {
    return this.#kinds.define(definitions);
  }

  async enqueue<Payload>(
    definition: JobDefinition<Payload>,
    payload: Payload,
    options: EnqueueOptions = {},
  ): Promise<string | null> {
    const { name } = this.#kinds.get(definition.name);
    const { key, group, startAfterMs = 0, priority = 0, transaction } = options;
    const id = this.#options.ids.uuid();
    const added = await this.#boss.send(
      name,
      { payload: snakeCaseKeys(payload) },
      {
        id,
        priority,
        // The queue's policy allows each key once; a job without a key gets a unique one.
        singletonKey: key === undefined ? `id ${id}` : `key ${key}`,
        ...(group === undefined ? {} : { group: { id: group } }),
        ...(startAfterMs > 0 ? { startAfter: startAfterMs / 1_000 } : {}),
        ...(transaction === undefined ? {} : { db: bossDatabase(asTransaction(transaction)) }),
      },
    );
    if (added !== null && transaction === undefined) this.#wake(name, startAfterMs);
    return added;
  }

  async work<Payload>(definition: JobDefinition<Payload>, handler: JobHandler<Payload>): Promise<void> {
    const known = this.#kinds.get(definition.name);
    if (this.#workers.has(known.name)) throw duplicateHandlerError(known.name);
    const { clock, events, redact, random, abortGraceMs = defaultAbortGraceMs } = this.#options;
    const { wrapAttempt = (_name, _id, run) => run() } = this.#options;
    const wrapped: JobHandler<unknown> = (payload, context) =>
      wrapAttempt(known.name, context.id, () => handler(payload as Payload, context));
    const worker = new JobWorker(known, wrapped, {
      claim: (name, count, ignoredGroups) => this.#claim(name, count, ignoredGroups),
      completions: this.#completions,
      health: this.#health,
      attempts: { clock, random, events, redact, abortGraceMs },
    });
    this.#workers.set(known.name, worker);
    this.#maintenance.pollSoon();
  }

  async schedule<Payload>(definition: JobDefinition<Payload>, cron: string, payload: Payload): Promise<void> {
    const { name } = this.#kinds.get(definition.name);
    parseCron(cron);
    const data = JSON.parse(JSON.stringify({ payload: snakeCaseKeys(payload ?? null) })) as {
      payload: unknown;
    };
    // `missed`: a machine that was asleep at the scheduled time runs the job once when it wakes.
    const settings: ScheduleOptions = { tz: 'UTC', singletonKey: 'schedule', missed: 'once' };
    const known = await this.#boss.getSchedule(name);
    const isKnown = known?.cron === cron && isDeepStrictEqual([known.data, known.options], [data, settings]);
    if (!isKnown) await this.#boss.schedule(name, cron, data, settings);
  }

  async unschedule(definition: JobDefinition<unknown>): Promise<void> {
    await this.#boss.unschedule(this.#kinds.get(definition.name).name);
  }

  async get(id: string): Promise<JobView | null> {
    if (!isUuid(id)) return null;
    const { rows } = await this.#database.query<JobRow>(this.#statements.get(id));
    const [row] = rows;
    return row ? toJobView(row) : null;
  }

  async list(filter: JobFilter = {}): Promise<readonly JobView[]> {
    const { rows } = await this.#database.query<JobRow>(this.#statements.list(filter));
    return rows.map(toJobView);
  }

  async counts(): Promise<readonly JobCount[]> {
    return (await this.#database.query<JobCount>(this.#statements.counts())).rows;
  }

  async retry(id: string): Promise<boolean> {
    const view = await this.get(id);
    if (view?.state !== 'failed') return false;
    try {
      const { rows } = await this.#database.query<{ name: string }>(this.#statements.retry(id));
      if (rows.length === 0) return false;
    } catch (error) {
      if (hasSqlState(error, '23505')) throw duplicateKeyError(view.name, id);
      throw error;
    }
    this.#wake(view.name, 0);
    await this.#database.notify(this.#channel, view.name);
    return true;
  }

  async cancel(id: string): Promise<boolean> {
    const view = await this.get(id);
    if (!view || (view.state !== 'queued' && view.state !== 'running')) return false;
    const { settled = [] } = (await this.#boss.cancel(view.name, id)) as { settled?: readonly string[] };
    if (settled.length === 0) return false;
    const { name, attempts: attempt } = view;
    const durationMs = this.#workers.get(name)?.running.get(id)?.attempt.durationMs ?? 0;
    this.#onNotify(`cancel:${id}`);
    await this.#database.notify(this.#channel, `cancel:${id}`);
    this.#options.events.emit('job:canceled', {
      name,
      jobId: id,
      attempt,
      durationMs,
      state: 'canceled',
      reason: canceledReason,
    });
    return true;
  }

  async purge(before: Date, limit: number): Promise<number> {
    return (await this.#database.query(this.#statements.purge(before, limit))).affected;
  }

  stop(graceMs: number): Promise<void> {
    this.#stopping ??= this.#stop(graceMs);
    return this.#stopping;
  }

  async #stop(graceMs: number): Promise<void> {
    const { clock, abortGraceMs = defaultAbortGraceMs } = this.#options;
    const workers = [...this.#workers.values()];
    const drained = Promise.all(workers.map((worker) => worker.drain()));
    const cancelAbort = clock.after(graceMs, () => {
      for (const worker of workers) worker.stopAll('drained');
    });
    const cancelGivingUp = clock.after(graceMs + abortGraceMs + lastWriteMs, () =>
      this.#completions.giveUp(),
    );
    await drained;
    cancelAbort();
    cancelGivingUp();
    await this.#maintenance.stop();
    const shutDown = await Promise.allSettled([
      this.#unlisten(),
      this.#bossMaintenance.stop(),
      this.#boss.stop({ graceful: false }),
    ]);
    for (const result of shutDown)
      if (result.status === 'rejected') this.#health.failed('stop', result.reason);
  }

  async #claim(
    name: string,
    count: number,
    ignoredGroups: readonly string[],
  ): Promise<readonly ClaimedRow[]> {
    const jobs = await this.#boss.fetch<{ payload: unknown }>(name, {
      batchSize: count,
      includeMetadata: true,
      ignoreGroups: [...ignoredGroups],
    });
    return jobs.map(({ id, data, groupId, retryCount, retryLimit }) => ({
      name,
      id,
      group: groupId ?? null,
      payload: data.payload,
      retryCount,
      retryLimit,
    }));
  }

  /** The name of a kind means that a job of it was added; `cancel:<id>` that one was canceled. */
  #onNotify(payload: string): void {
    if (!payload.startsWith('cancel:')) return this.#wake(payload, 0);
    const id = payload.slice('cancel:'.length);
    for (const worker of this.#workers.values()) worker.running.get(id)?.attempt.stop('canceled');
  }

  #wake(name: string, afterMs: number): void {
    const worker = this.#workers.get(name);
    // Before recovery a worker's own claim could be reaped as that of a dead process.
    if (!worker || !this.#maintenance.hasRecovered) return;
    this.#runOutside(() => (afterMs > 0 ? worker.wakeAfter(afterMs) : worker.wake()));
  }
}

function asTransaction(value: unknown): Transaction {
  if (typeof value === 'object' && value !== null && 'query' in value && 'script' in value)
    return value as Transaction;
  throw new CoreError('INTERNAL', 'A job can only be added within a transaction of platform/postgres.');
}
