// What happens to jobs, as events: log lines, metrics and the live stream are made of them.
import { event } from '../../core/index.ts';

interface JobEvent {
  readonly name: string;
  readonly jobId: string;
  /** 1 for the first try. */
  readonly attempt: number;
}

interface EndedJobEvent extends JobEvent {
  /** Label of the counter; `retried` is a try that failed and will be repeated. */
  readonly state: 'done' | 'failed' | 'retried' | 'skipped';
  readonly durationMs: number;
}

const counter = {
  name: 'headworks_jobs_total',
  help: 'Tries of background jobs, by kind of job and how they ended.',
  labels: ['name', 'state'] as const,
};

const histogram = {
  name: 'headworks_job_duration_seconds',
  help: 'How long one try of a background job took.',
  field: 'durationMs' as const,
  labels: ['name'] as const,
  buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1800],
};

export const jobEventSpecs = {
  'job:started': event<JobEvent>({ level: 'debug', message: 'Job started.' }),
  'job:progress': event<JobEvent & { done: number; total: number | null; message: string | null }>({
    level: 'debug',
    message: 'Job got on.',
    content: ['message'],
  }),
  'job:done': event<EndedJobEvent>({ level: 'info', message: 'Job done.', counter, histogram }),
  // Without the histogram: a job that was cancelled before it began took no time.
  'job:skipped': event<EndedJobEvent & { reason: string }>({
    level: 'info',
    message: 'Job skipped.',
    counter,
  }),
  'job:retried': event<EndedJobEvent & { reason: string; retryInMs: number }>({
    level: 'warn',
    message: 'A try of the job failed; it will run again.',
    counter,
    histogram,
  }),
  'job:failed': event<EndedJobEvent & { reason: string }>({
    level: 'error',
    message: 'Job failed for good; it stays in the list until it is retried or removed.',
    counter,
    histogram,
  }),
  'job:store-unavailable': event<{ operation: string; cause: string }>({
    level: 'warn',
    message: 'The job store cannot be reached; jobs wait until it is back.',
    counter: {
      name: 'headworks_job_store_interruptions_total',
      help: 'Times the job store went away while jobs were being worked on.',
    },
  }),
  'job:store-available': event<{ awayMs: number }>({
    level: 'info',
    message: 'The job store is back; jobs go on.',
  }),
};

export type JobEventSpecs = typeof jobEventSpecs;
