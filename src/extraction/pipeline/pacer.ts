// Spreads calls over the second instead of making them all at its beginning.
//
// A server counts arrivals. Calls of a burst wait for each other on the way, the next burst's do not, and the limit that
// we kept is broken at the other end (measured: 5 to 25 ms apart in bursts of 50, with 10 ms to spare).
import type { Clock } from '../../core/index.ts';

/** Of the second: the rest is room to catch up in. */
const share = 0.8;
/** Timers cannot wait less. */
const shortestMs = 1;

export class Pacer {
  readonly #clock: Clock;
  readonly #spacingMs: number;
  #nextAt = Number.NEGATIVE_INFINITY;

  constructor(perSecond: number, clock: Clock) {
    this.#clock = clock;
    this.#spacingMs = (share * 1000) / perSecond;
  }

  /** Resolves when it is this caller's turn; the limiter still has to agree. Rejects when the signal aborts first. */
  async turn(signal: AbortSignal): Promise<void> {
    if (this.#spacingMs < shortestMs) return;
    const now = this.#clock.monotonic();
    const at = Math.max(now, this.#nextAt);
    this.#nextAt = at + this.#spacingMs;
    if (at > now) await this.#clock.sleep(at - now, signal);
  }
}
