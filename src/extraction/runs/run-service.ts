// Starting, watching and stopping runs; runs that commands do themselves are told of here.
import type { Clock, Emitter, IdSource, JobQueue } from '../../core/index.ts';
import { CoreError } from '../../core/index.ts';
import type { RunEvents } from './events.ts';
import type { RunRequest } from './run-job.ts';
import { extractionRunJob } from './run-job.ts';
import type {
  ExtractionRun,
  InTransaction,
  RunFigures,
  RunFilter,
  RunOrigin,
  RunState,
  RunStore,
  SourceStore,
} from './stores.ts';
import type { ExtractionSource } from './source-schema.ts';
import { hasEnded, newRun, tellFinished, tellProgress } from './run-record.ts';

export interface RunServiceDeps {
  readonly sources: SourceStore;
  readonly runs: RunStore;
  readonly inTransaction: InTransaction;
  readonly jobs: Pick<JobQueue, 'enqueue' | 'cancel' | 'get'>;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly events: Emitter<RunEvents>;
  readonly redact: (text: string) => string;
  /** The next minute after `afterMs` that a cron expression names. Fails with INPUT_INVALID. */
  readonly nextTime: (cron: string, afterMs: number) => number;
}

/** What a command tells of its own run. */
export interface RunReport extends RunFigures {
  readonly id: string;
  readonly source: string;
  readonly vault: string;
  readonly session: string | null;
  readonly state: Exclude<RunState, 'queued'>;
  readonly message: string | null;
}

/** What a run is asked for beyond the ordinary: to begin anew in any case, or to ask again for what failed. */
export type RunOptions = Pick<RunRequest, 'fresh' | 'retryFailed'>;

const defaultRunOptions: RunOptions = { fresh: false, retryFailed: false };

/** Without a sign of life for so long, a run counts as interrupted. */
export const reportTimeoutMs = 60_000;

/** A run is told to have ended a moment before its job is: whoever starts the next one in between need not know. */
const settlingMs = 5_000;
const settlingStepMs = 50;

export class RunService {
  readonly #parts: RunServiceDeps;

  constructor(parts: RunServiceDeps) {
    this.#parts = parts;
  }

  /** Fails with CONFLICT when the source has a run that waits or goes on. */
  async start(
    sourceId: string,
    wish: Partial<RunOptions> = {},
  ): Promise<ExtractionRun & { readonly jobId: string }> {
    const source = await this.#parts.sources.get(sourceId);
    if (!source) throw new CoreError('NOT_FOUND', `There is no extraction source ${sourceId}.`);
    const add = (transaction: unknown) =>
      this.#add(source, 'http', transaction, { ...defaultRunOptions, ...wish });
    for (let waitedMs = 0; ; waitedMs += settlingStepMs) {
      const run = await this.#parts.inTransaction(add);
      if (run) return run;
      if (waitedMs >= settlingMs || (await this.#hasOpenRun(source)))
        throw new CoreError(
          'CONFLICT',
          `The source ${source.name} has a run that waits or goes on. Wait for its end, or stop it.`,
        );
      await this.#parts.clock.sleep(settlingStepMs);
    }
  }

  /** Starts what is due, each occurrence once, whoever else looks at the same time. What was missed is made up for once. */
  async startDue(): Promise<readonly ExtractionRun[]> {
    await this.#settle();
    const now = this.#parts.clock.now();
    const started: ExtractionRun[] = [];
    for (const source of await this.#parts.sources.list()) {
      const next = this.nextRunAt(source);
      if (next === null || next.getTime() > now) continue;
      const run = await this.#parts.inTransaction(async (transaction) => {
        if (!(await this.#parts.sources.claim(source, new Date(now), transaction))) return 'taken';
        return this.#add(source, 'schedule', transaction, defaultRunOptions);
      });
      if (run === 'taken') continue;
      if (run) started.push(run);
      else
        this.#parts.events.emit('extraction:schedule-skipped', {
          source: source.name,
          reason: 'the run before has not ended',
        });
    }
    return started;
  }

