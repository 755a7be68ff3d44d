// The only place where executions end; and the end of those that nobody else would end.
import type { Clock, Emitter, JobQueue, JobView } from '../../core/index.ts';
import type { AdmissionController } from '../admission/index.ts';
import type { ExecutionEvents } from '../events.ts';
import { asSentence } from '../names.ts';
import type { EndNotifier } from './executions.ts';
import { internalTenantMessage } from './failure.ts';
import { executionJobName } from './run-execution.ts';
import type { Execution, ExecutionOutcome, ExecutionStore, FinishExecution } from './types.ts';

export interface FinishDeps {
  readonly store: Pick<ExecutionStore, 'end'>;
  readonly slots: Pick<AdmissionController, 'release'>;
  readonly notifier: Pick<EndNotifier, 'notify'>;
  readonly clock: Clock;
  readonly events: Emitter<ExecutionEvents>;
  /** Adds the webhook's job to the transaction, if the deployment has a webhook. */
  readonly enqueueWebhook: (execution: Execution, transaction: unknown) => Promise<void>;
}

/** Row and webhook in one transaction, then waiting requests, the event, and the slot. */
export function createFinishExecution(deps: FinishDeps): FinishExecution {
  const { store, slots, notifier, clock, events, enqueueWebhook } = deps;
  return async (executionId, outcome) => {
    const at = new Date(clock.now());
    const ended = await store.end(executionId, outcome, at, enqueueWebhook);
    if (!ended) return null;
    notifier.notify(executionId);
    const { organizationId, deploymentId, status } = ended;
    events.emit('deployments:execution-ended', {
      executionId,
      organizationId,
      deploymentId,
      status,
      code: ended.failure?.code ?? null,
      durationMs: at.getTime() - ended.acceptedAt.getTime(),
    });
    // The reconciler releases the slot if this process dies here.
    await slots.release({ organizationId, executionId });
    return ended;
  };
}

export interface OrphanDeps {
  readonly store: Pick<ExecutionStore, 'unfinished' | 'get'>;
  readonly jobs: Pick<JobQueue, 'get' | 'list' | 'cancel'>;
  readonly finish: FinishExecution;
  readonly events: Emitter<ExecutionEvents>;
}

/** More than any global limit; jobs beyond are read one by one. */
const maxJobs = 10_000;

/** Ends executions whose job failed, was canceled or is gone; returns how many. Any number of processes may call it. */
export async function failOrphans(deps: OrphanDeps): Promise<number> {
  const { store, jobs } = deps;
  const unfinished = await store.unfinished();
  if (unfinished.length === 0) return 0;
  const open = await jobs.list({ name: executionJobName, states: ['queued', 'running'], limit: maxJobs });
  const openIds = new Set(open.map(({ id }) => id));
  let count = 0;
  for (const execution of unfinished) {
    if (openIds.has(execution.jobId)) continue;
    const outcome = outcomeOfJob(await jobs.get(execution.jobId));
    if (outcome && (await endOrphan(deps, execution, outcome))) count++;
  }
  return count;
}

/** Ends an execution that has held its slot for as long as it may, whatever its job does. */
export async function endOverdue(deps: OrphanDeps, executionId: string, maxHours: number): Promise<void> {
  const execution = await deps.store.get(executionId);
  if (!execution) return;
  await endOrphan(deps, execution, {
    status: 'error',
    failure: {
      code: 'DEADLINE_EXCEEDED',
      message: `The execution took longer than the ${maxHours} hours allowed.`,
    },
  });
}

/** Null while the job may still end the execution. */
function outcomeOfJob(job: JobView | null): ExecutionOutcome | null {
  switch (job?.state) {
    case 'queued':
    case 'running':
      return null;
    case 'canceled':
    case 'skipped':
      return { status: 'stopped' };
    case 'completed':
    case 'failed':
    case undefined:
    default:
      return {
        status: 'error',
        failure: {
          code: 'INTERNAL',
          message: asSentence(`The execution could not be completed: ${job?.reason ?? 'its job is gone'}`),
          tenantMessage: internalTenantMessage,
        },
      };
  }
}

async function endOrphan(
  { finish, jobs, events }: OrphanDeps,
  { executionId, jobId }: Pick<Execution, 'executionId' | 'jobId'>,
  outcome: ExecutionOutcome,
): Promise<boolean> {
  const ended = await finish(executionId, outcome);
  if (!ended) return false;
  await jobs.cancel(jobId);
  const reason = outcome.status === 'error' ? outcome.failure.message : outcome.status;
  events.emit('deployments:orphan-ended', { executionId, reason });
  return true;
}
