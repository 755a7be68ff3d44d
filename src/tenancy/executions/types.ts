// Executions, their input and outcome, and the store that holds them.
import type { Slot } from '../admission/types.ts';
import type { ExecutionState } from '../vocabulary.ts';

export type { ExecutionState };

export interface ExecutionFailure {
  readonly code: string;
  /** For operators: names models and settings. */
  readonly message: string;
  /** For the organization; absent where `message` may be shown to it. */
  readonly tenantMessage?: string | undefined;
}

export interface Execution extends Slot {
  readonly deploymentId: string;
  readonly status: ExecutionState;
  readonly idempotencyKey: string | null;
  /** Hash of parameters and files: the same key with another request is rejected. */
  readonly requestHash: string;
  readonly jobId: string;
  readonly acceptedAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly result: unknown;
  readonly failure: ExecutionFailure | null;
  /** Sentences about omissions and fallbacks. */
  readonly warnings: readonly string[];
}

export interface UploadedFile {
  readonly name: string;
  /** As declared, and verified. */
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

export interface ExecutionInput {
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly files: readonly UploadedFile[];
}

export type ExecutionOutcome =
  | { readonly status: 'completed'; readonly result: unknown; readonly warnings: readonly string[] }
  | { readonly status: 'failed'; readonly failure: ExecutionFailure }
  | { readonly status: 'canceled' };

export interface ExecutionFilter {
  readonly organizationId?: string | undefined;
  readonly deploymentId?: string | undefined;
  readonly statuses?: readonly ExecutionState[] | undefined;
  readonly limit: number;
  /** Only executions older than the one with this id. */
  readonly before?: string | undefined;
}

export interface ExecutionStore {
  /**
   * Adds execution, files and job in one transaction. When the deployment has an execution with the same idempotency
   * key, that one is returned and nothing is added, nor after the signal aborts. Only a commit that has begun is waited
   * for, `withinMs`: a dispatch that then fails with STATE_UNAVAILABLE may have been committed.
   */
  dispatch(
    execution: Omit<Execution, 'jobId'>,
    input: ExecutionInput,
    enqueue: (transaction: unknown) => Promise<string>,
    limits?: { readonly signal: AbortSignal; readonly withinMs: number },
  ): Promise<{ readonly execution: Execution; readonly isNew: boolean }>;
  get(executionId: string, signal?: AbortSignal): Promise<Execution | null>;
  byIdempotencyKey(deploymentId: string, key: string, signal?: AbortSignal): Promise<Execution | null>;
  /** Newest first, without results. */
  list(filter: ExecutionFilter): Promise<readonly Execution[]>;
  input(executionId: string): Promise<ExecutionInput | null>;
  /** queued or running → running. False when it has ended. */
  begin(executionId: string, at: Date): Promise<boolean>;
  /**
   * Ends an execution once: null when it had ended before or is unknown. Notifies all processes. What `alongside` adds
   * to the transaction is committed only if the execution ended here.
   */
  end(
    executionId: string,
    outcome: ExecutionOutcome,
    at: Date,
    alongside?: (execution: Execution, transaction: unknown) => Promise<unknown>,
  ): Promise<Execution | null>;
  unfinished(): Promise<readonly (Slot & { readonly acceptedAt: Date; readonly jobId: string })[]>;
  /** Those of these ids that have ended. */
  ended(executionIds: readonly string[]): Promise<readonly string[]>;
  /** Calls back with the id of every execution that ends, in any process. */
  onEnded(listener: (executionId: string) => void): Promise<() => Promise<void>>;
  /** Deletes at most `limit` executions that ended before `before`, with their files; returns how many. */
  purge(before: Date, limit: number): Promise<number>;
  /** Deletes the files of executions that ended before `before`; returns how many executions had some. */
  purgeFiles(before: Date, limit: number): Promise<number>;
}
