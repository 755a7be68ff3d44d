// Tries work again while that makes sense, inside the deadline that its signal carries.
import type { Clock } from '../core/clock.ts';
import { CoreError, HeadworksError, messageOf } from '../core/errors.ts';
import type { Random } from '../core/random.ts';
import type { Backoff } from './backoff.ts';
import { deadlineOf } from './deadline.ts';

export interface RetryPolicy {
  /** Tries after the first: 0 means one try, 3 means at most four. */
  readonly retries: number;
  readonly backoff: Backoff;
  /** Default: what the error itself says (`isRetryable`); errors that say nothing are not tried again. */
  readonly isRetryable?: (error: unknown) => boolean;
  /** A hint that asks for a longer wait than this ends the tries at once. Default: no such limit. */
  readonly maxWaitMs?: number;
}

export interface RetryContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly signal?: AbortSignal | undefined;
  /** Called before each wait. */
  readonly onRetry?: (failed: FailedTry) => void;
}

export interface FailedTry {
  readonly error: unknown;
  /** 1 for the first try. */
  readonly attempt: number;
  readonly waitMs: number;
}

/** Why no further try was made. */
export type RetryStop = 'retries' | 'permanent' | 'deadline' | 'wait-too-long';

/** Every try failed. Consequence: the caller decides; `errors` has one entry per try, in order. */
export class RetriesExhaustedError extends CoreError {
  readonly errors: readonly unknown[];
  readonly stoppedBy: RetryStop;

  constructor(errors: readonly unknown[], stoppedBy: RetryStop, explanation: string) {
    const last = errors.at(-1);
    const retryAfterMs = retryAfterOf(last);
    const tries = errors.length === 1 ? '1 try' : `${errors.length} tries`;
    super('RETRIES_EXHAUSTED', `Gave up after ${tries}: ${explanation} Last error: ${messageOf(last)}`, {
      isRetryable: stoppedBy !== 'permanent',
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      details: { tries: errors.length, stoppedBy },
      cause: last,
    });
    this.errors = errors;
    this.stoppedBy = stoppedBy;
  }

  get lastError(): unknown {
    return this.errors.at(-1);
  }
}

/**
 * Runs `work` until it succeeds. Waits between tries as the backoff says, and at least as long as the error's own
 * `retryAfterMs`; never waits after the last try, nor into a deadline it could not meet.
 * Fails with RetriesExhaustedError; with the error itself when the very first try failed for good; with the
 * signal's reason when the caller aborts.
 */
export async function retry<T>(
  work: (attempt: number, signal: AbortSignal | undefined) => Promise<T>,
  policy: RetryPolicy,
  context: RetryContext,
): Promise<T> {
  const { retries } = policy;
  if (!(Number.isInteger(retries) && retries >= 0))
    throw new RangeError(`retries must be a whole number from 0, not ${retries}`);
  const { clock, random, signal } = context;
  const errors: unknown[] = [];
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted();
    try {
      return await work(attempt, signal);
    } catch (error) {
      if (signal?.aborted) throw abortedBy(signal, errors);
      errors.push(error);
      const waitMs = Math.max(policy.backoff.delayMs(attempt, random), retryAfterOf(error) ?? 0);
      const stop = whyStop(error, errors.length, waitMs, policy, signal);
      if (stop) throw stop.by === 'permanent' && errors.length === 1 ? error : exhausted(errors, stop);
      context.onRetry?.({ error, attempt, waitMs });
      try {
        await clock.sleep(waitMs, signal);
      } catch (reason) {
        throw signal?.aborted ? abortedBy(signal, errors) : reason;
      }
    }
  }
}

interface Stop {
  readonly by: RetryStop;
  readonly explanation: string;
}

function whyStop(
  error: unknown,
  tries: number,
  waitMs: number,
  policy: RetryPolicy,
  signal: AbortSignal | undefined,
): Stop | undefined {
  if (!(policy.isRetryable ?? saysRetryable)(error))
    return { by: 'permanent', explanation: 'trying again would not help.' };
  if (tries > policy.retries)
    return { by: 'retries', explanation: `${policy.retries} retries were allowed.` };
  const wait = `the next try could only start in ${Math.ceil(waitMs)} ms`;
  if (policy.maxWaitMs !== undefined && waitMs > policy.maxWaitMs)
    return { by: 'wait-too-long', explanation: `${wait}, and at most ${policy.maxWaitMs} ms are waited.` };
  const deadline = deadlineOf(signal);
  if (deadline && waitMs >= deadline.remainingMs()) {
    const leftMs = Math.floor(deadline.remainingMs());
    return { by: 'deadline', explanation: `${wait}, but "${deadline.budget}" has ${leftMs} ms left.` };
  }
  return undefined;
}

function exhausted(errors: readonly unknown[], { by, explanation }: Stop): RetriesExhaustedError {
  return new RetriesExhaustedError(errors, by, explanation);
}

/** A caller's abort is passed on as it is; a deadline that ran out during a later try keeps what failed before. */
function abortedBy(signal: AbortSignal, errors: readonly unknown[]): unknown {
  const reason: unknown = signal.reason;
  const isDeadline = reason instanceof CoreError && reason.code === 'DEADLINE_EXCEEDED';
  if (!isDeadline || errors.length === 0) return reason;
  return new RetriesExhaustedError([...errors, reason], 'deadline', 'the time ran out.');
}

function saysRetryable(error: unknown): boolean {
  return error instanceof HeadworksError && error.isRetryable;
}

function retryAfterOf(error: unknown): number | undefined {
  const ms = (error as { retryAfterMs?: unknown } | null | undefined)?.retryAfterMs;
  return typeof ms === 'number' && Number.isFinite(ms) && ms >= 0 ? ms : undefined;
}
