// Whether the store of slots decides, or this process has to.
//
//   up   → away   a call failed or took too long; from this very moment on nobody asks the store
//   away → up     a look behind everybody's back, a second apart at most, found it well and told it what happened
import type { Clock } from '../../../core/index.ts';

const firstLookMs = 100;
const longestPauseMs = 1_000;

export interface StoreWatchParts {
  readonly clock: Clock;
  /** Looks whether the store is back and brings it up to date; calls `markUp` at the moment from which it decides. */
  readonly look: (markUp: () => void) => Promise<void>;
  readonly onAway: (error: unknown) => void;
  readonly onBack: (awayMs: number) => void;
}

export class StoreWatch {
  readonly #parts: StoreWatchParts;
  #awaySince: number | null = null;
  #looking: Promise<void> | null = null;
  #pauseMs = firstLookMs;
  #cancelLook: () => void = () => undefined;
  #isClosed = false;

  constructor(parts: StoreWatchParts) {
    this.#parts = parts;
  }

  get isAway(): boolean {
    return this.#awaySince !== null;
  }

  /** A call to the store failed. */
  fail(error: unknown): void {
    if (this.isAway || this.#isClosed) return;
    this.#awaySince = this.#parts.clock.monotonic();
    this.#pauseMs = firstLookMs;
    this.#parts.onAway(error);
    this.#lookLater();
  }

  /** There is reason to believe that it is back. Resolves when somebody has looked. */
  async lookNow(): Promise<void> {
    if (!this.isAway || this.#isClosed) return;
    this.#cancelLook();
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
      if (this.isAway) this.#lookLater();
    });
    await this.#looking;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelLook();
    await this.#looking;
  }

  async #look(): Promise<void> {
    const { clock, look, onBack } = this.#parts;
    const since = this.#awaySince ?? clock.monotonic();
    const markUp = () => {
      this.#awaySince = null;
      onBack(clock.monotonic() - since);
    };
    try {
      await look(markUp);
    } catch {
      // It is still away; why, was recorded when it went.
      this.#pauseMs = Math.min(this.#pauseMs * 2, longestPauseMs);
    }
  }

  #lookLater(): void {
    if (this.#isClosed) return;
    this.#cancelLook();
    this.#cancelLook = this.#parts.clock.after(this.#pauseMs, () => void this.lookNow());
  }
}
