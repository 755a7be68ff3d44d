// Executions for the API: get, list, wait for the end, stop, release a leaked slot; and their retention.
import type { Clock, JobQueue } from '../../core/index.ts';
import { CoreError, onAbort, withTimeout } from '../../core/index.ts';
import type { Deployment } from '../types.ts';
import type { Execution, ExecutionFilter, ExecutionStore, FinishExecution } from './types.ts';

/** For one execution; a healthy store takes milliseconds, and one that hangs must not hold slots or callers. */
export const storeTimeoutMs = 5_000;
/** Waiting requests also poll: a notification can be missed while the store reconnects. */
const pollMs = 5_000;

export const storeTimeout = (timeoutMs: number) => (): CoreError =>
  new CoreError(
    'STATE_UNAVAILABLE',
    `The state store did not reply within ${timeoutMs / 1_000} s. Check that it runs and is not overloaded.`,
    { isRetryable: true },
  );

export interface ExecutionServiceDeps {
  readonly store: Pick<ExecutionStore, 'get' | 'list'>;
  readonly finish: FinishExecution;
  readonly notifier: Pick<EndNotifier, 'wait'>;
  readonly jobs: Pick<JobQueue, 'cancel'>;
  /** Releases the slot held by this execution id; whether there was one. */
  readonly releaseSlot: (executionId: string) => Promise<boolean>;
  readonly clock: Clock;
}

export class ExecutionService {
  readonly #deps: ExecutionServiceDeps;

  constructor(deps: ExecutionServiceDeps) {
    this.#deps = deps;
  }

  /** Of any organization. Fails with NOT_FOUND. */
  async get(id: string): Promise<Execution> {
    return (await this.#find(id)) ?? notFound(id);
  }

  /** Of this deployment only. Fails with NOT_FOUND. */
  async getOf(deployment: Deployment, id: string): Promise<Execution> {
    const execution = await this.#find(id);
    const isOwn = execution?.deploymentId === deployment.id;
    return execution && isOwn ? execution : notFound(id);
  }

  list(filter: ExecutionFilter): Promise<readonly Execution[]> {
    return this.#deps.store.list(filter);
  }

  /** Resolves when the execution has ended; or with its current state after `timeoutMs` or when the signal aborts. */
  async whenEnded(id: string, timeoutMs: number, signal: AbortSignal): Promise<Execution> {
    const { notifier, clock } = this.#deps;
    const until = clock.monotonic() + timeoutMs;
    for (;;) {
      const remainingMs = until - clock.monotonic();
      // Registered before the read: an end in between is not missed.
      const waiting = notifier.wait(id, Math.min(Math.max(remainingMs, 0), pollMs), signal);
      try {
        const execution = await this.get(id);
        if (execution.endedAt !== null || remainingMs <= 0 || signal.aborted) return execution;
        await waiting.over;
      } finally {
        waiting.cancel();
      }
    }
  }

  /** Ends it as stopped and cancels its job; an ended one is returned as it is. Fails with NOT_FOUND. */
  async stop(id: string): Promise<Execution> {
    const { finish, jobs } = this.#deps;
    const execution = await this.get(id);
    if (execution.endedAt !== null) return execution;
    // Ended before the job is canceled: the outcome of the running job no longer counts.
    const stopped = await finish(id, { status: 'stopped' });
    await jobs.cancel(execution.jobId);
    return stopped ?? this.get(id);
  }

  /** Releases the slot of an ended or unknown execution. Fails with CONFLICT while it is unfinished. */
  async release(id: string): Promise<{ readonly wasHeld: boolean }> {
    const execution = await this.#find(id);
    if (execution && execution.endedAt === null)
      throw new CoreError(
        'CONFLICT',
        `The execution ${id} is ${execution.status} and needs its slot. Stop it, which releases the slot as well.`,
      );
    return { wasHeld: await this.#deps.releaseSlot(id) };
  }

  #find(id: string): Promise<Execution | null> {
    const { store, clock } = this.#deps;
    return withTimeout((signal) => store.get(id, signal), {
      clock,
      timeoutMs: storeTimeoutMs,
      onTimeout: storeTimeout(storeTimeoutMs),
    });
  }
}

function notFound(id: string): never {
  throw new CoreError('NOT_FOUND', `There is no execution ${id}.`);
}

/** Requests of this process that wait for the end of an execution. */
export class EndNotifier {
  readonly #clock: Clock;
  readonly #byExecution = new Map<string, Set<() => void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Executions that are waited for. */
  get size(): number {
    return this.#byExecution.size;
  }

  notify(executionId: string): void {
    for (const end of this.#byExecution.get(executionId) ?? []) end();
  }

  /** `over` resolves on a notification, after `ms`, or when the signal aborts. `cancel` may be called twice. */
  wait(
    executionId: string,
    ms: number,
    signal: AbortSignal,
  ): { readonly over: Promise<void>; readonly cancel: () => void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = () => {
      cancelTimer();
      removeListener();
      this.#remove(executionId, end);
      resolve();
    };
    const cancelTimer = this.#clock.after(ms, end);
    const waiting = this.#byExecution.get(executionId) ?? new Set();
    this.#byExecution.set(executionId, waiting.add(end));
    let removeListener: () => void = () => undefined;
    removeListener = onAbort(signal, end);
    return { over: promise, cancel: end };
  }

  #remove(executionId: string, end: () => void): void {
    const waiting = this.#byExecution.get(executionId);
    waiting?.delete(end);
    if (waiting?.size === 0) this.#byExecution.delete(executionId);
  }
}

/** In the shape of the retention rules of operations. */
export function executionRetentionRules(
  store: Pick<ExecutionStore, 'purge' | 'purgeFiles'>,
  days: { readonly executionsDays: number; readonly executionFilesDays: number },
) {
  return [
    {
      kind: 'execution-files',
      describe: 'files of ended executions',
      keepDays: days.executionFilesDays,
      purge: (before: Date, limit: number) => store.purgeFiles(before, limit),
    },
    {
      kind: 'executions',
      describe: 'ended executions',
      keepDays: days.executionsDays,
      purge: (before: Date, limit: number) => store.purge(before, limit),
    },
  ];
}
