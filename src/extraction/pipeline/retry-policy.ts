// What to do about a page that did not come: ask again, and when; give it up; or stop altogether.
import type { Random } from '../../core/index.ts';
import { messageOf } from '../../core/index.ts';
import type { Backoff, FailureKind } from '../../resilience/index.ts';
import { ExtractionError, FetchError } from '../errors.ts';

/** How often a page was asked for so far, by what came of it. */
export interface Attempts {
  /** Failures that count. */
  readonly failures: number;
  /** Answers that said "too many": waiting for those costs no retry. */
  readonly rateLimitedCalls: number;
}

export interface RetryPolicy {
  readonly retries: number;
  readonly backoff: Backoff;
}

export type RetryDecision =
  | { readonly do: 'again'; readonly cause: string; readonly waitMs: number; readonly attempts: Attempts }
  | {
      readonly do: 'give-up';
      readonly cause: FailureKind;
      readonly message: string;
      /** The next page may well meet the same. */
      readonly isTransient: boolean;
    }
  | { readonly do: 'stop'; readonly error: unknown };

/** A server that refuses one page so often will not change its mind. */
const maxRateLimits = 25;

/**
 * 429 is waited for (the limiter holds everybody back as long as the server said); server errors, network and timeout
 * are tried again with growing waits; other rateLimitedCalls are final. Refused credentials end the run: no page would come.
 */
export function decideRetry(
  error: unknown,
  attempts: Attempts,
  { retries, backoff }: RetryPolicy,
  random: Random,
): RetryDecision {
  if (!(error instanceof FetchError)) return { do: 'stop', error };
  const { kind, isTransient, status, hint } = error.failure;
  const message = messageOf(error);
  if (kind === 'rate-limit') {
    const rateLimitedCalls = attempts.rateLimitedCalls + 1;
    if (rateLimitedCalls > maxRateLimits) return { do: 'give-up', cause: kind, message, isTransient: true };
    // Without a word from the server our own backoff has to do: the limiter may not be adaptive.
    const waitMs = hint === undefined ? backoff.delayMs(rateLimitedCalls, random) : 0;
    return { do: 'again', cause: kind, waitMs, attempts: { ...attempts, rateLimitedCalls } };
  }
  // A 401 that stays after a new login may be the next token's end already; one that stays for good ends the run.
  const isUnknown = kind === 'authentication' && status === 401;
  // An answer that was too large, or a next page that is elsewhere, is so the next time too: there is no status then.
  const isMangled = kind === 'malformed' && status !== undefined;
  const mayChange = isTransient || isMangled || isUnknown;
  const failures = attempts.failures + 1;
  if (isUnknown && failures > retries) return { do: 'stop', error: unauthenticated(error) };
  if (!mayChange || failures > retries)
    return { do: 'give-up', cause: kind, message, isTransient: mayChange };
  const waitMs = Math.max(backoff.delayMs(failures, random), hint?.retryAfterMs ?? 0);
  return { do: 'again', cause: kind, waitMs, attempts: { ...attempts, failures } };
}

function unauthenticated(cause: FetchError): ExtractionError {
  return new ExtractionError(
    'EXTRACTION_UNAUTHENTICATED',
    `The source no longer accepts the credentials: ${cause.message} What was committed stays; run again to go on.`,
    { cause },
  );
}

/** An answer that came and is of no use; the same page may come right the next time. */
export function pageRejected(message: string): FetchError {
  return new FetchError({ kind: 'malformed', isTransient: false, status: 200, hint: undefined }, message);
}
