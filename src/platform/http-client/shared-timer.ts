// One timer for many timeouts.
import type { Clock } from '../../core/index.ts';

/**
 * A timer that was armed for a wait stays armed for the next one, and is set anew only when it fires too early or
 * would fire too late: nearly every call ends first, having set one timer instead of one a wait.
 */
export class SharedTimer {
  readonly #clock: Clock;
  readonly #onLate: (ms: number) => void;
  #allowedMs = 0;
  #dueAt = Number.POSITIVE_INFINITY;
  #firesAt = Number.POSITIVE_INFINITY;
  #cancel: () => void = () => undefined;

  /** `onLate` is called when a wait took longer than it was allowed to, with what that was. */
  constructor(clock: Clock, onLate: (allowedMs: number) => void) {
    this.#clock = clock;
    this.#onLate = onLate;
  }

  /** A wait begins, and the one before is over. It may be endless. */
  allow(ms: number): void {
    this.#allowedMs = ms;
    this.#dueAt = this.#clock.monotonic() + ms;
    if (this.#firesAt > this.#dueAt) this.#arm(ms);
  }

  /** Nothing is waited for any more. */
  end(): void {
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
      else this.#onLate(this.#allowedMs);
    });
  }
}
