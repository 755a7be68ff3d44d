// Notices when nobody says anything for too long while somebody listens. One timer, however many pieces come.
import type { Clock } from '../../core/index.ts';

export class SilenceWatch {
  readonly #clock: Clock;
  #ms = 0;
  readonly #onSilent: () => void;
  /** Since when we listen; undefined while we do not: a slow reader is not a silent speaker. */
  #since: number | undefined;
  #cancel: (() => void) | undefined;
  /** When the timer fires; monotonic, as all times here. */
  #firesAt = 0;

  constructor(clock: Clock, onSilent: () => void) {
    this.#clock = clock;
    this.#onSilent = onSilent;
  }

  /** From now on, for so long. */
  listen(ms: number): void {
    this.#since = this.#clock.monotonic();
    this.#ms = ms;
    if (!this.#cancel || this.#firesAt > this.#since + ms) this.#arm(ms);
  }

  heard(): void {
    this.#since = undefined;
  }

  stop(): void {
    this.#since = undefined;
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #arm(ms: number): void {
    this.#cancel?.();
    this.#firesAt = this.#clock.monotonic() + ms;
    this.#cancel = this.#clock.after(ms, () => {
      this.#cancel = undefined;
      if (this.#since === undefined) return;
      const leftMs = this.#since + this.#ms - this.#clock.monotonic();
      if (leftMs > 0) this.#arm(leftMs);
      else this.#onSilent();
    });
  }
}
