// What goes on beside the jobs: finds due ones that no notification told of, says that ours are alive and how far they
// got, and puts back those of processes that died. One timer, and in an idle process one cheap query a tick.
import type { Clock, Emitter, JobProgress } from '../../../core/index.ts';
import type { Database } from '../../postgres/ports.ts';
import type { JobEventSpecs } from '../job-events.ts';
import { lostReason } from '../job-rules.ts';
import type { JobStatements, TouchRecord } from './job-statements.ts';
import type { Puller, RunningJob } from './puller.ts';
import type { StoreWatch } from './store-watch.ts';

export interface CaretakerTiming {
  /** Between looks for due jobs; also how often progress is stored at most. */
  readonly pollMs: number;
  /** Between signs of life of a running job. */
  readonly beatMs: number;
  /** A running job without a sign of life for so long has lost its process. */
  readonly lostAfterMs: number;
}

export interface CaretakerParts {
  readonly database: Database;
  readonly statements: JobStatements;
  readonly clock: Clock;
  readonly events: Emitter<JobEventSpecs>;
  readonly watch: StoreWatch;
  readonly pullers: ReadonlyMap<string, Puller>;
  readonly timing: CaretakerTiming;
}

/** So soon after the start, or after a kind got its worker, that nobody waits; so late that it is one look for all. */
const firstLookMs = 20;

interface ReapedRow {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly retryCount: number;
  /** From the start of its last try until now. */
  readonly durationMs: number;
}

export class Caretaker {
  readonly #parts: CaretakerParts;
  readonly #storedProgress = new WeakMap<RunningJob, JobProgress>();
  #hasRecovered: boolean;
  #nextBeat: number;
  #reapNotBefore: number;
  #cancelTimer: () => void = () => undefined;
  #working: Promise<void> = Promise.resolve();
  #isWorking = false;
  #mustLookAgain = false;
  #isStopped = false;

  constructor(parts: CaretakerParts) {
    this.#parts = parts;
    // Nobody else can have the embedded store open: whatever runs there now ran in a process that is gone.
    this.#hasRecovered = parts.database.capabilities.isShared;
    this.#nextBeat = parts.clock.monotonic() + parts.timing.beatMs;
    this.#reapNotBefore = this.#nextBeat;
  }

  /** Whether jobs may be claimed: what an earlier process left behind has been put back. */
  get hasRecovered(): boolean {
    return this.#hasRecovered;
  }

  start(): void {
    this.#arm(firstLookMs);
  }

  /** A kind has got a worker: there may be jobs for it. Kinds that come together are looked for together. */
  lookSoon(): void {
    if (this.#isWorking) this.#mustLookAgain = true;
    else this.#arm(firstLookMs);
  }

  /** Signs of life go on until here: call it when nothing runs any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelTimer();
    await this.#working;
  }

  /** Puts back jobs whose process gave no sign of life for `silentMs`, and tells of each. */
  async #reap(silentMs: number): Promise<void> {
    const { database, statements, events } = this.#parts;
    const { rows } = await database.query<ReapedRow>(statements.reap(silentMs));
    for (const { id, name, state, retryCount, durationMs } of rows) {
      const ended = { name, jobId: id, attempt: retryCount + 1, durationMs, reason: lostReason };
      if (state === 'failed') events.emit('job:failed', { ...ended, state: 'failed' });
      else events.emit('job:retried', { ...ended, state: 'retried', retryInMs: 0 });
      this.#parts.pullers.get(name)?.wake();
    }
  }

  #arm(afterMs: number): void {
    this.#cancelTimer();
    if (this.#isStopped) return;
    this.#cancelTimer = this.#parts.clock.after(afterMs, () => {
      this.#working = this.#work();
    });
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    this.#mustLookAgain = false;
    await this.#tick();
    this.#isWorking = false;
    this.#arm(this.#mustLookAgain ? firstLookMs : this.#parts.timing.pollMs);
  }

  async #tick(): Promise<void> {
    const { clock, timing, watch } = this.#parts;
    try {
      if (!this.#hasRecovered) await this.#reap(0);
      this.#hasRecovered = true;
      const isBeat = clock.monotonic() >= this.#nextBeat;
      await this.#touch(isBeat);
      if (isBeat) this.#nextBeat = clock.monotonic() + timing.beatMs;
      if (isBeat && clock.monotonic() >= this.#reapNotBefore) await this.#reap(timing.lostAfterMs);
      await this.#wakeDue();
      watch.worked();
    } catch (error) {
      watch.failed('poll', error);
      // After an interruption every process first gets time to say that its jobs are alive.
      this.#nextBeat = clock.monotonic();
      this.#reapNotBefore = clock.monotonic() + timing.lostAfterMs;
    }
  }

  async #touch(isBeat: boolean): Promise<void> {
    const { database, statements, pullers } = this.#parts;
    const jobs = [...pullers.values()]
      .flatMap((puller) => [...puller.running.values()])
      .map((job) => ({ job, progress: this.#newProgress(job) }))
      .filter(({ progress }) => isBeat || progress);
    if (jobs.length === 0) return;
    const records = jobs.map(({ job, progress }): TouchRecord => ({
      ...job.claim,
      ...(progress ? { progress } : {}),
    }));
    const { rows } = await database.query<{ id: string }>(statements.touch(records));
    const ours = new Set(rows.map(({ id }) => id));
    for (const { job, progress } of jobs) {
      if (progress) this.#storedProgress.set(job, progress);
      // Cancelled, or so long without a sign of life that another process has it. Harmless if it just ended.
      if (!ours.has(job.claim.id)) job.attempt.stop('lost');
    }
  }

  #newProgress(job: RunningJob): JobProgress | undefined {
    const { progress } = job.attempt;
    return progress && progress !== this.#storedProgress.get(job) ? progress : undefined;
  }

  async #wakeDue(): Promise<void> {
    const { database, statements, pullers } = this.#parts;
    const names = [...pullers].filter(([, puller]) => puller.freeSlots > 0).map(([name]) => name);
    if (names.length === 0) return;
    const { rows } = await database.query<{ name: string }>(statements.due(names));
    for (const { name } of rows) pullers.get(name)?.wake();
  }
}