  /** When its schedule comes next; in the past when it is due. Null when it has none that counts. */
  nextRunAt({ schedule, isActive, lastScheduledAt }: ExtractionSource): Date | null {
    if (schedule === null || !isActive) return null;
    return new Date(this.#parts.nextTime(schedule, lastScheduledAt.getTime()));
  }

  async list(filter: RunFilter): Promise<readonly ExtractionRun[]> {
    await this.#interruptSilent();
    return this.#parts.runs.list(filter);
  }

  async get(id: string): Promise<ExtractionRun> {
    await this.#interruptSilent();
    const run = await this.#parts.runs.get(id);
    if (!run) throw new CoreError('NOT_FOUND', `There is no extraction run ${id}.`);
    return run;
  }

  /** Asks it to stop; it ends as interrupted within a few seconds, fit to be looked at or begun again. */
  async stop(id: string): Promise<ExtractionRun> {
    const run = await this.get(id);
    if (hasEnded(run))
      throw new CoreError(
        'CONFLICT',
        `The run ${id} is ${run.state} already; it cannot be stopped any more.`,
      );
    if (run.jobId === null)
      throw new CoreError('CONFLICT', `The run ${id} belongs to a command. Stop it there, with Ctrl-C.`);
    await this.#parts.jobs.cancel(run.jobId);
    await this.#parts.runs.interruptQueued(id, 'Stopped before it began.', this.#now());
    return this.get(id);
  }

  /** Fails with CONFLICT when the id is that of a run of ours. */
  async report(report: RunReport): Promise<ExtractionRun> {
    const { runs, events, redact } = this.#parts;
    const now = this.#now();
    const before = await runs.get(report.id);
    const run: ExtractionRun = {
      ...report,
      message: report.message === null ? null : redact(report.message),
      origin: 'cli',
      jobId: null,
      startedAt: before?.startedAt ?? now,
      finishedAt: hasEnded(report) ? now : null,
      reportedAt: now,
    };
    if (!(await runs.put(run)))
      throw new CoreError('CONFLICT', `The run ${report.id} is not one of a command.`);
    if (!before)
      events.emit('extraction:run-started', { run: run.id, source: run.source, origin: run.origin });
    if (hasEnded(run)) tellFinished(events, run);
    else tellProgress(events, run);
    return run;
  }

  /** Null when a run of the source waits or goes on. */
  async #add(source: ExtractionSource, origin: RunOrigin, transaction: unknown, wish: RunOptions) {
    const { ids, jobs, runs } = this.#parts;
    const id = ids.uuid();
    const payload = { sourceId: source.id, runId: id, ...wish };
    const jobId = await jobs.enqueue(extractionRunJob, payload, { key: source.id, transaction });
    if (jobId === null) return null;
    const run = { ...newRun(id, source, origin, this.#now()), jobId };
    await runs.put(run, transaction);
    return run;
  }

  async #hasOpenRun({ name }: ExtractionSource): Promise<boolean> {
    const open = await this.list({ source: name, states: ['queued', 'running'], limit: 10 });
    return open.some(({ jobId }) => jobId !== null);
  }

  /** Runs whose process or job is gone: nobody else would ever end them. */
  async #settle(): Promise<void> {
    const { runs, jobs } = this.#parts;
    await this.#interruptSilent();
    for (const { id, jobId } of await runs.list({ states: ['queued'], limit: 500 })) {
      const job = jobId === null ? null : await jobs.get(jobId);
      if (job?.state === 'queued' || job?.state === 'running') continue;
      await runs.interruptQueued(id, 'Its job was stopped before it began.', this.#now());
    }
  }

  async #interruptSilent(): Promise<void> {
    const before = new Date(this.#parts.clock.now() - reportTimeoutMs);
    await this.#parts.runs.interruptSilent(before, 'Nothing was heard of it any more.');
  }

  #now(): Date {
    return new Date(this.#parts.clock.now());
  }
}

// A run as it is kept: how it begins, what it counts, and what is told of it.
