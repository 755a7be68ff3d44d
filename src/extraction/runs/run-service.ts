// Starts, schedules, stops and reports runs; commands report their own runs here.
import type { Clock, Emitter, IdSource, JobQueue } from '../../core/index.ts';
import { CoreError, parseCron } from '../../core/index.ts';
import type { RunEvents } from '../events.ts';
import type { RunOrigin, RunState } from '../types.ts';
import type { RunRequest } from './run-job.ts';
import { emitFinished, emitProgress, extractionRunJob } from './run-job.ts';
import type { ExtractionRun, InTransaction, RunFigures, RunFilter, RunStore, SourceStore } from './stores.ts';
import type { ExtractionSource } from '../vocabulary.ts';
import { noFigures } from './stores.ts';

export interface RunServiceDeps {
  readonly sources: SourceStore;
  readonly runs: RunStore;
  readonly inTransaction: InTransaction;
  readonly jobs: Pick<JobQueue, 'enqueue' | 'cancel' | 'get'>;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly events: Emitter<RunEvents>;
  readonly redact: (text: string) => string;
}

/** The report of a command about its own run. */
export interface RunReport extends RunFigures {
  readonly id: string;
  readonly source: string;
  readonly vault: string;
  readonly session: string | null;
  readonly state: Exclude<RunState, 'queued'>;
  readonly message: string | null;
}

/** Start a new session in any case, or request failed pages again. */
export type RunOptions = Pick<RunRequest, 'fresh' | 'retryFailed'>;

const defaultRunOptions: RunOptions = { fresh: false, retryFailed: false };

/** A run without a heartbeat for this long counts as interrupted. */
export const reportTimeoutMs = 60_000;

/** A run's row is finished a moment before its job is: `start` waits for the job meanwhile. */
const settlingMs = 5_000;
const settlingStepMs = 50;

export class RunService {
  readonly #deps: RunServiceDeps;

  constructor(deps: RunServiceDeps) {
    this.#deps = deps;
  }

  /** Fails with CONFLICT when the source has a queued or running run. */
  async start(
    sourceId: string,
    options: Partial<RunOptions> = {},
  ): Promise<ExtractionRun & { readonly jobId: string }> {
    const source = await this.#deps.sources.get(sourceId);
    if (!source) throw new CoreError('NOT_FOUND', `There is no extraction source ${sourceId}.`);
    const add = (transaction: unknown) =>
      this.#add(source, 'http', transaction, { ...defaultRunOptions, ...options });
    for (let waitedMs = 0; ; waitedMs += settlingStepMs) {
      const run = await this.#deps.inTransaction(add);
      if (run) return run;
      if (waitedMs >= settlingMs || (await this.#hasOpenRun(source)))
        throw new CoreError(
          'CONFLICT',
          `The source ${source.name} has a queued or running run. Wait for its end, or stop it.`,
        );
      await this.#deps.clock.sleep(settlingStepMs);
    }
  }

  /** Starts due runs, each occurrence once over all servers. Missed occurrences are made up for by one run. */
  async startDue(): Promise<readonly ExtractionRun[]> {
    await this.#settle();
    const now = this.#deps.clock.now();
    const started: ExtractionRun[] = [];
    for (const source of await this.#deps.sources.list()) {
      const next = this.nextRunAt(source);
      if (next === null || next.getTime() > now) continue;
      const run = await this.#deps.inTransaction(async (transaction) => {
        if (!(await this.#deps.sources.claim(source, new Date(now), transaction))) return 'taken';
        return this.#add(source, 'schedule', transaction, defaultRunOptions);
      });
      if (run === 'taken') continue;
      if (run) started.push(run);
      else
        this.#deps.events.emit('extraction:schedule-skipped', {
          source: source.name,
          reason: 'the previous run has not ended',
        });
    }
    return started;
  }

  /** The next occurrence of its schedule; in the past when due. Null without an active schedule. */
  nextRunAt({ schedule, is_active: isActive, lastScheduledAt }: ExtractionSource): Date | null {
    if (schedule === null || !isActive) return null;
    return new Date(parseCron(schedule).next(lastScheduledAt.getTime()));
  }

  async list(filter: RunFilter): Promise<readonly ExtractionRun[]> {
    await this.#interruptStale();
    return this.#deps.runs.list(filter);
  }

  async get(id: string): Promise<ExtractionRun> {
    await this.#interruptStale();
    const run = await this.#deps.runs.get(id);
    if (!run) throw new CoreError('NOT_FOUND', `There is no extraction run ${id}.`);
    return run;
  }

  /** Stops a run; it ends as interrupted within a few seconds and can be resumed. */
  async stop(id: string): Promise<ExtractionRun> {
    const run = await this.get(id);
    if (hasEnded(run))
      throw new CoreError('CONFLICT', `The run ${id} is already ${run.state} and cannot be stopped.`);
    if (run.jobId === null)
      throw new CoreError('CONFLICT', `The run ${id} belongs to a command. Stop it there, with Ctrl-C.`);
    await this.#deps.jobs.cancel(run.jobId);
    await this.#deps.runs.interruptQueued(id, 'Stopped before it started.', this.#now());
    return this.get(id);
  }

  /** Fails with CONFLICT when the id is that of a server's run. */
  async report(report: RunReport): Promise<ExtractionRun> {
    const { runs, events, redact } = this.#deps;
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
      throw new CoreError('CONFLICT', `The run ${report.id} is not a run of a command.`);
    if (!before)
      events.emit('extraction:run-started', { run: run.id, source: run.source, origin: run.origin });
    if (hasEnded(run)) emitFinished(events, run);
    else emitProgress(events, run);
    return run;
  }

  /** Null when the source has a queued or running run. */
  async #add(source: ExtractionSource, origin: RunOrigin, transaction: unknown, options: RunOptions) {
    const { ids, jobs, runs } = this.#deps;
    const id = ids.uuid();
    const payload = { sourceId: source.id, runId: id, ...options };
    const jobId = await jobs.enqueue(extractionRunJob, payload, { key: source.id, transaction });
    if (jobId === null) return null;
    const run = {
      ...noFigures,
      id,
      source: source.name,
      origin,
      vault: source.vault,
      state: 'queued' as const,
      jobId,
      session: null,
      startedAt: null,
      finishedAt: null,
      reportedAt: this.#now(),
      message: null,
    };
    await runs.put(run, transaction);
    return run;
  }

  async #hasOpenRun({ name }: ExtractionSource): Promise<boolean> {
    const open = await this.list({ source: name, states: ['queued', 'running'], limit: 10 });
    return open.some(({ jobId }) => jobId !== null);
  }

  /** Ends runs whose process or job no longer exists. */
  async #settle(): Promise<void> {
    const { runs, jobs } = this.#deps;
    await this.#interruptStale();
    for (const { id, jobId } of await runs.list({ states: ['queued'], limit: 500 })) {
      const job = jobId === null ? null : await jobs.get(jobId);
      if (job?.state === 'queued' || job?.state === 'running') continue;
      await runs.interruptQueued(id, 'Its job was stopped before it started.', this.#now());
    }
  }

  async #interruptStale(): Promise<void> {
    const before = new Date(this.#deps.clock.now() - reportTimeoutMs);
    await this.#deps.runs.interruptStale(before, 'It stopped reporting.');
  }

  #now(): Date {
    return new Date(this.#deps.clock.now());
  }
}

const hasEnded = ({ state }: { readonly state: RunState }): boolean =>
  state !== 'queued' && state !== 'running';
