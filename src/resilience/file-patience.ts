// A SQLite file that another process holds: waited for, but not for ever, and never deaf to a stop.
//
// Every try blocks the thread for a moment only (the busy timeout of its connection); between two tries others run.
import type { Clock } from '../core/clock.ts';
import { HeadworksError } from '../core/errors.ts';

/** Between two tries. */
export const filePauseMs = 100;

/** A wait that is shorter is not worth a word. */
const silentMs = 500;

export interface FileWait {
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  /** How long another may hold the file before it counts as hanging. */
  readonly patienceMs: number;
  /** Told once, when it takes longer than a moment. */
  readonly onWait?: () => void;
}

export function isFileBusy(error: unknown): error is HeadworksError {
  return error instanceof HeadworksError && error.code === 'SQLITE_BUSY';
}

/**
 * What `work` gives: at once when the file is free, else as a promise that tries until it is. Fails with SQLITE_BUSY
 * when that takes too long, with the signal's reason, or with whatever else `work` throws.
 */
export function onceFileIsFree<T>(work: () => T, wait: FileWait): T | Promise<T> {
  const since = wait.clock.monotonic();
  try {
    return work();
  } catch (error) {
    if (!isFileBusy(error)) throw error;
    return tryAgain(work, wait, since);
  }
}

async function tryAgain<T>(
  work: () => T,
  { clock, signal, patienceMs, onWait }: FileWait,
  since: number,
): Promise<T> {
  let isTold = false;
  for (;;) {
    await clock.sleep(filePauseMs, signal);
    try {
      return work();
    } catch (error) {
      const waitedMs = clock.monotonic() - since;
      if (!isFileBusy(error) || waitedMs >= patienceMs) throw error;
      if (waitedMs < silentMs || isTold) continue;
      isTold = true;
      onWait?.();
    }
  }
}
