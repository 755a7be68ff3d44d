// Writes what waits in memory to the store, behind the requests: gathers for a while, writes, repeats what failed.
//
// idle → (wake) armed → writing → idle. A write that fails arms it again, after a quarter of a second at first, every
// ten seconds in the end; `retryNow` is for when the store is back.
import { kindOf } from '../../core/index.ts';
import { storeBackoff } from '../../resilience/index.ts';
import type { StateDeps } from './state-parts.ts';

export interface WriteSource {
  /** For `gateway:store-failed`: `attempts`. */
  readonly what: string;
  /** How long to gather before writing. */
  readonly delayMs: number;
  /** How much waits; 0 ends the loop. */
  readonly waiting: () => number;
  /**
   * After a write it goes on at once only if so much waits, else it gathers again: under load it would write a few
   * rows at a time without a pause, at four times the cost.
   * Default: anything.
   */
  readonly enough?: () => number;
  /** Writes some of it; what failed waits on. Rejects when the store is away. */
  readonly write: () => Promise<void>;
}

export class WriteBehind {
  readonly #parts: StateDeps;
  readonly #source: WriteSource;
  #cancelTimer: (() => void) | undefined;
  #writing: Promise<void> | undefined;
  /** Single writes and still reads go one after the other. */
  #last: Promise<unknown> = Promise.resolve();
  #failures = 0;
  /** Who waits for everything to be written. */
  #flushes = 0;
  #isClosed = false;

  constructor(parts: StateDeps, source: WriteSource) {
    this.#parts = parts;
    this.#source = source;
  }

  /** Something waits: it is written soon. */
  wake(): void {
    if (!this.#cancelTimer && !this.#writing && !this.#isClosed) this.#arm(this.#source.delayMs);
  }

  /** The store is back: what failed need not wait any longer. */
  retryNow(): void {
    if (this.#source.waiting() > 0 && !this.#isClosed) void this.#start();
  }

  /** Writes everything now, as far as the store takes it. False when something still waits. Never rejects. */
  async flush(): Promise<boolean> {
    this.#flushes += 1;
    try {
      await this.#writing;
      if (this.#source.waiting() > 0) await this.#start();
      return this.#source.waiting() === 0;
    } finally {
      this.#flushes -= 1;
    }
  }

  /** Writes everything, then runs `read` while nothing is being written: it sees all but what waits at its end. */
  async withWritesPaused<T>(read: () => Promise<T>): Promise<T> {
    await this.flush();
    return this.#inTurn(read);
  }

  /** One last try; afterwards nothing is written any more. False when something had to stay behind. */
  async close(): Promise<boolean> {
    this.#isClosed = true;
    const isEmpty = await this.flush();
    this.#cancelTimer?.();
    return isEmpty;
  }

  #arm(ms: number): void {
    this.#cancelTimer?.();
    this.#cancelTimer = this.#parts.clock.after(ms, () => void this.#start());
  }

  #start(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
      // Something may have come after the last look and before this: nobody else would wake for it.
      if (this.#source.waiting() > 0) this.wake();
    });
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    const { what, waiting, write, enough } = this.#source;
    try {
      for (let due = 1; waiting() >= due; due = this.#flushes > 0 ? 1 : (enough?.() ?? 1)) {
        await this.#inTurn(write);
        this.#failures = 0;
      }
    } catch (error) {
      this.#failures += 1;
      this.#parts.events.emit('gateway:store-failed', { what, cause: kindOf(error), waiting: waiting() });
      if (!this.#isClosed) this.#arm(storeBackoff.delayMs(this.#failures, this.#parts.random));
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
