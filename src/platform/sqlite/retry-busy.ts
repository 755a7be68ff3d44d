// Waits for a SQLite file that another process has locked: for a limited time, and stoppable.
//
// Each try blocks the thread only for the busy timeout of its connection; between two tries the event loop runs.
import type { Clock } from '../../core/clock.ts';
import { HeadworksError } from '../../core/errors.ts';

/** The pause between two tries. */
export const busyRetryPauseMs = 100;

/** Shorter waits are not reported. */
const reportAfterMs = 500;

export interface BusyRetryOptions {
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  /** How long the file may stay locked before the error is thrown. */
  readonly timeoutMs: number;
  /** Called once when the wait takes longer than half a second. */
  readonly onWait?: () => void;
}

export function isSqliteBusy(error: unknown): error is HeadworksError {
  return error instanceof HeadworksError && error.code === 'SQLITE_BUSY';
}

/**
 * The result of `work`: at once when the file is free, else a promise that retries until it is. Fails with SQLITE_BUSY
 * after `timeoutMs`, with the signal's reason, or with any other error of `work`.
 */
export function retryWhileBusy<T>(work: () => T, options: BusyRetryOptions): T | Promise<T> {
  const since = options.clock.monotonic();
  try {
    return work();
  } catch (error) {
    if (!isSqliteBusy(error)) throw error;
    return keepTrying(work, options, since);
  }
}

async function keepTrying<T>(
  work: () => T,
  { clock, signal, timeoutMs, onWait }: BusyRetryOptions,
  since: number,
): Promise<T> {
  let isReported = false;
  for (;;) {
    await clock.sleep(busyRetryPauseMs, signal);
    try {
      return work();
    } catch (error) {
      const waitedMs = clock.monotonic() - since;
      if (!isSqliteBusy(error) || waitedMs >= timeoutMs) throw error;
      if (waitedMs < reportAfterMs || isReported) continue;
      isReported = true;
      onWait?.();
    }
  }
}
