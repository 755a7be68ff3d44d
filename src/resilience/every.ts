// Something that is done again and again, with a rest in between.
import type { Clock } from '../core/index.ts';

/** Runs it each time so long after the last run has ended, which must not reject. The returned function ends that. */
export function every(clock: Clock, ms: number, run: () => Promise<unknown>): () => void {
  let cancel: () => void = () => undefined;
  let isStopped = false;
  const arm = (): void => {
    if (!isStopped) cancel = clock.after(ms, () => void run().finally(arm));
  };
  arm();
  return () => {
    isStopped = true;
    cancel();
  };
}
