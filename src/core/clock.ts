// Time, injected so that code can run on virtual time; and repetition on a clock.

export interface Clock {
  /** Wall-clock milliseconds since the epoch. May jump; use it for stamps that others read. */
  now(): number;
  /** Milliseconds that never run backwards. Only differences are meaningful. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason as soon as it aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `run` once after `ms`; the returned function cancels it. Does not keep the process alive. */
  after(ms: number, run: () => void): () => void;
}

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
