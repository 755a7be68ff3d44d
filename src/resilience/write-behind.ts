// Writes what waits in memory to a store in the background: collects for a while, writes, retries what failed.
//
// idle → (wake) armed → writing → idle. A failed write arms it again with backoff; `retryNow` is for a store that is
// available again.
import type { Clock, Random } from '../core/index.ts';
import { storeBackoff } from './retry.ts';

export interface WriteBehindDeps {
  readonly clock: Clock;
  readonly random: Random;
}

export interface WriteBehindSource {
  /** How long to collect before writing. */
  readonly delayMs: number;
  /** How much waits; 0 ends the loop. */
  readonly waiting: () => number;
  /**
   * After a write the next one starts at once only if this much waits, otherwise after `delayMs`: under load, writes of
   * a few rows without a pause would cost four times as much. Default: 1.
   */
  readonly batchSize?: () => number;
  /** Writes some of it; failed entries stay pending. Rejects when the store is unavailable. */
  readonly write: () => Promise<void>;
  readonly onFailure: (error: unknown, retryInMs: number) => void;
}

export class WriteBehind {
  readonly #deps: WriteBehindDeps;
  readonly #source: WriteBehindSource;
  #cancelTimer: (() => void) | undefined;
  #writing: Promise<void> | undefined;
  /** Writes and paused reads run one after the other. */
  #last: Promise<unknown> = Promise.resolve();
  #failures = 0;
  /** Callers that wait for everything to be written. */
  #flushes = 0;
  #isClosed = false;

  constructor(deps: WriteBehindDeps, source: WriteBehindSource) {
    this.#deps = deps;
    this.#source = source;
  }

  /** Something waits: it is written soon. */
  wake(): void {
    if (!this.#cancelTimer && !this.#writing && !this.#isClosed) this.#arm(this.#source.delayMs);
  }

  /** Ends the backoff: the store is available again. */
  retryNow(): void {
    if (this.#source.waiting() > 0 && !this.#isClosed) void this.#start();
  }

  /** Writes everything now, as far as the store accepts it. False when something still waits. Never rejects. */
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

  /** Writes everything, then runs `read` while no write runs: it sees all but what waits at its end. */
  async withWritesPaused<T>(read: () => Promise<T>): Promise<T> {
    await this.flush();
    return this.#serialized(read);
  }

  /** One last write; nothing is written afterwards. False when something was left. */
  async close(): Promise<boolean> {
    this.#isClosed = true;
    const isEmpty = await this.flush();
    this.#cancelTimer?.();
    return isEmpty;
  }

  #arm(ms: number): void {
    this.#cancelTimer?.();
    this.#cancelTimer = this.#deps.clock.after(ms, () => void this.#start());
  }

  #start(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
      // Something may have arrived between the last check and now; nothing else would wake for it.
      if (this.#source.waiting() > 0) this.wake();
    });
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    const { waiting, write, batchSize, onFailure } = this.#source;
    try {
      for (let due = 1; waiting() >= due; due = this.#flushes > 0 ? 1 : (batchSize?.() ?? 1)) {
        await this.#serialized(write);
        this.#failures = 0;
      }
    } catch (error) {
      this.#failures += 1;
      const retryInMs = Math.round(storeBackoff.delayMs(this.#failures, this.#deps.random));
      onFailure(error, retryInMs);
      if (!this.#isClosed) this.#arm(retryInMs);
    }
  }

  #serialized<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
