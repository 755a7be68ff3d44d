// The job that runs an execution.
import { z } from 'zod';
import type { JobContext, JobDefinition, JobHandler } from '../../core/index.ts';
import { CoreError, HeadworksError, kindOf, withTimeout } from '../../core/index.ts';
import type { DeploymentOptions } from '../options.ts';
import type { WorkflowResult } from '../workflows/workflow.ts';
import type { ExecutionDeps, ExecutionService } from './executions.ts';
import { executionJobName } from './executions.ts';
import { isUnexpected, toFailure } from '../errors.ts';
import type { Execution, ExecutionOutcome } from './types.ts';

const payload = z.strictObject({ executionId: z.guid() });

/** Beyond the timeout of an attempt, which the handler applies itself: only a handler that hangs reaches it. */
const marginMs = 30_000;
/** Attempts after the first, for retryable failures; the gateway has tried every model before it reports one. */
const retries = 2;
/** While the state store is down the outcome is kept and written later: models are not called twice. */
const storeRetryMs = 1_000;

/** Share of one organization: a quarter of the slots stays free for others. */
const shareOf = (concurrency: number): number => Math.max(1, Math.floor(concurrency * 0.75));

export function executionJob({
  concurrency,
  executionTimeoutSeconds,
}: DeploymentOptions): JobDefinition<z.infer<typeof payload>> {
  return {
    name: executionJobName,
    description: 'Run an execution of a deployment.',
    parse: (raw) => payload.parse(raw),
    retries,
    retryDelayMs: 2_000,
    retryBackoff: true,
    retryDelayMaxMs: 60_000,
    concurrency,
    groupConcurrency: shareOf(concurrency),
    timeoutMs: executionTimeoutSeconds * 1_000 + marginMs,
  };
}

const alreadyEnded = { skipped: 'The execution has already ended.' };

/**
 * queued → running → completed | failed | canceled. The job fails, to be retried, only when a retryable failure has an
 * attempt left, when the process drains, or when another process has taken over the job.
 */
export function executionHandler(
  deps: ExecutionDeps,
  executions: ExecutionService,
): JobHandler<z.infer<typeof payload>> {
  return async ({ executionId }, context) => {
    const { store, slots, clock, events } = deps;
    const hasBegun = await store.begin(executionId, new Date(clock.now()));
    const execution = hasBegun ? await store.get(executionId) : null;
    if (!execution) return alreadyEnded;
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
      const ended = await writeOutcome(deps, executions, executionId, outcome, context.signal);
      hasEnded = true;
      return ended ? { result: { executionId, status: ended.status } } : alreadyEnded;
    } finally {
      // Released again after the end: a process that canceled it released a slot that this one kept renewing.
      if (hasEnded) await slots.release(slot);
      else slots.detach(slot);
    }
  };
}

/** Throws when there is to be another attempt. */
async function runAttempt(
  deps: ExecutionDeps,
  execution: Execution,
  context: JobContext,
): Promise<ExecutionOutcome> {
  try {
    const { result, warnings } = await runWorkflow(deps, execution, context.signal);
    return { status: 'completed', result, warnings };
  } catch (error) {
    if (context.signal.aborted) return outcomeOfAbort(context.signal.reason);
    const isRetryable = error instanceof HeadworksError && error.isRetryable;
    if (isRetryable && context.attempt <= retries) throw error;
    if (isUnexpected(error))
      deps.log.error('unexpected error in an execution', { executionId: execution.executionId, error });
    return { status: 'failed', failure: toFailure(error, deps.redact) };
  }
}

/** Throws the reason when the execution continues elsewhere or later. */
function outcomeOfAbort(reason: unknown): ExecutionOutcome {
  const cause = reason instanceof HeadworksError ? reason.details['cause'] : undefined;
  if (cause === 'canceled') return { status: 'canceled' };
  throw reason instanceof Error ? reason : new CoreError('CANCELED', 'The job was stopped.');
}

async function runWorkflow(
  { store, deployments, clock, options: { deployments: options } }: ExecutionDeps,
  { executionId, organizationId, deploymentId }: Execution,
  signal: AbortSignal,
): Promise<WorkflowResult> {
  const timeoutSeconds = options.executionTimeoutSeconds;
  const run = async (timeoutSignal: AbortSignal): Promise<WorkflowResult> => {
    const input = await store.input(executionId);
    if (!input) throw new CoreError('NOT_FOUND', 'The input of the execution was deleted.');
    const deployment = deployments.byId(deploymentId);
    // Deleting a deployment deletes its executions: one that is unknown here was just created by another process.
    if (!deployment)
      throw new CoreError('NOT_FOUND', `The deployment ${deploymentId} is not known to this process yet.`, {
        isRetryable: true,
      });
    return deployments.workflowOf(deployment).run({
      organizationId,
      executionId,
      options: deployment.options,
      input,
      signal: timeoutSignal,
    });
  };
  const onTimeout = () =>
    new CoreError('DEADLINE_EXCEEDED', `The execution took longer than ${timeoutSeconds} seconds.`);
  return withTimeout(run, { clock, timeoutMs: timeoutSeconds * 1_000, signal, onTimeout });
}

/** Waits for the store for as long as the job may run. */
async function writeOutcome(
  { clock }: ExecutionDeps,
  executions: ExecutionService,
  executionId: string,
  outcome: ExecutionOutcome,
  signal: AbortSignal,
): Promise<Execution | null> {
  for (;;) {
    try {
      return await executions.finish(executionId, outcome);
    } catch (error) {
      if (kindOf(error) !== 'STATE_UNAVAILABLE' || signal.aborted) throw error;
      await clock.sleep(storeRetryMs, signal);
    }
  }
}
