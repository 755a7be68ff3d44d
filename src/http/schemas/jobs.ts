// Jobs over HTTP.
import { z } from 'zod';
import type { JobView } from '../../core/index.ts';
import { instant, isoOrNull, limitOf, listOf } from './fields.ts';

const jobState = z.enum(['queued', 'running', 'completed', 'failed', 'canceled', 'skipped']);
const jobName = z
  .string()
  .min(1)
  .max(200)
  .meta({ examples: ['ledger.repair'] });

export const jobAnswer = z
  .object({
    id: z.string(),
    name: jobName,
    state: jobState,
    payload: z.unknown().describe('As the kind of job defines it.'),
    attempts: z.number().int(),
    created_at: instant,
    started_at: instant.nullable(),
    finished_at: instant.nullable(),
    start_after: instant.nullable().describe('When a pending job may start.'),
    progress: z
      .object({ done: z.number(), total: z.number().nullable(), message: z.string().nullable() })
      .nullable(),
    reason: z.string().nullable().describe('Why it failed or was skipped.'),
    result: z.unknown(),
  })
  .meta({ id: 'Job', description: 'One piece of background work.' });

export const jobsQuery = z.strictObject({
  name: jobName.optional(),
  state: listOf(jobState).optional().describe('One or several, separated by commas.'),
  limit: limitOf(500, 100),
});

export const jobsAnswer = z
  .object({ jobs: z.array(jobAnswer) })
  .meta({ id: 'Jobs', description: 'Jobs, newest first.' });

export const jobCountsAnswer = z
  .object({
    counts: z.array(z.object({ name: jobName, state: jobState, count: z.number().int() })),
  })
  .meta({ id: 'JobCounts', description: 'How many jobs of each kind are in each state.' });

export function viewOfJob(job: JobView): z.infer<typeof jobAnswer> {
  return {
    id: job.id,
    name: job.name,
    state: job.state,
    payload: job.payload ?? null,
    attempts: job.attempts,
    created_at: job.createdAt.toISOString(),
    started_at: isoOrNull(job.startedAt),
    finished_at: isoOrNull(job.finishedAt),
    start_after: isoOrNull(job.startAfter),
    progress: job.progress && {
      done: job.progress.done,
      total: job.progress.total ?? null,
      message: job.progress.message ?? null,
    },
    reason: job.reason,
    result: job.result ?? null,
  };
}
