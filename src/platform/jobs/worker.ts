// Runs jobs in this process: a worker per kind claims jobs for its free slots; the completion writer stores how they ended.
import type { Clock, JobDefinition, JobHandler } from '../../core/index.ts';
import { messageOf } from '../../core/index.ts';
import type { Database } from '../postgres/ports.ts';
import { SqlError } from '../postgres/sql.ts';
import type { AttemptDeps, StopCause } from './attempt.ts';
import { JobAttempt } from './attempt.ts';
import type { StoreHealth } from './events.ts';
import type { Claim, JobStatements, SettleRecord } from './statements.ts';
import { crashAllowance } from './statements.ts';

export interface ClaimedRow extends Claim {
  readonly group: string | null;
  readonly payload: unknown;
  readonly retryLimit: number;
}

export interface JobWorkerDeps {
  readonly claim: (
    name: string,
    count: number,
    ignoredGroups: readonly string[],
  ) => Promise<readonly ClaimedRow[]>;
  readonly completions: CompletionWriter;
  readonly health: StoreHealth;
  readonly attempts: AttemptDeps;
}

export interface RunningJob {
  readonly claim: Claim;
  readonly group: string | null;
  readonly attempt: JobAttempt;
}

export class JobWorker {
  readonly running = new Map<string, RunningJob>();
  readonly #definition: JobDefinition<unknown>;
  readonly #handler: JobHandler<unknown>;
  readonly #deps: JobWorkerDeps;
  readonly #ending = new Set<Promise<void>>();
  #mayHaveMore = false;
  /** Jobs of full groups may be queued: when one ends, there may be something to claim. */
  #hasFullGroups = false;
  #claiming: Promise<void> | undefined;
  #isDraining = false;

  constructor(definition: JobDefinition<unknown>, handler: JobHandler<unknown>, deps: JobWorkerDeps) {
    this.#definition = definition;
    this.#handler = handler;
    this.#deps = deps;
  }

  get freeSlots(): number {
    return this.#isDraining ? 0 : this.#definition.concurrency - this.running.size;
  }

  /** There may be jobs to claim. Never fails: the next poll finds what cannot be claimed now. */
  wake(): void {
    this.#mayHaveMore = true;
    this.#claim();
  }

  /** Wakes after `ms`: for a job that this process has deferred. */
  wakeAfter(ms: number): void {
    this.#deps.attempts.clock.after(ms, () => this.wake());
  }

  stopAll(cause: StopCause): void {
    for (const { attempt } of this.running.values()) attempt.stop(cause);
  }

