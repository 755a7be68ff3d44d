// Time, injected so that code can run on virtual time; repetition, and one timer for consecutive waits.

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

/**
 * Calls `onTimeout` when a wait takes longer than allowed. An armed timer is kept for the next wait and is set again
 * only when it would fire too late: a stream of 1,000 chunks sets one timer instead of 1,000.
 */
export class IdleTimer {
  readonly #clock: Clock;
  readonly #onTimeout: (allowedMs: number) => void;
  #allowedMs = 0;
  #dueAt = Number.POSITIVE_INFINITY;
  #firesAt = Number.POSITIVE_INFINITY;
  #cancel: () => void = () => undefined;

  constructor(clock: Clock, onTimeout: (allowedMs: number) => void) {
    this.#clock = clock;
    this.#onTimeout = onTimeout;
  }

  /** Starts a wait of at most `ms` (may be Infinity) and ends the previous one. */
  start(ms: number): void {
    this.#allowedMs = ms;
    this.#dueAt = this.#clock.monotonic() + ms;
    if (this.#firesAt > this.#dueAt) this.#arm(ms);
  }

  /** Ends the wait; the timer stays armed for the next `start`. */
  pause(): void {
    this.#dueAt = Number.POSITIVE_INFINITY;
  }

  /** Ends the wait and cancels the timer. */
  stop(): void {
    this.#cancel();
    this.#dueAt = this.#firesAt = Number.POSITIVE_INFINITY;
  }

  #arm(ms: number): void {
    this.#cancel();
    this.#firesAt = this.#clock.monotonic() + ms;
    this.#cancel = this.#clock.after(ms, () => {
      this.#firesAt = Number.POSITIVE_INFINITY;
      const remainingMs = this.#dueAt - this.#clock.monotonic();
      if (remainingMs === Number.POSITIVE_INFINITY) return;
      if (remainingMs > 0) this.#arm(remainingMs);
      else this.#onTimeout(this.#allowedMs);
    });
  }
}
