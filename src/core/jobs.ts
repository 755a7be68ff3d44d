// The port for work that outlives a request: typed definitions, a queue to put jobs in, workers that take them out.

/**
 * What a user sees of a job. `failed` means every try failed: a dead letter that stays until somebody retries it
 * or retention removes it. A job that failed but will be tried again is `pending`.
 */
export type JobState = 'pending' | 'running' | 'done' | 'failed' | 'skipped';

export interface JobDefinition<Payload> {
  /** `domain.verb`, for example `ledger.repair`. */
  readonly name: string;
  readonly description: string;
  /** Checks what comes out of the store before a handler sees it; throws on anything else. */
  readonly parse: (payload: unknown) => Payload;
  /**
   * Tries after the first, for handlers that fail. A try that ended because its process died is repeated up to three
   * times more than this: a crash is rarely the job's fault, but a job that kills every process must end as failed.
   * None follows a HeadworksError that is not retryable.
   */
  readonly retries: number;
  readonly retryDelayMs: number;
  /** Doubles the delay with each retry, up to `retryDelayMaxMs`, with up to a quarter more by chance. */
  readonly retryBackoff: boolean;
  readonly retryDelayMaxMs?: number;
  /** Jobs of this kind that run at once in one process. */
  readonly concurrency: number;
  /** A try that takes longer is aborted and counts as failed. */
  readonly timeoutMs: number;
}

export interface JobProgress {
  readonly done: number;
  readonly total?: number;
  readonly message?: string;
}

export interface JobContext {
  readonly id: string;
  /** 1 for the first try. */
  readonly attempt: number;
  /** Aborts when the try has timed out, the job was cancelled, or the process drains for too long. */
  readonly signal: AbortSignal;
  /** Cheap: call it as often as you like, it is told and stored now and then. */
  readonly progress: (progress: JobProgress) => void;
}

/** `undefined` means done; `skipped` means there was nothing to do, or it cannot be done now, and why. */
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
  /** When a pending job may start. */
  readonly startAfter: Date | null;
  readonly progress: JobProgress | null;
  /** Why it failed or was skipped. */
  readonly reason: string | null;
  readonly result: unknown;
}

export interface EnqueueOptions {
  /** While a job with this key is pending or running, another is not added. */
  readonly key?: string;
  readonly startAfterMs?: number;
  /** Higher runs first. */
  readonly priority?: number;
  /** Adds the job with this transaction: it exists only if the transaction commits. */
  readonly transaction?: unknown;
}

export interface JobFilter {
  readonly name?: string;
  readonly states?: readonly JobState[];
  readonly limit?: number;
}

export interface JobQueue {
  /** Makes the kinds known; must be called before anything of that kind is added or worked on. */
  define(definitions: readonly JobDefinition<unknown>[]): Promise<void>;
  /** The id of the new job, or `null` if one with the same key is already there. */
  enqueue<Payload>(
    definition: JobDefinition<Payload>,
    payload: Payload,
    options?: EnqueueOptions,
  ): Promise<string | null>;
  /** Starts taking jobs of this kind in this process. Once per kind. */
  work<Payload>(definition: JobDefinition<Payload>, handler: JobHandler<Payload>): Promise<void>;
  /**
   * Adds a job whenever the cron expression (five fields, UTC) says so, unless the last one it added has not ended
   * yet. The same definition again replaces the schedule.
   */
  schedule<Payload>(definition: JobDefinition<Payload>, cron: string, payload: Payload): Promise<void>;
  unschedule(definition: JobDefinition<unknown>): Promise<void>;
  get(id: string): Promise<JobView | null>;
  list(filter?: JobFilter): Promise<readonly JobView[]>;
  /** How many jobs of each kind are in each state. */
  counts(): Promise<readonly { readonly name: string; readonly state: JobState; readonly count: number }[]>;
  /**
   * Gives a failed job one more try. False if there is no such failed job; fails with CONFLICT when another job with
   * its key has been added meanwhile.
   */
  retry(id: string): Promise<boolean>;
  /** Stops a pending or running job; it ends as skipped. False if it has ended already. */
  cancel(id: string): Promise<boolean>;
  /** Deletes jobs that ended before `before`, failed ones too, oldest first, at most `limit`; how many went. */
  purge(before: Date, limit: number): Promise<number>;
  /** Takes no more jobs, waits for running ones up to `graceMs`, then aborts them: they run again later. */
  stop(graceMs: number): Promise<void>;
}
