// The one place where executions end: the row, the webhook in the same transaction, then the slot and whoever waits.
import type { Clock, Emitter } from '../../core/index.ts';
import type { Execution, ExecutionOutcome, ExecutionStore } from '../ports.ts';
import type { AdmissionController } from '../admission/index.ts';
import type { ExecutionEvents } from './events.ts';
import type { Waiters } from './waiters.ts';

export interface EndParts {
  readonly store: Pick<ExecutionStore, 'end'>;
  readonly slots: Pick<AdmissionController, 'release'>;
  readonly waiters: Pick<Waiters, 'wake'>;
  readonly clock: Clock;
  readonly events: Emitter<ExecutionEvents>;
  /** Adds the webhook's job to the transaction, if the deployment wants one. */
  readonly queueWebhook: (execution: Execution, transaction: unknown) => Promise<void>;
}

/** Null when it has ended before, which somebody else has told; then nothing is done. */
export type EndExecution = (executionId: string, outcome: ExecutionOutcome) => Promise<Execution | null>;

export function createEndExecution(parts: EndParts): EndExecution {
  const { store, slots, waiters, clock, events, queueWebhook } = parts;
  return async (executionId, outcome) => {
    const at = new Date(clock.now());
    const ended = await store.end(executionId, outcome, at, queueWebhook);
    if (!ended) return null;
    waiters.wake(executionId);
    const { organizationId, deploymentId, status } = ended;
    events.emit('deployments:execution-ended', {
      executionId,
      organizationId,
      deploymentId,
      status,
      code: ended.failure?.code ?? null,
      durationMs: at.getTime() - ended.acceptedAt.getTime(),
    });
    // A process that dies here leaves a slot that the reconciler frees.
    await slots.release({ organizationId, executionId });
    return ended;
  };
}