  /** Claims no more jobs; resolves when all running ones have ended and are stored. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    await this.#claiming;
    await Promise.all(this.#ending);
  }

  #claim(): void {
    this.#claiming ??= this.#claimWhileFree().finally(() => {
      this.#claiming = undefined;
    });
  }

  async #claimWhileFree(): Promise<void> {
    while (this.#mayHaveMore && this.freeSlots > 0) {
      this.#mayHaveMore = false;
      try {
        const { rows, mayHaveMore } = await this.#claimRows(this.freeSlots);
        this.#deps.health.succeeded();
        if (mayHaveMore) this.#mayHaveMore = true;
        for (const row of rows) this.#start(row);
      } catch (error) {
        this.#deps.health.failed('claim', error);
      }
    }
  }

  /** With groups a batch is at most as large as the share of one group: it may be all of the same. */
  async #claimRows(
    wanted: number,
  ): Promise<{ readonly rows: readonly ClaimedRow[]; readonly mayHaveMore: boolean }> {
    const { name, groupConcurrency } = this.#definition;
    if (groupConcurrency === undefined) {
      const rows = await this.#deps.claim(name, wanted, []);
      return { rows, mayHaveMore: rows.length === wanted };
    }
    const running = this.#runningByGroup();
    const ofOthers = await this.#deps.claim(name, Math.min(wanted, groupConcurrency), [...running.keys()]);
    if (ofOthers.length > 0 || running.size === 0)
      return { rows: ofOthers, mayHaveMore: ofOthers.length > 0 };
    const full = [...running.keys()].filter((group) => (running.get(group) ?? 0) >= groupConcurrency);
    this.#hasFullGroups = full.length > 0;
    if (full.length === running.size) return { rows: [], mayHaveMore: false };
    for (const group of full) running.delete(group);
    const share = groupConcurrency - Math.max(...running.values());
    const rows = await this.#deps.claim(name, Math.min(wanted, share), full);
    return { rows, mayHaveMore: rows.length > 0 };
  }

  #runningByGroup(): Map<string, number> {
    const running = new Map<string, number>();
    for (const { group } of this.running.values())
      if (group !== null) running.set(group, (running.get(group) ?? 0) + 1);
    return running;
  }

  #start(row: ClaimedRow): void {
    const ended = this.#isDraining ? this.#release(row) : this.#run(row);
    const ending = ended.then(() => this.#claimMore()).finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  #claimMore(): void {
    if (this.#hasFullGroups) this.#mayHaveMore = true;
    if (this.#mayHaveMore) this.#claim();
  }

  async #release({ name, id, retryCount }: ClaimedRow): Promise<void> {
    await this.#deps.completions.write({ name, id, retryCount, kind: 'released', delayMs: 0, output: {} });
  }

  async #run({ name, id, group, retryCount, retryLimit, payload }: ClaimedRow): Promise<void> {
    const claim: Claim = { name, id, retryCount };
    const isLast = retryCount >= retryLimit - crashAllowance;
    const job = { id, payload, attempt: retryCount + 1, isLast };
    const attempt = new JobAttempt(this.#definition, this.#handler, job, this.#deps.attempts);
    // This process was suspended for so long that its job was reaped, and has now claimed it again.
    this.running.get(id)?.attempt.stop('lost');
    this.running.set(id, { claim, group, attempt });
    const settlement = await attempt.ended;
    const written = settlement && (await this.#deps.completions.write({ ...claim, ...settlement }));
    if (this.running.get(id)?.attempt === attempt) this.running.delete(id);
    if (!written) return;
    attempt.emitEnd(written);
    if (written.kind === 'retried') this.wakeAfter(written.delayMs);
  }
}

interface PendingWrite {
  readonly record: SettleRecord;
  readonly resolve: (written: SettleRecord | null) => void;
}

const writeRetryMs = 500;

/**
 * SQLSTATE classes that are not about the record: read-only store, serialization, rights, full disk, locks, operator
 * intervention, system errors. They affect every record and may pass.
 */
const unrelatedStates = /^(25|40|42|53|55|57|58)/;

const isAboutTheRecord = (error: unknown): boolean =>
  error instanceof SqlError && !unrelatedStates.test(error.sqlState);

/** Stores how attempts ended: many in one statement, repeated while the store is unavailable. */
export class CompletionWriter {
  readonly #database: Database;
  readonly #statements: JobStatements;
  readonly #clock: Clock;
  readonly #health: StoreHealth;
  #pending: PendingWrite[] = [];
  #isFlushing = false;
  #hasGivenUp = false;

  constructor(database: Database, statements: JobStatements, clock: Clock, health: StoreHealth) {
    this.#database = database;
    this.#statements = statements;
    this.#clock = clock;
    this.#health = health;
  }

  /** The stored record; `null` when another process has the job, or the store was unavailable until the end. */
  write(record: SettleRecord): Promise<SettleRecord | null> {
    const { promise, resolve } = Promise.withResolvers<SettleRecord | null>();
    this.#pending.push({ record, resolve });
    void this.#flush();
    return promise;
  }

  /** The process ends: another one will find what cannot be written now, and run it again. */
  giveUp(): void {
    this.#hasGivenUp = true;
    if (this.#health.isDown) this.#abandon();
  }

  async #flush(): Promise<void> {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    // Attempts that end in the same tick go into the same statement.
    await Promise.resolve();
    while (this.#pending.length > 0) {
      const batch = this.#pending;
      this.#pending = [];
      await this.#writeOrWait(batch);
    }
    this.#isFlushing = false;
  }

  async #writeOrWait(batch: readonly PendingWrite[]): Promise<void> {
    try {
      await this.#write(batch);
      this.#health.succeeded();
    } catch (error) {
      this.#health.failed('settle', error);
      this.#pending.unshift(...batch);
      if (this.#hasGivenUp) this.#abandon();
      else await this.#clock.sleep(writeRetryMs);
    }
  }

  async #write(batch: readonly PendingWrite[]): Promise<void> {
    try {
      await this.#writeAll(batch);
    } catch (error) {
      if (!isAboutTheRecord(error)) throw error;
      // One record that Postgres rejects must not keep the others from being written.
      const [only, ...more] = batch;
      if (only && more.length === 0) await this.#writeUnstorable(only, error);
      else for (const one of batch) await this.#write([one]);
    }
  }

  async #writeUnstorable({ record, resolve }: PendingWrite, error: unknown): Promise<void> {
    const output = { reason: `Its result cannot be stored: ${messageOf(error)}.` };
    try {
      await this.#writeAll([{ record: { ...record, kind: 'failed', delayMs: 0, output }, resolve }]);
    } catch (again) {
      if (!isAboutTheRecord(again)) throw again;
      // Left without a heartbeat, so that maintenance reaps it.
      resolve(null);
    }
  }

  async #writeAll(batch: readonly PendingWrite[]): Promise<void> {
    const records = batch.map(({ record }) => record);
    const { rows } = await this.#database.query<{ id: string }>(this.#statements.settle(records));
    const written = new Set(rows.map(({ id }) => id));
    for (const { record, resolve } of batch) resolve(written.has(record.id) ? record : null);
  }

  #abandon(): void {
    for (const { resolve } of this.#pending) resolve(null);
    this.#pending = [];
  }
}
