// The job that does a run.
import { z } from 'zod';
import type { JobDefinition } from '../../core/index.ts';

const payload = z.strictObject({
  sourceId: z.guid(),
  runId: z.guid(),
  fresh: z.boolean().default(false),
  retryFailed: z.boolean().default(false),
});

export type RunRequest = z.infer<typeof payload>;

export const extractionRunJob: JobDefinition<RunRequest> = {
  name: 'extraction.run',
  description: 'Extracts from a registered source into its vault.',
  parse: (raw) => payload.parse(raw),
  // Only a try that took too long is repeated, and goes on where it was: together they may take a week. A run that
  // failed is not: pages are retried within it, and what is wrong then needs a person or the next occurrence.
  retries: 6,
  retryDelayMs: 1_000,
  retryBackoff: false,
  concurrency: 2,
  // The longest that the job queue knows.
  timeoutMs: 23 * 3_600_000,
};
