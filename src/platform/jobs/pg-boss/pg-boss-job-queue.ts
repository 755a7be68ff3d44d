// Jobs on pg-boss, in our own Postgres: embedded or server. pg-boss keeps the schema, adds, claims and schedules; how
// tries end, signs of life and progress are written by us, in batches and to the millisecond.
import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { PgBoss, ScheduleOptions } from 'pg-boss';
import type {
  Clock,
  Emitter,
  EnqueueOptions,
  IdSource,
  JobDefinition,
  JobFilter,
  JobHandler,
  JobOutcome,
  JobQueue,
  JobState,
  JobView,
  Random,
} from '../../../core/index.ts';
import { CoreError } from '../../../core/index.ts';
import { jobsSchemaOf } from '../../postgres/missing-rights.ts';
import type { Database, Transaction } from '../../postgres/ports.ts';
import { hasSqlState } from '../../postgres/sql-error.ts';
import { parseCron } from '../../../core/index.ts';
import type { JobEventSpecs } from '../job-events.ts';
import { cancelledReason, defaultAbortGraceMs, duplicateKey, workedTwice } from '../job-rules.ts';
import { bossDatabase } from './boss-database.ts';
import type { CaretakerTiming } from './caretaker.ts';
import { Caretaker } from './caretaker.ts';
import { JobKinds } from './job-kinds.ts';
import type { JobRow } from './job-row.ts';
import { viewOf } from './job-row.ts';
import { JobStatements } from './job-statements.ts';
import { Puller, type ClaimedRow } from './puller.ts';
import { Settler } from './settler.ts';
import { startBoss, Upkeep, type UpkeepOptions } from './start-boss.ts';
import { StoreWatch } from './store-watch.ts';

export interface PgBossJobQueueOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: IdSource;
  readonly events: Emitter<JobEventSpecs>;
  /** Takes secrets out of reasons and progress before they are stored. */
  readonly redact: (text: string) => string;
  /** Whether this process adds the scheduled jobs. Any number may: each occurrence is added once. */
  readonly schedules: boolean;
  /** Every try runs inside it: for traces. */
  readonly around?: (name: string, id: string, work: () => Promise<JobOutcome>) => Promise<JobOutcome>;
  readonly abortGraceMs?: number;
  readonly timing?: Partial<
    CaretakerTiming & Pick<UpkeepOptions, 'cronMs'> & { readonly upkeepAfterMs: number }
  >;
}

const defaultTiming = {
  pollMs: 1_000,
  beatMs: 10_000,
  lostAfterMs: 30_000,
  cronMs: 30_000,
  upkeepAfterMs: 3_000,
};

/** The end of the time that a stopping process gives a store that is away. */
const lastWriteMs = 2_000;

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Makes or migrates pg-boss's schema (`<schema>_jobs`) if needed and starts. Fails as the database does. */
export async function createPgBossJobQueue(options: PgBossJobQueueOptions): Promise<JobQueue> {
  const { database, clock, events } = options;
  const watch = new StoreWatch(clock, events);
  const boss = await startBoss(database, jobsSchemaOf(database.schema), watch);
  const queue = new PgBossJobQueue(options, boss, watch);
  try {
    await queue.start();
  } catch (error) {
    await boss.stop({ graceful: false });
    throw error;
  }
  return queue;
}

class PgBossJobQueue implements JobQueue {
  readonly #options: PgBossJobQueueOptions;
  readonly #database: Database;
  readonly #boss: PgBoss;
  readonly #statements: JobStatements;
  readonly #kinds: JobKinds;
  readonly #watch: StoreWatch;
  readonly #settler: Settler;
  readonly #caretaker: Caretaker;
  readonly #upkeep: Upkeep;
  readonly #pullers = new Map<string, Puller>();
  readonly #channel: string;
  /** Jobs must not inherit the request or transaction that happened to wake their worker. */
  readonly #outside = AsyncLocalStorage.snapshot();
  #unlisten: () => Promise<void> = () => Promise.resolve();
  #stopping: Promise<void> | undefined;

