// Keeps something in memory in step with the store: one load at a time, repeated until it works.
//
// idle → loading → idle. Asked again while loading: loads once more afterwards. A load that fails leaves memory as it
// is and is tried again, after a quarter of a second at first, every ten seconds in the end.
import type { Clock, Random } from '../core/index.ts';
import { storeBackoff } from './store-backoff.ts';

export interface ReloadParts {
  readonly clock: Clock;
  readonly random: Random;
}

export interface ReloadSource {
  /** Reads the store and puts what it found into memory. */
  readonly load: () => Promise<void>;
  /** Told of every load that failed. */
  readonly onFailure: (error: unknown) => void;
}

export class Reload {
  readonly #parts: ReloadParts;
  readonly #source: ReloadSource;
  #loading: Promise<boolean> | undefined;
  #next: Promise<boolean> | undefined;
  #failures = 0;
  #error: unknown;
  #cancelRetry: () => void = () => undefined;
  #isClosed = false;

  constructor(parts: ReloadParts, source: ReloadSource) {
    this.#parts = parts;
    this.#source = source;
  }

  /** The first load. Fails when the store cannot be read: there is no memory to go on from yet. */
  async start(): Promise<void> {
    if (!(await this.refresh())) throw this.#error;
  }

  /** Resolves when a load that began after this call has ended: true when it worked. Never rejects. */
  refresh(): Promise<boolean> {
    if (!this.#loading) return this.#begin();
    this.#next ??= this.#loading.then(() => {
      this.#next = undefined;
      return this.refresh();
    });
    return this.#next;
  }

  /** Waits for what is under way; asks no more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelRetry();
    await (this.#next ?? this.#loading);
  }

  #begin(): Promise<boolean> {
    this.#cancelRetry();
    this.#loading = this.#load().finally(() => (this.#loading = undefined));
    return this.#loading;
  }

  async #load(): Promise<boolean> {
    if (this.#isClosed) return false;
    const { clock, random } = this.#parts;
    try {
      await this.#source.load();
      this.#failures = 0;
      return true;
    } catch (error) {
      this.#failures += 1;
      this.#error = error;
      this.#source.onFailure(error);
      if (!this.#isClosed)
        this.#cancelRetry = clock.after(
          storeBackoff.delayMs(this.#failures, random),
          () => void this.refresh(),
        );
      return false;
    }
  }
}
