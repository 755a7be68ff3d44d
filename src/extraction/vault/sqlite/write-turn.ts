// Threads that write to one file take turns. SQLite itself only lets them poll for its lock, with growing sleeps: of
// eight threads some then waited for more than a second, and the main thread with them (figures in the README).
//
// A courtesy, not a lock: SQLite's own lock keeps the file right. So a thread that dies in its turn costs the others
// one wait, no more.

/** Longer than any page takes to write. */
const longestTurnMs = 1_000;

/** To be handed to every thread: whether it is somebody's turn, and the bytes written since the log was merged. */
export const newTurn = (): SharedArrayBuffer => new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);

/** A counter for `mergeLogWhenLong`. */
export const bytesSinceMerge = (turn: SharedArrayBuffer): Int32Array =>
  new Int32Array(turn, Int32Array.BYTES_PER_ELEMENT, 1);

/** Runs `work` when the others have had their turn, or took too long with it. Blocks the thread. */
export function inTurn<T>(turn: SharedArrayBuffer, work: () => T, longestWaitMs = longestTurnMs): T {
  const taken = new Int32Array(turn);
  while (Atomics.compareExchange(taken, 0, 0, 1) !== 0)
    if (Atomics.wait(taken, 0, 1, longestWaitMs) === 'timed-out') break;
  try {
    return work();
  } finally {
    Atomics.store(taken, 0, 0);
    Atomics.notify(taken, 0, 1);
  }
}
