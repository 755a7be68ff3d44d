// The scheduled job that runs retention.
import type { JobDefinition, JobHandler } from '../../core/index.ts';
import type { RetentionParts } from './retention.ts';
import { runRetention } from './retention.ts';

export const retentionJob: JobDefinition<null> = {
  name: 'retention.run',
  description: 'Deletes rows that are older than their retention setting.',
  parse: () => null,
  // A rule that fails is a row in the ledger, which is repaired on its own.
  retries: 0,
  retryDelayMs: 0,
  retryBackoff: false,
  concurrency: 1,
  timeoutMs: 60 * 60_000,
};

/** Its result is the RetentionReport; the job fails when a rule did. */
export function retentionHandler(parts: RetentionParts): JobHandler<null> {
  return async (_, context) => ({
    result: await runRetention(parts, {
      signal: context.signal,
      onProgress: (progress) => context.progress(progress),
    }),
  });
}