  constructor(options: PgBossJobQueueOptions, boss: PgBoss, watch: StoreWatch) {
    const { database, clock, events, schedules } = options;
    const { upkeepAfterMs, cronMs, ...timing } = { ...defaultTiming, ...options.timing };
    const schema = jobsSchemaOf(database.schema);
    const statements = new JobStatements(schema);
    this.#options = options;
    this.#database = database;
    this.#boss = boss;
    this.#watch = watch;
    this.#statements = statements;
    this.#kinds = new JobKinds(boss);
    this.#settler = new Settler(database, statements, clock, watch);
    this.#upkeep = new Upkeep({ database, schema, clock, watch, schedules, cronMs, afterMs: upkeepAfterMs });
    this.#channel = `pgboss_${createHash('sha224').update(schema).digest('hex').slice(0, 24)}`;
    const pullers = this.#pullers;
    this.#caretaker = new Caretaker({ database, statements, clock, events, watch, pullers, timing });
  }

  async start(): Promise<void> {
    this.#unlisten = await this.#database.listen(this.#channel, (payload) => this.#hear(payload));
    this.#caretaker.start();
    this.#upkeep.start();
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
    const { key, startAfterMs = 0, priority = 0 } = options;
    const id = this.#options.ids.uuid();
    const added = await this.#boss.send(
      name,
      { payload },
      {
        id,
        priority,
        // The queue's policy lets each key in once; a job without one gets a key that nobody else has.
        singletonKey: key === undefined ? `id ${id}` : `key ${key}`,
        ...(startAfterMs > 0 ? { startAfter: startAfterMs / 1_000 } : {}),
        ...(options.transaction === undefined
          ? {}
          : { db: bossDatabase(asTransaction(options.transaction)) }),
      },
    );
    if (added !== null && options.transaction === undefined) this.#wake(name, startAfterMs);
    return added;
  }

  async work<Payload>(definition: JobDefinition<Payload>, handler: JobHandler<Payload>): Promise<void> {
    const known = this.#kinds.get(definition.name);
    if (this.#pullers.has(known.name)) throw workedTwice(known.name);
    const { clock, events, redact, random, abortGraceMs = defaultAbortGraceMs } = this.#options;
    const { around = (_name, _id, run) => run() } = this.#options;
    const surrounded: JobHandler<unknown> = (payload, context) =>
      around(known.name, context.id, () => handler(payload as Payload, context));
    const puller = new Puller(known, surrounded, {
      claim: (name, count) => this.#claim(name, count),
      settler: this.#settler,
      watch: this.#watch,
      random,
      attempts: { clock, events, redact, abortGraceMs },
    });
    this.#pullers.set(known.name, puller);
    this.#caretaker.lookSoon();
  }

  async schedule<Payload>(definition: JobDefinition<Payload>, cron: string, payload: Payload): Promise<void> {
    const { name } = this.#kinds.get(definition.name);
    parseCron(cron);
    const data = JSON.parse(JSON.stringify({ payload: payload ?? null })) as { payload: unknown };
    // `missed`: a machine that sleeps at three in the morning catches up once when it wakes.
    const settings: ScheduleOptions = { tz: 'UTC', singletonKey: 'schedule', missed: 'once' };
    const known = await this.#boss.getSchedule(name);
    const isKnown = known?.cron === cron && isDeepStrictEqual([known.data, known.options], [data, settings]);
    if (!isKnown) await this.#boss.schedule(name, cron, data, settings);
  }

  async unschedule(definition: JobDefinition<unknown>): Promise<void> {
    await this.#boss.unschedule(this.#kinds.get(definition.name).name);
  }

  async get(id: string): Promise<JobView | null> {
    if (!uuid.test(id)) return null;
    const { rows } = await this.#database.query<JobRow>(this.#statements.get(id));
    const [row] = rows;
    return row ? viewOf(row) : null;
  }

  async list(filter: JobFilter = {}): Promise<readonly JobView[]> {
    const { rows } = await this.#database.query<JobRow>(this.#statements.list(filter));
    return rows.map(viewOf);
  }

  async counts(): Promise<
    readonly { readonly name: string; readonly state: JobState; readonly count: number }[]
  > {
    type Row = { readonly name: string; readonly state: JobState; readonly count: number };
    return (await this.#database.query<Row>(this.#statements.counts())).rows;
  }

  async retry(id: string): Promise<boolean> {
    const view = await this.get(id);
    if (view?.state !== 'failed') return false;
    try {
      const { rows } = await this.#database.query<{ name: string }>(this.#statements.retry(id));
      if (rows.length === 0) return false;
    } catch (error) {
      if (hasSqlState(error, '23505')) throw duplicateKey(view.name, id);
      throw error;
    }
    this.#wake(view.name, 0);
    await this.#database.notify(this.#channel, view.name);
    return true;
  }

  async cancel(id: string): Promise<boolean> {
    const view = await this.get(id);
    if (!view || (view.state !== 'pending' && view.state !== 'running')) return false;
    const { settled = [] } = (await this.#boss.cancel(view.name, id)) as { settled?: readonly string[] };
    if (settled.length === 0) return false;
    const durationMs = this.#pullers.get(view.name)?.running.get(id)?.attempt.durationMs ?? 0;
    this.#hear(`cancel:${id}`);
    await this.#database.notify(this.#channel, `cancel:${id}`);
    const { name, attempts: attempt } = view;
    const ended = {
      name,
      jobId: id,
      attempt,
      durationMs,
      state: 'skipped' as const,
      reason: cancelledReason,
    };
    this.#options.events.emit('job:skipped', ended);
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
    const pullers = [...this.#pullers.values()];
    const drained = Promise.all(pullers.map((puller) => puller.drain()));
    const cancelAbort = clock.after(graceMs, () => {
      for (const puller of pullers) puller.stopAll('drained');
    });
    const cancelGivingUp = clock.after(graceMs + abortGraceMs + lastWriteMs, () => this.#settler.giveUp());
    await drained;
    cancelAbort();
    cancelGivingUp();
    await this.#caretaker.stop();
    const shutDown = await Promise.allSettled([
      this.#unlisten(),
      this.#upkeep.stop(),
      this.#boss.stop({ graceful: false }),
    ]);
    for (const result of shutDown)
      if (result.status === 'rejected') this.#watch.failed('stop', result.reason);
  }

  async #claim(name: string, count: number): Promise<readonly ClaimedRow[]> {
    const jobs = await this.#boss.fetch<{ payload: unknown }>(name, {
      batchSize: count,
      includeMetadata: true,
    });
    return jobs.map(({ id, data, retryCount, retryLimit }) => ({
      name,
      id,
      payload: data.payload,
      retryCount,
      retryLimit,
    }));
  }

  /** A kind's name means that a job of it was added; `cancel:` and an id that one was cancelled. */
  #hear(payload: string): void {
    if (!payload.startsWith('cancel:')) return this.#wake(payload, 0);
    const id = payload.slice('cancel:'.length);
    for (const puller of this.#pullers.values()) puller.running.get(id)?.attempt.stop('cancelled');
  }

  #wake(name: string, afterMs: number): void {
    const puller = this.#pullers.get(name);
    // Before it has looked for abandoned jobs a worker could take one of its own for one of them.
    if (!puller || !this.#caretaker.hasRecovered) return;
    this.#outside(() => (afterMs > 0 ? puller.wakeAfter(afterMs) : puller.wake()));
  }
}

function asTransaction(value: unknown): Transaction {
  if (typeof value === 'object' && value !== null && 'query' in value && 'script' in value)
    return value as Transaction;
  throw new CoreError('INTERNAL', 'A job can only be added with a transaction of the Database port.');
}
