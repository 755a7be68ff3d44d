// Background jobs: typed definitions, a queue to add jobs to, handlers that run them. Implemented by platform/jobs.

/**
 * `failed` means that every attempt failed: the job stays until it is retried or retention deletes it. A job that failed
 * and will be attempted again is `queued`.
 */
export type JobState = 'queued' | 'running' | 'completed' | 'failed' | 'canceled' | 'skipped';

export interface JobDefinition<Payload> {
  /** `domain.verb`, for example `ledger.repair`. */
  readonly name: string;
  readonly description: string;
  /** Validates the stored payload before the handler sees it; throws if it is malformed. */
  readonly parse: (payload: unknown) => Payload;
  /**
   * Attempts after the first, for handlers that fail. An attempt that ended because its process died is repeated up to
   * three times more than this: a crash is rarely the job's fault, but a job that kills every process must end as
   * failed. A HeadworksError that is not retryable ends the job at once.
   */
  readonly retries: number;
  readonly retryDelayMs: number;
  /** Doubles the delay with each retry, up to `retryDelayMaxMs`, plus up to a quarter of jitter. */
  readonly retryBackoff: boolean;
  readonly retryDelayMaxMs?: number;
  /** Jobs of this kind that run at the same time in one process. */
  readonly concurrency: number;
  /** An attempt that takes longer is aborted and counts as failed. */
  readonly timeoutMs: number;
}

export interface JobProgress {
  readonly done: number;
  readonly total?: number;
  readonly message?: string;
}

export interface JobContext {
  readonly id: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Aborts when the attempt times out, the job is canceled, or the grace period of a stopping process is over. */
  readonly signal: AbortSignal;
  /** Cheap to call often: events and writes are throttled. */
  readonly progress: (progress: JobProgress) => void;
}

/** `undefined` means completed; `skipped` means there was nothing to do, or it cannot be done now, and why. */
export type JobOutcome = { readonly skipped: string } | { readonly result: unknown } | undefined;

export type JobHandler<Payload> = (payload: Payload, context: JobContext) => Promise<JobOutcome>;

export interface JobView {
  readonly id: string;
  readonly name: string;
  readonly state: JobState;
  readonly payload: unknown;
  readonly attempts: number;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  /** When a queued job may start. */
  readonly startAfter: Date | null;
  readonly progress: JobProgress | null;
  /** Why it failed, was skipped or canceled. */
  readonly reason: string | null;
  readonly result: unknown;
}

export interface EnqueueOptions {
  /** While a job with this key is queued or running, no other is added. */
  readonly key?: string;
  readonly startAfterMs?: number;
  /** Higher runs first. */
  readonly priority?: number;
  /** Adds the job within this transaction: it exists only if the transaction commits. */
  readonly transaction?: unknown;
}

export interface JobFilter {
  readonly name?: string;
  readonly states?: readonly JobState[];
  readonly limit?: number;
}

export interface JobQueue {
  /** Registers job kinds. Call it before adding or working on jobs of these kinds. */
  define(definitions: readonly JobDefinition<unknown>[]): Promise<void>;
  /** The id of the new job, or `null` if one with the same key is queued or running. */
  enqueue<Payload>(
    definition: JobDefinition<Payload>,
    payload: Payload,
    options?: EnqueueOptions,
  ): Promise<string | null>;
  /** Starts running jobs of this kind in this process. Once per kind. */
  work<Payload>(definition: JobDefinition<Payload>, handler: JobHandler<Payload>): Promise<void>;
  /**
   * Adds a job at each time of the cron expression (five fields, UTC), unless the one added before has not ended. A
   * second call for the same definition replaces the schedule.
   */
  schedule<Payload>(definition: JobDefinition<Payload>, cron: string, payload: Payload): Promise<void>;
  unschedule(definition: JobDefinition<unknown>): Promise<void>;
  get(id: string): Promise<JobView | null>;
  list(filter?: JobFilter): Promise<readonly JobView[]>;
  /** The number of jobs per kind and state. */
  counts(): Promise<readonly { readonly name: string; readonly state: JobState; readonly count: number }[]>;
  /**
   * Gives a failed job one more attempt. False if there is no such failed job; fails with CONFLICT when another job
   * with its key has been added since.
   */
  retry(id: string): Promise<boolean>;
  /** Cancels a queued or running job. False if it has ended. */
  cancel(id: string): Promise<boolean>;
  /** Deletes up to `limit` jobs that ended before `before`, oldest first, and returns how many. */
  purge(before: Date, limit: number): Promise<number>;
  /** Takes no more jobs and waits up to `graceMs` for running ones; then aborts them, and they run again later. */
  stop(graceMs: number): Promise<void>;
}
