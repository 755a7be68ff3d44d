// Events of background jobs: the source of their log lines, metrics and live updates.
import type { Clock, Emitter } from '../../core/index.ts';
import { event, kindOf } from '../../core/index.ts';

interface JobEvent {
  readonly name: string;
  readonly jobId: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
}

interface EndedJobEvent extends JobEvent {
  /** Label of the counter; `retried` is a failed attempt that will be repeated. */
  readonly state: 'completed' | 'failed' | 'retried' | 'skipped' | 'canceled';
  readonly durationMs: number;
}

const counter = {
  name: 'headworks_jobs_total',
  help: 'Attempts of background jobs, by job and how they ended.',
  labels: ['name', 'state'] as const,
};

const histogram = {
  name: 'headworks_job_duration_seconds',
  help: 'Duration of one attempt of a background job.',
  field: 'durationMs' as const,
  labels: ['name'] as const,
  buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1800],
};

export const jobEventSpecs = {
  'job:started': event<JobEvent>({ level: 'debug', message: 'Job started.' }),
  'job:progressed': event<JobEvent & { done: number; total: number | null; message: string | null }>({
    level: 'debug',
    message: 'Job reported progress.',
    content: ['message'],
  }),
  'job:completed': event<EndedJobEvent>({ level: 'info', message: 'Job completed.', counter, histogram }),
  // Skipped and canceled jobs have no histogram: most of them did no work.
  'job:skipped': event<EndedJobEvent & { reason: string }>({
    level: 'info',
    message: 'Job skipped.',
    counter,
  }),
  'job:canceled': event<EndedJobEvent & { reason: string }>({
    level: 'info',
    message: 'Job canceled.',
    counter,
  }),
  'job:retried': event<EndedJobEvent & { reason: string; retryInMs: number }>({
    level: 'warn',
    message: 'An attempt of the job failed; it will run again.',
    counter,
    histogram,
  }),
  'job:failed': event<EndedJobEvent & { reason: string }>({
    level: 'error',
    message: 'Job failed; it stays in the list until it is retried or deleted.',
    counter,
    histogram,
  }),
  'job:store-unavailable': event<{ operation: string; cause: string }>({
    level: 'warn',
    message: 'The job store cannot be reached; jobs wait until it is back.',
    counter: {
      name: 'headworks_job_store_interruptions_total',
      help: 'Number of times the job store became unreachable while this process ran jobs.',
    },
  }),
  'job:store-available': event<{ downMs: number }>({
    level: 'info',
    message: 'The job store is reachable again; jobs continue.',
  }),
};

export type JobEventSpecs = typeof jobEventSpecs;

/** Emits one event when the job store becomes unavailable and one when it is back, however many calls fail between. */
export class StoreHealth {
  readonly #clock: Clock;
  readonly #events: Emitter<JobEventSpecs>;
  #downSince: number | undefined;

  constructor(clock: Clock, events: Emitter<JobEventSpecs>) {
    this.#clock = clock;
    this.#events = events;
  }

  get isDown(): boolean {
    return this.#downSince !== undefined;
  }

  failed(operation: string, error: unknown): void {
    if (this.isDown) return;
    this.#downSince = this.#clock.monotonic();
    this.#events.emit('job:store-unavailable', { operation, cause: kindOf(error) });
  }

  succeeded(): void {
    if (this.#downSince === undefined) return;
    const downMs = Math.round(this.#clock.monotonic() - this.#downSince);
    this.#downSince = undefined;
    this.#events.emit('job:store-available', { downMs });
  }
}
