// Requests of this process that wait for the end of an execution.
import type { Clock } from '../../core/index.ts';
import { onAbort } from '../../core/index.ts';

export interface Waiting {
  /** Resolves when somebody wakes it, the time is up, or the signal aborts. */
  readonly over: Promise<void>;
  /** Lets go of everything. Safe to call twice. */
  cancel(): void;
}

export class Waiters {
  readonly #clock: Clock;
  readonly #byExecution = new Map<string, Set<() => void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Executions that are waited for. */
  get size(): number {
    return this.#byExecution.size;
  }

  wake(executionId: string): void {
    for (const end of this.#byExecution.get(executionId) ?? []) end();
  }

  /** Counts from now on: an end that comes before `over` is awaited is not missed. */
  wait(executionId: string, ms: number, signal: AbortSignal): Waiting {
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = () => {
      cancelTimer();
      forgetSignal();
      this.#forget(executionId, end);
      resolve();
    };
    const cancelTimer = this.#clock.after(ms, end);
    const waiting = this.#byExecution.get(executionId) ?? new Set();
    this.#byExecution.set(executionId, waiting.add(end));
    let forgetSignal: () => void = () => undefined;
    forgetSignal = onAbort(signal, end);
    return { over: promise, cancel: end };
  }

  #forget(executionId: string, end: () => void): void {
    const waiting = this.#byExecution.get(executionId);
    waiting?.delete(end);
    if (waiting?.size === 0) this.#byExecution.delete(executionId);
  }
}
