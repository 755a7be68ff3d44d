// The job that runs an execution.
import { z } from 'zod';
import type { JobDefinition } from '../../core/index.ts';

const payload = z.strictObject({ executionId: z.guid() });

export type ExecutionRequest = z.infer<typeof payload>;

/** Beyond the time for a try, which the handler itself keeps: only a handler that hangs meets it. */
const patienceMs = 30_000;

export const executionJobName = 'deployments.execute';

export function executionJob(options: {
  readonly concurrency: number;
  readonly executionTimeoutMs: number;
}): JobDefinition<ExecutionRequest> {
  return {
    name: executionJobName,
    description: 'Runs an execution of a deployment.',
    parse: (raw) => payload.parse(raw),
    // For failures that say that another try may help; the gateway has tried every model before it says so.
    retries: 2,
    retryDelayMs: 2_000,
    retryBackoff: true,
    retryDelayMaxMs: 60_000,
    concurrency: options.concurrency,
    timeoutMs: options.executionTimeoutMs + patienceMs,
  };
}
