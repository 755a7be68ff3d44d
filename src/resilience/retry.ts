// Retries: the delay strategies, and the loop that uses them within the deadline of its signal.
import type { Clock } from '../core/clock.ts';
import { remainingMs } from '../core/abort.ts';
import { HeadworksError } from '../core/errors.ts';
import type { Random } from '../core/ids.ts';

/** One implementation: `exponentialBackoff`; tests pass fixed delays. */
export interface Backoff {
  /** Milliseconds before retry number `retry`; 1 is the first retry (the second attempt). */
  delayMs(retry: number, random: Random): number;
}

export interface ExponentialBackoffOptions {
  /** The delay before the first retry, without jitter. */
  readonly initialMs: number;
  /** The longest delay. */
  readonly maxMs: number;
  /** Each delay is this many times the previous one. Default 2. */
  readonly factor?: number;
  /**
   * `full`: anything from 0 to the delay; spreads many clients best. `equal`: from half the delay to the delay.
   * `none`: exactly the delay. Default `full`.
   */
  readonly jitter?: 'full' | 'equal' | 'none';
}

/** Growing delays with jitter, so that clients that failed together do not retry together. */
export function exponentialBackoff(options: ExponentialBackoffOptions): Backoff {
  const { initialMs, maxMs, factor = 2, jitter = 'full' } = options;
  assertDelay('initialMs', initialMs);
  assertDelay('maxMs', maxMs);
  if (!(factor >= 1 && Number.isFinite(factor)))
    throw new RangeError(`factor must be 1 or more, not ${factor}`);
  return {
    delayMs(retry, random) {
      const delayMs = Math.min(maxMs, initialMs * factor ** (retry - 1));
      if (jitter === 'none') return delayMs;
      return jitter === 'full' ? delayMs * random.next() : (delayMs / 2) * (1 + random.next());
    },
  };
}

function assertDelay(name: string, value: number): void {
  if (!(value >= 0 && Number.isFinite(value)))
    throw new RangeError(`${name} must be 0 or more, not ${value}`);
}

/** For reconnecting to a store: after 250 ms at first, every 10 s in the end. */
export const storeBackoff = exponentialBackoff({ initialMs: 250, maxMs: 10_000, jitter: 'equal' });

export interface RetryPolicy {
  /** Attempts after the first: 0 means one attempt, 3 means at most four. */
  readonly retries: number;
  readonly backoff: Backoff;
  /** Default: the error's own `isRetryable`; errors without it are not retried. */
  readonly isRetryable?: (error: unknown) => boolean;
  /** A longer delay than this ends the attempts at once. Default: no limit. */
  readonly maxDelayMs?: number;
}

export interface RetryContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly signal?: AbortSignal;
  /** Called before each delay. */
  readonly onRetry?: (failed: FailedAttempt) => void;
}

export interface FailedAttempt {
  readonly error: unknown;
  /** 1 for the first attempt. */
  readonly attempt: number;
  readonly delayMs: number;
}

/**
 * Runs `work` until it succeeds. Waits between attempts according to the backoff, and at least the error's `retryAfterMs`;
 * never after the last attempt, and never past the signal's deadline: it then fails at once. Fails with the error of
 * the last attempt, or with the signal's reason.
 *
 * @example
 * const policy = { retries: 3, backoff: exponentialBackoff({ initialMs: 1_000, maxMs: 30_000 }) };
 * const reply = await retry((attempt) => call(attempt), policy, { clock, random, signal });
 */
export async function retry<T>(
  work: (attempt: number, signal: AbortSignal | undefined) => Promise<T>,
  policy: RetryPolicy,
  { clock, random, signal, onRetry }: RetryContext,
): Promise<T> {
  const { retries, backoff, isRetryable = isRetryableError, maxDelayMs = Number.POSITIVE_INFINITY } = policy;
  if (!(Number.isInteger(retries) && retries >= 0))
    throw new RangeError(`retries must be a whole number from 0, not ${retries}`);
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted();
    try {
      return await work(attempt, signal);
    } catch (error) {
      signal?.throwIfAborted();
      const delayMs = Math.max(backoff.delayMs(attempt, random), retryAfterOf(error));
      const longestMs = Math.min(maxDelayMs, remainingMs(signal) ?? Number.POSITIVE_INFINITY);
      if (attempt > retries || delayMs > longestMs || !isRetryable(error)) throw error;
      onRetry?.({ error, attempt, delayMs });
      await clock.sleep(delayMs, signal);
    }
  }
}

function isRetryableError(error: unknown): boolean {
  return error instanceof HeadworksError && error.isRetryable;
}

function retryAfterOf(error: unknown): number {
  const ms = (error as { retryAfterMs?: unknown } | null | undefined)?.retryAfterMs;
  return typeof ms === 'number' && Number.isFinite(ms) && ms >= 0 ? ms : 0;
}
