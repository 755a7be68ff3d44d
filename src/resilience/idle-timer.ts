// One timer for the consecutive waits of one operation.
import type { Clock } from '../core/index.ts';

/**
 * The underlying timer stays armed from one wait to the next and is set again only when it fires too early or would
 * fire too late: nearly every operation ends first, with one timer instead of one per wait.
 */
export class IdleTimer {
  readonly #clock: Clock;
  readonly #onTimeout: (timeoutMs: number) => void;
  #timeoutMs = 0;
  /** Monotonic, as all times here. */
  #dueAt = Number.POSITIVE_INFINITY;
  #firesAt = Number.POSITIVE_INFINITY;
  #cancel: () => void = () => undefined;

  /** `onTimeout` is called when a wait exceeds its timeout, with that timeout. */
  constructor(clock: Clock, onTimeout: (timeoutMs: number) => void) {
    this.#clock = clock;
    this.#onTimeout = onTimeout;
  }

  /** Starts a wait, which ends the previous one. The timeout may be infinite. */
  start(timeoutMs: number): void {
    this.#timeoutMs = timeoutMs;
    this.#dueAt = this.#clock.monotonic() + timeoutMs;
    if (this.#firesAt > this.#dueAt) this.#arm(timeoutMs);
  }

  /** Ends the wait; another one will start soon. */
  pause(): void {
    this.#dueAt = Number.POSITIVE_INFINITY;
  }

  /** Ends the wait and cancels the underlying timer. */
  stop(): void {
    this.#cancel();
    this.#dueAt = this.#firesAt = Number.POSITIVE_INFINITY;
  }

  #arm(ms: number): void {
    this.#cancel();
    this.#firesAt = this.#clock.monotonic() + ms;
    this.#cancel = this.#clock.after(ms, () => {
      this.#firesAt = Number.POSITIVE_INFINITY;
      const leftMs = this.#dueAt - this.#clock.monotonic();
      if (leftMs === Number.POSITIVE_INFINITY) return;
      if (leftMs > 0) this.#arm(leftMs);
      else this.#onTimeout(this.#timeoutMs);
    });
  }
}
