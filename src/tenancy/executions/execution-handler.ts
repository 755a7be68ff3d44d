// Runs an execution as a job of this process, and says how it ended.
import type { Clock, Emitter, JobContext, JobHandler, Log } from '../../core/index.ts';
import { CoreError, HeadworksError, kindOf } from '../../core/index.ts';
import { withDeadline } from '../../resilience/index.ts';
import type { DeploymentDesk } from '../desk-ports.ts';
import type {
  Execution,
  ExecutionOutcome,
  ExecutionStore,
  Workflow,
  WorkflowAnswer,
  WorkflowName,
} from '../ports.ts';
import type { AdmissionController, Slot } from '../admission/index.ts';
import type { EndExecution } from './end-execution.ts';
import type { ExecutionEvents } from './events.ts';
import type { ExecutionRequest } from './execution-job.ts';
import { failureOf, isUnforeseen } from './failure-of.ts';

export interface ExecutionHandlerParts {
  readonly store: Pick<ExecutionStore, 'begin' | 'get' | 'input'>;
  readonly end: EndExecution;
  readonly slots: Pick<AdmissionController, 'attach' | 'detach' | 'release'>;
  readonly deployments: Pick<DeploymentDesk, 'get'>;
  readonly workflowOf: (name: WorkflowName) => Workflow;
  readonly clock: Clock;
  readonly events: Emitter<ExecutionEvents>;
  readonly log: Log;
  readonly redact: (text: string) => string;
  /** For one try. */
  readonly timeoutMs: number;
  /** Tries after the first, as the job's definition says. */
  readonly retries: number;
}

/** While the state store is away the outcome is kept, and written when it is back: models are not asked twice. */
const storeRetryMs = 1_000;

/**
 * queued → executing → completed | error | stopped. The job fails, to be tried again, only when another try may help
 * and one is left, when the process drains, or when another process has the job.
 */
export function executionHandler(parts: ExecutionHandlerParts): JobHandler<ExecutionRequest> {
  return async ({ executionId }, context) => {
    const { store, slots, clock, events } = parts;
    const hasBegun = await store.begin(executionId, new Date(clock.now()));
    const execution = hasBegun ? await store.get(executionId) : null;
    if (!execution) return { skipped: 'The execution has ended already.' };
    const { organizationId, deploymentId } = execution;
    const slot: Slot = { organizationId, executionId };
    slots.attach({ ...slot, workload: deploymentId });
    events.emit('deployments:execution-started', {
      executionId,
      organizationId,
      deploymentId,
      attempt: context.attempt,
    });
    let hasEnded = false;
    try {
      const outcome = await outcomeOfTry(parts, execution, context);
      const ended = await write(parts, executionId, outcome, context.signal);
      hasEnded = true;
      return { result: { executionId, status: ended?.status ?? 'ended elsewhere' } };
    } finally {
      // Freed again when it has ended: whoever stopped it freed a slot that this process went on renewing.
      if (hasEnded) await slots.release(slot);
      else slots.detach(slot);
    }
  };
}

/** Fails when there shall be another try. */
async function outcomeOfTry(
  parts: ExecutionHandlerParts,
  execution: Execution,
  context: JobContext,
): Promise<ExecutionOutcome> {
  try {
    const { result, warnings } = await answerOf(parts, execution, context.signal);
    return { status: 'completed', result, warnings };
  } catch (error) {
    if (context.signal.aborted) return outcomeOfStop(context.signal.reason);
    const mayHelp = error instanceof HeadworksError && error.isRetryable;
    if (mayHelp && context.attempt <= parts.retries) throw error;
    if (isUnforeseen(error))
      parts.log.error('an execution failed in a way that nobody foresaw', {
        executionId: execution.executionId,
        error,
      });
    return { status: 'error', failure: failureOf(error, parts.redact) };
  }
}

/** Fails with the reason when the execution goes on elsewhere or later. */
function outcomeOfStop(reason: unknown): ExecutionOutcome {
  const cause = reason instanceof HeadworksError ? reason.details['cause'] : undefined;
  if (cause === 'cancelled') return { status: 'stopped' };
  throw reason instanceof Error ? reason : new CoreError('CANCELED', 'The job was stopped.');
}

async function answerOf(
  { store, deployments, workflowOf, clock, timeoutMs }: ExecutionHandlerParts,
  { executionId, organizationId, deploymentId }: Execution,
  signal: AbortSignal,
): Promise<WorkflowAnswer> {
  const deadline = withDeadline(signal, timeoutMs, clock, 'execution');
  try {
    const input = await store.input(executionId);
    if (!input) throw new CoreError('NOT_FOUND', 'What was sent is no longer kept.');
    const { workflow, options } = known(deployments, deploymentId);
    const task = { organizationId, executionId, options, input, signal: deadline.signal };
    return await workflowOf(workflow).run(task);
  } catch (error) {
    throw deadline.signal.aborted && !signal.aborted ? tookTooLong(timeoutMs) : error;
  } finally {
    deadline.dispose();
  }
}

/** An execution goes with its deployment: one that is not known here was added a moment ago, elsewhere. */
function known(deployments: Pick<DeploymentDesk, 'get'>, deploymentId: string) {
  try {
    return deployments.get(deploymentId);
  } catch (error) {
    throw new CoreError('NOT_FOUND', `The deployment ${deploymentId} is not known here yet.`, {
      isRetryable: true,
      cause: error,
    });
  }
}

const tookTooLong = (timeoutMs: number): CoreError =>
  new CoreError('DEADLINE_EXCEEDED', `The execution took longer than ${timeoutMs / 1_000} seconds.`);

/** Waits for the store for as long as the job may go on. */
async function write(
  { end, clock }: ExecutionHandlerParts,
  executionId: string,
  outcome: ExecutionOutcome,
  signal: AbortSignal,
): Promise<Execution | null> {
  for (;;) {
    try {
      return await end(executionId, outcome);
    } catch (error) {
      if (kindOf(error) !== 'STATE_UNAVAILABLE' || signal.aborted) throw error;
      await clock.sleep(storeRetryMs, signal);
    }
  }
}
