// Connecting to a source that may be busy: a few tries, but never a long wait to hear that a setting is wrong.
import type { Clock } from '../../core/index.ts';
import { messageOf } from '../../core/index.ts';
import type { FailedAttempt } from '../../resilience/index.ts';
import { exponentialBackoff, retry } from '../../resilience/index.ts';
import { ExtractionError, FetchFailure } from '../errors.ts';
import type { OnConnectWait } from '../ports.ts';

/** Only a server that answers is asked again. */
const policy = {
  retries: 3,
  backoff: exponentialBackoff({ initialMs: 1_000, maxMs: 8_000, jitter: 'none' }),
  maxDelayMs: 60_000,
  isRetryable: (error: unknown) =>
    error instanceof ExtractionError &&
    error.isRetryable &&
    error.cause instanceof FetchFailure &&
    error.cause.failure.status !== undefined,
};

/** Fails with an ExtractionError or the signal's reason. */
export async function connectPatiently(
  work: (signal: AbortSignal) => Promise<void>,
  clock: Clock,
  signal: AbortSignal,
  onWait?: OnConnectWait,
): Promise<void> {
  const onRetry = ({ error, delayMs }: FailedAttempt) => onWait?.(messageOf(error), delayMs);
  await retry(() => work(signal), policy, { clock, random: { next: () => 0 }, signal, onRetry });
}
