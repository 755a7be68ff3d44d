// Repeats an asynchronous task with a pause after each run.
import type { Clock } from './clock.ts';

/** Runs `run` `ms` after the previous run has ended; it must not reject. The returned function stops the repetition. */
export function every(clock: Clock, ms: number, run: () => Promise<unknown>): () => void {
  let cancel: () => void = () => undefined;
  let isStopped = false;
  const schedule = (): void => {
    if (!isStopped) cancel = clock.after(ms, () => void run().finally(schedule));
  };
  schedule();
  return () => {
    isStopped = true;
    cancel();
  };
}
