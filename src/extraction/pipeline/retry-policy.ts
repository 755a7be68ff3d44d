// Decides about a failed page: retry it, fail it, or stop the run.
import type { Random } from '../../core/index.ts';
import { messageOf } from '../../core/index.ts';
import type { Backoff, FailureKind } from '../../resilience/index.ts';
import { exponentialBackoff } from '../../resilience/index.ts';
import { ExtractionError, FetchError } from '../errors.ts';

/** The failed attempts of a page so far. */
export interface Attempts {
  /** Failures that count as retries. */
  readonly failures: number;
  /** 429 responses: waiting for those does not count as a retry. */
  readonly rateLimitedCalls: number;
}

export const noAttempts: Attempts = { failures: 0, rateLimitedCalls: 0 };

export interface RetryPolicy {
  readonly retries: number;
  readonly backoff: Backoff;
}

export type RetryDecision =
  | {
      readonly action: 'retry';
      readonly cause: string;
      readonly delayMs: number;
      readonly attempts: Attempts;
    }
  | {
      readonly action: 'give-up';
      readonly cause: FailureKind;
      readonly message: string;
      /** The next page may fail for the same reason. */
      readonly isTransient: boolean;
    }
  | { readonly action: 'stop'; readonly error: unknown };

const longestRetryMs = 30_000;

export const retryPolicy = (retries: number, retryDelayMs: number): RetryPolicy => ({
  retries,
  backoff: exponentialBackoff({ initialMs: retryDelayMs, maxMs: longestRetryMs, jitter: 'equal' }),
});

/** After this many 429 responses a page is given up. */
const maxRateLimits = 25;

/**
 * A 429 is retried (the limiter waits as long as the server requests); server, network and timeout errors are retried with
 * growing delays; other errors are final. Rejected credentials stop the run, because every page would fail.
 */
export function decideRetry(
  error: unknown,
  attempts: Attempts,
  { retries, backoff }: RetryPolicy,
  random: Random,
): RetryDecision {
  if (!(error instanceof FetchError)) return { action: 'stop', error };
  const { kind, isTransient, status, hint } = error.failure;
  const message = messageOf(error);
  if (kind === 'rate-limit') {
    const rateLimitedCalls = attempts.rateLimitedCalls + 1;
    if (rateLimitedCalls > maxRateLimits)
      return { action: 'give-up', cause: kind, message, isTransient: true };
    // Without a hint our own backoff applies, because the limiter may not be adaptive.
    const delayMs = hint === undefined ? backoff.delayMs(rateLimitedCalls, random) : 0;
    return { action: 'retry', cause: kind, delayMs, attempts: { ...attempts, rateLimitedCalls } };
  }
  // A 401 after a new login may be the end of the next token already; a permanent one stops the run.
  const isExpired = kind === 'authentication' && status === 401;
  // A response without a status (too large, or a next page at another origin) fails the next time too.
  const isUnusable = kind === 'malformed' && status !== undefined;
  const canRetry = isTransient || isUnusable || isExpired;
  const failures = attempts.failures + 1;
  if (isExpired && failures > retries) return { action: 'stop', error: unauthenticated(error) };
  if (!canRetry || failures > retries)
    return { action: 'give-up', cause: kind, message, isTransient: canRetry };
  const delayMs = Math.max(backoff.delayMs(failures, random), hint?.retryAfterMs ?? 0);
  return { action: 'retry', cause: kind, delayMs, attempts: { ...attempts, failures } };
}

function unauthenticated(cause: FetchError): ExtractionError {
  return new ExtractionError(
    'EXTRACTION_UNAUTHENTICATED',
    `The source no longer accepts the credentials: ${cause.message} Committed pages are kept; run again to continue.`,
    { cause },
  );
}

/** A response that cannot be used; the same page may be correct the next time. */
export function pageRejected(message: string): FetchError {
  return new FetchError({ kind: 'malformed', isTransient: false, status: 200, hint: undefined }, message);
}
