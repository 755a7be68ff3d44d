// Background jobs.
import { z } from 'zod';
import { after, count, instant, listOf, next, pageSize } from './fields.ts';
import { operation } from './operation.ts';

const state = z
  .enum(['queued', 'running', 'completed', 'failed', 'canceled', 'skipped'])
  .describe('`skipped`: there was nothing to do, or it is not possible now.');
const name = z
  .string()
  .min(1)
  .max(200)
  .meta({ examples: ['ledger.repair'] });

export const Job = z
  .object({
    id: z.string(),
    name,
    state,
    payload: z.unknown().describe('Input of the job; it depends on the kind.'),
    attempts: count.describe('How often it was started.'),
    created_at: instant,
    started_at: instant.nullable().describe('Start of the last attempt; null until the first.'),
    finished_at: instant.nullable().describe('Null until it has ended.'),
    start_after: instant.nullable().describe('A queued job does not start before this.'),
    progress: z
      .object({
        done: z.number().describe('Units of work done; the unit depends on the kind of job.'),
        total: z.number().nullable().describe('All units of work; null: unknown.'),
        message: z.string().nullable().describe('What the job does now.'),
      })
      .nullable()
      .describe('Last progress report; null without one.'),
    reason: z.string().nullable().describe('Why it failed or was skipped.'),
    result: z.unknown().describe('Null until it has ended.'),
  })
  .meta({ id: 'Job', description: 'A background job.' });
export type Job = z.infer<typeof Job>;

export const jobsApi = {
  list: operation('GET /api/v1/jobs', {
    id: 'jobs.list',
    summary: 'List jobs, newest first',
    query: z.strictObject({
      name: name.optional().describe('Only jobs of this kind.'),
      state: listOf(state).optional().describe('One or several states, separated by commas.'),
      limit: pageSize(500, 100),
      after,
    }),
    output: z.object({ jobs: z.array(Job), next }).meta({ id: 'Jobs' }),
  }),

  count: operation('GET /api/v1/jobs/counts', {
    id: 'jobs.count',
    summary: 'Count jobs by kind and state',
    output: z.object({ counts: z.array(z.object({ name, state, count })) }).meta({ id: 'JobCounts' }),
  }),

  get: operation('GET /api/v1/jobs/:id', {
    id: 'jobs.get',
    summary: 'Get a job',
    output: Job,
  }),

  retry: operation('POST /api/v1/jobs/:id/retry', {
    id: 'jobs.retry',
    summary: 'Queue a failed job again',
    status: 202,
    output: Job,
  }),

  cancel: operation('POST /api/v1/jobs/:id/cancel', {
    id: 'jobs.cancel',
    summary: 'Cancel a queued or running job',
    description: 'Its state becomes canceled; a running job is aborted, which may take a moment.',
    status: 202,
    output: Job,
  }),
} as const;
