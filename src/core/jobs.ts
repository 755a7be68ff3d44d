// Background jobs: typed definitions, a queue to add jobs to (implemented by platform/jobs), handlers that run them, and
// cron expressions of schedules.
import { CoreError } from './errors.ts';

/**
 * `failed` means that every attempt failed: the job stays until it is retried or retention deletes it. A job that failed
 * and will be attempted again is `queued`.
 */
export type JobState = 'queued' | 'running' | 'completed' | 'failed' | 'canceled' | 'skipped';

export interface JobDefinition<Payload> {
  /** `domain.verb`, for example `ledger.repair`. */
  readonly name: string;
  readonly description: string;
  /** Validates the stored payload, with keys in camelCase, before the handler sees it; throws if it is malformed. */
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
  /**
   * Jobs of one group (`EnqueueOptions.group`) that run at the same time in one process, so that one tenant cannot
   * occupy every slot. A free slot goes first to groups of which none is running. Default: no limit.
   */
  readonly groupConcurrency?: number;
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
  /** As stored and shown by the API: with keys in snake_case, like `result`. */
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
  /** See `groupConcurrency`; for example the id of an organization. */
  readonly group?: string;
  /** Higher runs first. */
  readonly priority?: number;
  /** Adds the job within this transaction: it exists only if the transaction commits. */
  readonly transaction?: unknown;
}

export interface JobFilter {
  readonly name?: string;
  readonly states?: readonly JobState[];
  readonly limit?: number;
  /** Only jobs after this one (its id) in the list, which is newest first. None when there is no such job. */
  readonly after?: string;
}

export interface JobCount {
  readonly name: string;
  readonly state: JobState;
  readonly count: number;
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
  counts(): Promise<readonly JobCount[]>;
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

const fields = [
  ['minute', 0, 59],
  ['hour', 0, 23],
  ['day of month', 1, 31],
  ['month', 1, 12],
  ['day of week', 0, 7],
] as const;

const dayMs = 86_400_000;
/** February 29 can be eight years away (around a century that is not a leap year). */
const searchDays = 366 * 9;

/**
 * A cron expression of five fields in UTC: numbers, `*`, lists, ranges and steps. Not cron-parser, which pg-boss brings:
 * options are parsed by every command, which its date library would delay by 20 to 50 ms, and it accepts more (names, six
 * fields, L and #), which would reach the schedules of the store.
 *
 * `next` returns the first whole minute after `afterMs` that matches, in milliseconds since the epoch. Fails with
 * INPUT_INVALID, naming the field, if the expression is malformed or never matches.
 */
export function parseCron(expression: string): { next(afterMs: number): number } {
  const parts = expression.trim().split(/\s+/);
  if (parts.length !== fields.length)
    throw invalid(expression, `it has ${parts.length} fields, not five (minute hour day month weekday)`);
  const sets = fields.map((field, index) => parseField(expression, field, parts[index] ?? ''));
  const [minutes, hours, days, months, weekdays] = sets as [Values, Values, Values, Values, Values];
  if (weekdays.has(7)) weekdays.add(0);
  // As in every cron: with both day fields set, either is enough.
  const isEither = [parts[2], parts[4]].every((part) => !part?.startsWith('*'));
  const matchesDay = (day: Date): boolean => {
    const byDate = days.has(day.getUTCDate());
    const byWeekday = weekdays.has(day.getUTCDay());
    return months.has(day.getUTCMonth() + 1) && (isEither ? byDate || byWeekday : byDate && byWeekday);
  };
  const times = [...hours].flatMap((hour) => [...minutes].map((minute) => (hour * 60 + minute) * 60_000));
  times.sort((a, b) => a - b);

  const next = (afterMs: number): number => {
    const firstDay = Math.floor(afterMs / dayMs) * dayMs;
    for (let day = firstDay; day <= firstDay + searchDays * dayMs; day += dayMs) {
      if (!matchesDay(new Date(day))) continue;
      const time = times.find((candidate) => day + candidate > afterMs);
      if (time !== undefined) return day + time;
    }
    throw invalid(expression, 'there is no such day');
  };
  next(0);
  return { next };
}

type Values = Set<number>;

function parseField(expression: string, [name, first, last]: (typeof fields)[number], text: string): Values {
  const values: Values = new Set();
  for (const item of text.split(',')) {
    const match = /^(?:\*|(\d{1,2})(?:-(\d{1,2}))?)(?:\/(\d{1,2}))?$/.exec(item);
    if (!match) throw invalid(expression, `"${item}" is not a ${name}`);
    const [, start, end, every] = match;
    const from = start === undefined ? first : Number(start);
    // `5/10` means from 5 on, every 10; a lone `5` means only that.
    const openEnd = start === undefined || every !== undefined ? last : from;
    const to = end === undefined ? openEnd : Number(end);
    const step = every === undefined ? 1 : Number(every);
    if (from < first || to > last || from > to || step < 1)
      throw invalid(expression, `"${item}" is outside ${first}-${last} for the ${name}`);
    for (let value = from; value <= to; value += step) values.add(value);
  }
  return values;
}

function invalid(expression: string, why: string): CoreError {
  return new CoreError(
    'INPUT_INVALID',
    `The schedule "${expression}" cannot be used: ${why}. Use five fields in UTC, for example "15 3 * * *".`,
  );
}
