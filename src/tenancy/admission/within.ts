// Bounds how long somebody waits for a store.
import type { Clock } from '../../core/index.ts';

/**
 * What `work` gives, or `late()` thrown when it takes longer; the work itself goes on. Replies that came while this
 * process was busy still count: the time is up only when the event loop has gone round once more.
 */
export async function within<T>(clock: Clock, ms: number, work: Promise<T>, late: () => Error): Promise<T> {
  const { promise: timeIsUp, reject } = Promise.withResolvers<never>();
  let cancel = clock.after(ms, () => {
    cancel = clock.after(0, () => reject(late()));
  });
  try {
    return await Promise.race([work, timeIsUp]);
  } finally {
    cancel();
  }
}
