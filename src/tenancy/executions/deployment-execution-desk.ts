// Executions as the door and people handle them: look, wait, stop, free what is held for nothing.
import type { Clock, JobQueue } from '../../core/index.ts';
import { CoreError } from '../../core/index.ts';
import type { ExecutionDesk } from '../desk-ports.ts';
import type { Deployment, Execution, ExecutionFilter, ExecutionStore } from '../ports.ts';
import type { EndExecution } from './end-execution.ts';
import { storeDeadlineMs, withinDeadline } from './store-deadline.ts';
import type { Waiters } from './waiters.ts';

export interface ExecutionDeskParts {
  readonly store: Pick<ExecutionStore, 'get' | 'list'>;
  readonly end: EndExecution;
  readonly waiters: Pick<Waiters, 'wait'>;
  readonly jobs: Pick<JobQueue, 'cancel'>;
  /** Frees whatever slot is held in this execution's name; whether one was. */
  readonly freeSlot: (executionId: string) => Promise<boolean>;
  readonly clock: Clock;
}

/** Who waits looks as often as this by itself: a notification can be missed while the store reconnects. */
const lookEveryMs = 5_000;

export class DeploymentExecutionDesk implements ExecutionDesk {
  readonly #parts: ExecutionDeskParts;

  constructor(parts: ExecutionDeskParts) {
    this.#parts = parts;
  }

  async get(id: string): Promise<Execution> {
    return (await this.#find(id)) ?? unknown(id);
  }

  async getOf(deployment: Deployment, id: string): Promise<Execution> {
    const execution = await this.#find(id);
    const isOurs = execution?.deploymentId === deployment.id;
    return execution && isOurs ? execution : unknown(id);
  }

  list(filter: ExecutionFilter): Promise<readonly Execution[]> {
    return this.#parts.store.list(filter);
  }

  async whenEnded(id: string, timeoutMs: number, signal: AbortSignal): Promise<Execution> {
    const { waiters, clock } = this.#parts;
    const until = clock.monotonic() + timeoutMs;
    for (;;) {
      const leftMs = until - clock.monotonic();
      // Before it is looked at: an end in between wakes it.
      const waiting = waiters.wait(id, Math.min(Math.max(leftMs, 0), lookEveryMs), signal);
      try {
        const execution = await this.get(id);
        if (execution.endedAt !== null || leftMs <= 0 || signal.aborted) return execution;
        await waiting.over;
      } finally {
        waiting.cancel();
      }
    }
  }

  async stop(id: string): Promise<Execution> {
    const { end, jobs } = this.#parts;
    const execution = await this.get(id);
    if (execution.endedAt !== null) return execution;
    // Ended first: whatever the one who runs it says afterwards no longer counts.
    const stopped = await end(id, { status: 'stopped' });
    await jobs.cancel(execution.jobId);
    return stopped ?? this.get(id);
  }

  async release(id: string): Promise<{ readonly wasHeld: boolean }> {
    const execution = await this.#find(id);
    if (execution && execution.endedAt === null)
      throw new CoreError(
        'CONFLICT',
        `The execution ${id} is ${execution.status}: it needs its slot. Stop it, which frees the slot as well.`,
      );
    return { wasHeld: await this.#parts.freeSlot(id) };
  }

  #find(id: string): Promise<Execution | null> {
    const { store, clock } = this.#parts;
    return withinDeadline(clock, storeDeadlineMs, undefined, (signal) => store.get(id, signal));
  }
}

function unknown(id: string): never {
  throw new CoreError('NOT_FOUND', `There is no execution ${id}.`);
}
