// Executions in memory: for tests and for domains that run under virtual time. Nothing survives the process.
import { CoreError } from '../../../src/core/index.ts';
import type {
  Execution,
  ExecutionFilter,
  ExecutionInput,
  ExecutionOutcome,
  ExecutionStore,
} from '../../../src/tenancy/index.ts';

interface Kept {
  execution: Execution;
  input: ExecutionInput;
}

/** Newest first. */
const byId = (a: Kept, b: Kept): number => (a.execution.executionId < b.execution.executionId ? 1 : -1);

export class MemoryExecutionStore implements ExecutionStore {
  readonly #kept = new Map<string, Kept>();
  readonly #listeners = new Set<(executionId: string) => void>();
  readonly #hasDeployment: (deploymentId: string) => boolean;
  /** Dispatches and ends wait for each other, as transactions on one row would. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(hasDeployment: (deploymentId: string) => boolean = () => true) {
    this.#hasDeployment = hasDeployment;
  }

  dispatch(
    given: Omit<Execution, 'jobId'>,
    input: ExecutionInput,
    enqueue: (transaction: unknown) => Promise<string>,
    limits?: { readonly signal: AbortSignal },
  ): Promise<{ readonly execution: Execution; readonly isNew: boolean }> {
    return this.#inTurn(async () => {
      limits?.signal.throwIfAborted();
      const { deploymentId, idempotencyKey } = given;
      const known = idempotencyKey === null ? null : this.#byKey(deploymentId, idempotencyKey);
      if (known) return { execution: known, isNew: false };
      if (!this.#hasDeployment(deploymentId)) throw new CoreError('NOT_FOUND', 'The deployment was removed.');
      // Stored before its job: a queue in memory has no transactions and may start it at once.
      const kept = { execution: { ...given, jobId: '' }, input };
      this.#kept.set(given.executionId, kept);
      try {
        const jobId = await enqueue(undefined);
        kept.execution = { ...kept.execution, jobId };
        return { execution: { ...given, jobId }, isNew: true };
      } catch (error) {
        this.#kept.delete(given.executionId);
        throw error;
      }
    });
  }

  async get(executionId: string): Promise<Execution | null> {
    return this.#kept.get(executionId)?.execution ?? null;
  }

  async byIdempotencyKey(deploymentId: string, key: string): Promise<Execution | null> {
    return this.#byKey(deploymentId, key);
  }

  async list(filter: ExecutionFilter): Promise<readonly Execution[]> {
    const { organizationId, deploymentId, statuses, before, limit } = filter;
    return [...this.#kept.values()]
      .sort(byId)
      .map(({ execution }) => execution)
      .filter((each) => organizationId === undefined || each.organizationId === organizationId)
      .filter((each) => deploymentId === undefined || each.deploymentId === deploymentId)
      .filter((each) => statuses === undefined || statuses.includes(each.status))
      .filter((each) => before === undefined || each.executionId < before)
      .slice(0, limit)
      .map((each) => ({ ...each, result: null }));
  }

  async input(executionId: string): Promise<ExecutionInput | null> {
    return this.#kept.get(executionId)?.input ?? null;
  }

  async begin(executionId: string, at: Date): Promise<boolean> {
    const kept = this.#kept.get(executionId);
    if (!kept || kept.execution.finishedAt !== null) return false;
    const startedAt = kept.execution.startedAt ?? at;
    kept.execution = { ...kept.execution, status: 'running', startedAt };
    return true;
  }

  end(
    executionId: string,
    outcome: ExecutionOutcome,
    at: Date,
    alongside?: (execution: Execution, transaction: unknown) => Promise<unknown>,
  ): Promise<Execution | null> {
    return this.#inTurn(async () => {
      const kept = this.#kept.get(executionId);
      if (!kept || kept.execution.finishedAt !== null) return null;
      const before = kept.execution;
      const ended: Execution = { ...before, ...outcome, finishedAt: at };
      kept.execution = ended;
      try {
        await alongside?.(ended, undefined);
      } catch (error) {
        kept.execution = before;
        throw error;
      }
      for (const listener of this.#listeners) listener(executionId);
      return ended;
    });
  }

  async unfinished(): ReturnType<ExecutionStore['unfinished']> {
    return [...this.#kept.values()]
      .filter(({ execution }) => execution.finishedAt === null)
      .sort((a, b) => byId(b, a))
      .map(({ execution: { executionId, organizationId, acceptedAt, jobId } }) => ({
        executionId,
        organizationId,
        acceptedAt,
        jobId,
      }));
  }

  async ended(executionIds: readonly string[]): Promise<readonly string[]> {
    return executionIds.filter((id) => (this.#kept.get(id)?.execution.finishedAt ?? null) !== null);
  }

  async onEnded(listener: (executionId: string) => void): Promise<() => Promise<void>> {
    this.#listeners.add(listener);
    return async () => void this.#listeners.delete(listener);
  }

  async purge(before: Date, limit: number): Promise<number> {
    const old = this.#endedBefore(before).slice(0, limit);
    for (const { execution } of old) this.#kept.delete(execution.executionId);
    return old.length;
  }

  async purgeFiles(before: Date, limit: number): Promise<number> {
    const old = this.#endedBefore(before)
      .filter(({ input }) => input.files.length > 0)
      .slice(0, limit);
    for (const kept of old) kept.input = { ...kept.input, files: [] };
    return old.length;
  }

  #endedBefore(before: Date): Kept[] {
    return [...this.#kept.values()].filter(
      ({ execution: { finishedAt } }) => finishedAt !== null && finishedAt < before,
    );
  }

  #byKey(deploymentId: string, key: string): Execution | null {
    const found = [...this.#kept.values()].find(
      ({ execution }) => execution.deploymentId === deploymentId && execution.idempotencyKey === key,
    );
    return found?.execution ?? null;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    return done;
  }
}
