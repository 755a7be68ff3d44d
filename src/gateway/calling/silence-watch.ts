// Notices when nobody says anything for too long while somebody listens. One timer, however many pieces come.
import type { Clock } from '../../core/index.ts';

export class SilenceWatch {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #onSilent: () => void;
  /** Since when we listen; undefined while we do not: a slow reader is not a silent speaker. */
  #since: number | undefined;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, ms: number, onSilent: () => void) {
    this.#clock = clock;
    this.#ms = ms;
    this.#onSilent = onSilent;
  }

  listen(): void {
    this.#since = this.#clock.monotonic();
    if (!this.#cancel) this.#arm(this.#ms);
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
    this.#cancel = this.#clock.after(ms, () => {
      this.#cancel = undefined;
      if (this.#since === undefined) return;
      const leftMs = this.#since + this.#ms - this.#clock.monotonic();
      if (leftMs > 0) this.#arm(leftMs);
      else this.#onSilent();
    });
  }
}
