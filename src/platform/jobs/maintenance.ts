// Maintenance of the job store by this process: polls for due jobs, sends heartbeats and progress, reaps jobs of dead
// processes. One timer; in an idle process one cheap query per tick.
import type { Clock, Emitter, JobProgress } from '../../core/index.ts';
import type { Database } from '../postgres/ports.ts';
import type { JobEventSpecs, StoreHealth } from './events.ts';
import type { HeartbeatRecord, JobStatements, ReapedRow } from './statements.ts';
import { lostReason } from './statements.ts';
import type { JobWorker, RunningJob } from './worker.ts';

export interface MaintenanceTiming {
  /** Interval between polls for due jobs; also the shortest interval between writes of progress. */
  readonly pollMs: number;
  readonly heartbeatMs: number;
  /** A running job without a heartbeat for so long has lost its process. */
  readonly lostAfterMs: number;
}

export interface JobMaintenanceDeps {
  readonly database: Database;
  readonly statements: JobStatements;
  readonly clock: Clock;
  readonly events: Emitter<JobEventSpecs>;
  readonly health: StoreHealth;
  readonly workers: ReadonlyMap<string, JobWorker>;
  readonly timing: MaintenanceTiming;
}

/** Late enough that one poll serves all kinds that are defined together. */
const firstPollMs = 20;

export class JobMaintenance {
  readonly #deps: JobMaintenanceDeps;
  readonly #storedProgress = new WeakMap<RunningJob, JobProgress>();
  #hasRecovered: boolean;
  #nextHeartbeat: number;
  #reapNotBefore: number;
  #cancelTimer: () => void = () => undefined;
  #polling: Promise<void> = Promise.resolve();
  #isPolling = false;
  #mustPollAgain = false;
  #isStopped = false;

  constructor(deps: JobMaintenanceDeps) {
    this.#deps = deps;
    // No other process can have the embedded store open: jobs marked as running there belong to a dead one.
    this.#hasRecovered = deps.database.capabilities.isShared;
    this.#nextHeartbeat = deps.clock.monotonic() + deps.timing.heartbeatMs;
    this.#reapNotBefore = this.#nextHeartbeat;
  }

  /** Whether jobs may be claimed: those that an earlier process left running are queued again. */
  get hasRecovered(): boolean {
    return this.#hasRecovered;
  }

  start(): void {
    this.#arm(firstPollMs);
  }

  /** Polls at once for a kind that has just got its worker; kinds registered together share the poll. */
  pollSoon(): void {
    if (this.#isPolling) this.#mustPollAgain = true;
    else this.#arm(firstPollMs);
  }

  /** Heartbeats continue until here: call it when no job runs any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelTimer();
    await this.#polling;
  }

  #arm(afterMs: number): void {
    this.#cancelTimer();
    if (this.#isStopped) return;
    this.#cancelTimer = this.#deps.clock.after(afterMs, () => {
      this.#polling = this.#poll();
    });
  }

  async #poll(): Promise<void> {
    this.#isPolling = true;
    this.#mustPollAgain = false;
    await this.#tick();
    this.#isPolling = false;
    this.#arm(this.#mustPollAgain ? firstPollMs : this.#deps.timing.pollMs);
  }

  async #tick(): Promise<void> {
    const { clock, timing, health } = this.#deps;
    try {
      if (!this.#hasRecovered) await this.#reap(0);
      this.#hasRecovered = true;
      const isHeartbeat = clock.monotonic() >= this.#nextHeartbeat;
      await this.#writeHeartbeats(isHeartbeat);
      if (isHeartbeat) this.#nextHeartbeat = clock.monotonic() + timing.heartbeatMs;
      if (isHeartbeat && clock.monotonic() >= this.#reapNotBefore) await this.#reap(timing.lostAfterMs);
      await this.#wakeDue();
      health.succeeded();
    } catch (error) {
      health.failed('poll', error);
      // After an outage every process first gets the time to send a heartbeat for its jobs.
      this.#nextHeartbeat = clock.monotonic();
      this.#reapNotBefore = clock.monotonic() + timing.lostAfterMs;
    }
  }

  async #reap(silentMs: number): Promise<void> {
    const { database, statements, events, workers } = this.#deps;
    const { rows } = await database.query<ReapedRow>(statements.reap(silentMs));
    for (const { id, name, state, retryCount, durationMs } of rows) {
      const ended = { name, jobId: id, attempt: retryCount + 1, durationMs, reason: lostReason };
      if (state === 'failed') events.emit('job:failed', { ...ended, state: 'failed' });
      else events.emit('job:retried', { ...ended, state: 'retried', retryInMs: 0 });
      workers.get(name)?.wake();
    }
  }

  async #writeHeartbeats(isHeartbeat: boolean): Promise<void> {
    const { database, statements, workers } = this.#deps;
    const jobs = [...workers.values()]
      .flatMap((worker) => [...worker.running.values()])
      .map((job) => ({ job, progress: this.#newProgress(job) }))
      .filter(({ progress }) => isHeartbeat || progress);
    if (jobs.length === 0) return;
    const records = jobs.map(({ job, progress }): HeartbeatRecord => ({ ...job.claim, progress }));
    const { rows } = await database.query<{ id: string }>(statements.heartbeat(records));
    const owned = new Set(rows.map(({ id }) => id));
    for (const { job, progress } of jobs) {
      if (progress) this.#storedProgress.set(job, progress);
      // Canceled, or reaped by another process. Harmless if it has just ended.
      if (!owned.has(job.claim.id)) job.attempt.stop('lost');
    }
  }

  #newProgress(job: RunningJob): JobProgress | undefined {
    const { progress } = job.attempt;
    return progress && progress !== this.#storedProgress.get(job) ? progress : undefined;
  }

  async #wakeDue(): Promise<void> {
    const { database, statements, workers } = this.#deps;
    const names = [...workers].filter(([, worker]) => worker.freeSlots > 0).map(([name]) => name);
    if (names.length === 0) return;
    const { rows } = await database.query<{ name: string }>(statements.due(names));
    for (const { name } of rows) workers.get(name)?.wake();
  }
}
