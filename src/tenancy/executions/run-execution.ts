// The job that runs an execution.
import { z } from 'zod';
import type { Clock, Emitter, JobContext, JobDefinition, JobHandler, Log } from '../../core/index.ts';
import { CoreError, HeadworksError, kindOf } from '../../core/index.ts';
import { withDeadline } from '../../resilience/index.ts';
import type { AdmissionController } from '../admission/index.ts';
import type { DeploymentService } from '../deployments/deployments.ts';
import type { ExecutionEvents } from '../events.ts';
import type { WorkflowName } from '../vocabulary.ts';
import type { Workflow, WorkflowResult } from '../workflows/workflow.ts';
import { isUnexpected, toFailure } from './failure.ts';
import type { Execution, ExecutionOutcome, ExecutionStore, FinishExecution } from './types.ts';

const payload = z.strictObject({ executionId: z.guid() });

/** Beyond the timeout of an attempt, which the handler applies itself: only a handler that hangs reaches it. */
const marginMs = 30_000;
/** While the state store is down the outcome is kept and written later: models are not called twice. */
const storeRetryMs = 1_000;

export const executionJobName = 'deployments.execute';

export function executionJob(options: {
  readonly concurrency: number;
  readonly executionTimeoutMs: number;
}): JobDefinition<z.infer<typeof payload>> {
  return {
    name: executionJobName,
    description: 'Run an execution of a deployment.',
    parse: (raw) => payload.parse(raw),
    // For retryable failures; the gateway has tried every model before it reports one.
    retries: 2,
    retryDelayMs: 2_000,
    retryBackoff: true,
    retryDelayMaxMs: 60_000,
    concurrency: options.concurrency,
    timeoutMs: options.executionTimeoutMs + marginMs,
  };
}

export interface ExecutionHandlerDeps {
  readonly store: Pick<ExecutionStore, 'begin' | 'get' | 'input'>;
  readonly finish: FinishExecution;
  readonly slots: Pick<AdmissionController, 'attach' | 'detach' | 'release'>;
  readonly deployments: Pick<DeploymentService, 'get'>;
  readonly workflowOf: (name: WorkflowName) => Workflow;
  readonly clock: Clock;
  readonly events: Emitter<ExecutionEvents>;
  readonly log: Log;
  readonly redact: (text: string) => string;
  /** Of one attempt. */
  readonly timeoutMs: number;
  /** Attempts after the first, as in the job's definition. */
  readonly retries: number;
}

/**
 * queued → executing → completed | error | stopped. The job fails, to be retried, only when a retryable failure has an
 * attempt left, when the process drains, or when another process has taken over the job.
 */
export function executionHandler(deps: ExecutionHandlerDeps): JobHandler<z.infer<typeof payload>> {
  return async ({ executionId }, context) => {
    const { store, slots, clock, events } = deps;
    const hasBegun = await store.begin(executionId, new Date(clock.now()));
    const execution = hasBegun ? await store.get(executionId) : null;
    if (!execution) return { skipped: 'The execution has already ended.' };
    const { organizationId, deploymentId } = execution;
    const slot = { organizationId, executionId };
    slots.attach({ ...slot, workload: deploymentId });
    events.emit('deployments:execution-started', {
      executionId,
      organizationId,
      deploymentId,
      attempt: context.attempt,
    });
    let hasEnded = false;
    try {
      const outcome = await runAttempt(deps, execution, context);
      const ended = await writeOutcome(deps, executionId, outcome, context.signal);
      hasEnded = true;
      return { result: { executionId, status: ended?.status ?? 'ended elsewhere' } };
    } finally {
      // Released again after the end: a process that stopped it released a slot that this one kept renewing.
      if (hasEnded) await slots.release(slot);
      else slots.detach(slot);
    }
  };
}

/** Throws when there is to be another attempt. */
async function runAttempt(
  deps: ExecutionHandlerDeps,
  execution: Execution,
  context: JobContext,
): Promise<ExecutionOutcome> {
  try {
    const { result, warnings } = await runWorkflow(deps, execution, context.signal);
    return { status: 'completed', result, warnings };
  } catch (error) {
    if (context.signal.aborted) return outcomeOfAbort(context.signal.reason);
    const isRetryable = error instanceof HeadworksError && error.isRetryable;
    if (isRetryable && context.attempt <= deps.retries) throw error;
    if (isUnexpected(error))
      deps.log.error('unexpected error in an execution', { executionId: execution.executionId, error });
    return { status: 'error', failure: toFailure(error, deps.redact) };
  }
}

/** Throws the reason when the execution continues elsewhere or later. */
function outcomeOfAbort(reason: unknown): ExecutionOutcome {
  const cause = reason instanceof HeadworksError ? reason.details['cause'] : undefined;
  if (cause === 'canceled') return { status: 'stopped' };
  throw reason instanceof Error ? reason : new CoreError('CANCELED', 'The job was stopped.');
}

async function runWorkflow(
  { store, deployments, workflowOf, clock, timeoutMs }: ExecutionHandlerDeps,
  { executionId, organizationId, deploymentId }: Execution,
  signal: AbortSignal,
): Promise<WorkflowResult> {
  const deadline = withDeadline(signal, timeoutMs, clock, 'execution');
  try {
    const input = await store.input(executionId);
    if (!input) throw new CoreError('NOT_FOUND', 'The input of the execution was deleted.');
    const { workflow, options } = knownDeployment(deployments, deploymentId);
    const task = { organizationId, executionId, options, input, signal: deadline.signal };
    return await workflowOf(workflow).run(task);
  } catch (error) {
    throw deadline.signal.aborted && !signal.aborted ? timedOut(timeoutMs) : error;
  } finally {
    deadline.dispose();
  }
}

/** Deleting a deployment deletes its executions: one that is unknown here was just created by another process. */
function knownDeployment(deployments: Pick<DeploymentService, 'get'>, deploymentId: string) {
  try {
    return deployments.get(deploymentId);
  } catch (error) {
    throw new CoreError('NOT_FOUND', `The deployment ${deploymentId} is not known to this process yet.`, {
      isRetryable: true,
      cause: error,
    });
  }
}

const timedOut = (timeoutMs: number): CoreError =>
  new CoreError('DEADLINE_EXCEEDED', `The execution took longer than ${timeoutMs / 1_000} seconds.`);

/** Waits for the store for as long as the job may run. */
async function writeOutcome(
  { finish, clock }: ExecutionHandlerDeps,
  executionId: string,
  outcome: ExecutionOutcome,
  signal: AbortSignal,
): Promise<Execution | null> {
  for (;;) {
    try {
      return await finish(executionId, outcome);
    } catch (error) {
      if (kindOf(error) !== 'STATE_UNAVAILABLE' || signal.aborted) throw error;
      await clock.sleep(storeRetryMs, signal);
    }
  }
}
