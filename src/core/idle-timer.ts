// One timer for consecutive waits, such as the phases of a call or the gaps between the chunks of a stream.
import type { Clock } from './clock.ts';

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
