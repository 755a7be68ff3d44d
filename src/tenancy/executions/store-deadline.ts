// How long requests wait for the state store: one that hangs must not keep slots, nor callers who could ask elsewhere.
import type { Clock } from '../../core/index.ts';
import { CoreError, linkSignals } from '../../core/index.ts';

/** For a look at one execution, and for writing a small one; a healthy store needs milliseconds. */
export const storeDeadlineMs = 5_000;

/** Gives `ask` a signal that aborts after `ms`, with STATE_UNAVAILABLE, and as soon as `signal` does. */
export async function withinDeadline<T>(
  clock: Clock,
  ms: number,
  signal: AbortSignal | undefined,
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const asking = linkSignals(signal);
  const cancel = clock.after(ms, () => asking.abort(unanswered(ms)));
  try {
    return await ask(asking.signal);
  } finally {
    cancel();
    asking.dispose();
  }
}

function unanswered(ms: number): CoreError {
  return new CoreError(
    'STATE_UNAVAILABLE',
    `The state store did not answer within ${ms / 1_000} s. Check that it runs and is not overloaded.`,
    { isRetryable: true },
  );
}
