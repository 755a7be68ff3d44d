// Ends executions that nobody will end: their job failed, was cancelled or is gone, or they took longer than allowed.
import type { Emitter, JobQueue, JobView } from '../../core/index.ts';
import { asSentence } from '../as-sentence.ts';
import type { ExecutionOutcome, ExecutionStore } from '../ports.ts';
import type { EndExecution } from './end-execution.ts';
import type { ExecutionEvents } from './events.ts';
import { executionJobName } from './execution-job.ts';
import { ourFault } from './failure-of.ts';

export interface ExecutionWatchParts {
  readonly store: Pick<ExecutionStore, 'unfinished'>;
  readonly jobs: Pick<JobQueue, 'get' | 'list' | 'cancel'>;
  readonly end: EndExecution;
  readonly events: Emitter<ExecutionEvents>;
}

/** More jobs than slots that anybody gives out; what is beyond is asked for one by one. */
const mostJobs = 10_000;

type Unfinished = Awaited<ReturnType<ExecutionStore['unfinished']>>[number];

/** One look; how many were ended. Any number of processes may look at once: an execution ends once. */
export async function settleExecutions(parts: ExecutionWatchParts): Promise<number> {
  const { store, jobs } = parts;
  const unfinished = await store.unfinished();
  if (unfinished.length === 0) return 0;
  const open = await jobs.list({ name: executionJobName, states: ['queued', 'running'], limit: mostJobs });
  const openIds = new Set(open.map(({ id }) => id));
  let settled = 0;
  for (const execution of unfinished) {
    if (openIds.has(execution.jobId)) continue;
    const outcome = outcomeOfJob(await jobs.get(execution.jobId));
    if (outcome) settled += await settle(parts, execution, outcome);
  }
  return settled;
}

/** It has held its slot for as long as it may, whatever its job does. */
export async function endOverdue(
  parts: ExecutionWatchParts & { readonly store: Pick<ExecutionStore, 'get'> },
  executionId: string,
  longestHours: number,
): Promise<void> {
  const execution = await parts.store.get(executionId);
  if (execution) await settle(parts, execution, overdue(longestHours));
}

/** Null while the job may still do it. */
function outcomeOfJob(job: JobView | null): ExecutionOutcome | null {
  switch (job?.state) {
    case 'queued':
    case 'running':
      return null;
    case 'skipped':
    case 'canceled':
      return { status: 'stopped' };
    case 'completed':
    case 'failed':
    case undefined:
    default:
      return {
        status: 'error',
        failure: {
          code: 'INTERNAL',
          message: asSentence(`It could not be completed: ${job?.reason ?? 'its job is gone'}`),
          tenantMessage: ourFault,
        },
      };
  }
}

const overdue = (hours: number): ExecutionOutcome => ({
  status: 'error',
  failure: {
    code: 'DEADLINE_EXCEEDED',
    message: `It took longer than the ${hours} hours that an execution may take.`,
  },
});

async function settle(
  { end, jobs, events }: ExecutionWatchParts,
  { executionId, jobId }: Pick<Unfinished, 'executionId' | 'jobId'>,
  outcome: ExecutionOutcome,
): Promise<number> {
  const ended = await end(executionId, outcome);
  if (!ended) return 0;
  await jobs.cancel(jobId);
  const reason = outcome.status === 'error' ? outcome.failure.message : outcome.status;
  events.emit('deployments:execution-settled', { executionId, reason });
  return 1;
}
