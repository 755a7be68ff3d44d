// Attempts, written behind the requests in batches. A crash loses what came in the last half second or so; memory is
// bounded, so a store that stays away for long loses the oldest.
import type { Attempt, AttemptRecorder, AttemptStore } from '../ports.ts';
import { storableAttempt } from './storable-attempt.ts';
import type { StateDeps } from './state-parts.ts';
import { isRefusedForGood } from './state-parts.ts';
import { WriteBehind } from './write-loop.ts';

export interface AttemptRecorderLimits {
  /** How long attempts gather before they are written. */
  readonly flushIntervalMs: number;
  /** Rows in one statement. */
  readonly batch: number;
  /** More than these are not kept in memory. */
  readonly maxWaiting: number;
}

const defaultLimits: AttemptRecorderLimits = { flushIntervalMs: 500, batch: 1_000, maxWaiting: 20_000 };

/** When memory is full, this part of it goes at once: one event for many. */
const lostPart = 0.05;

export class AttemptLog implements AttemptRecorder {
  readonly #parts: StateDeps;
  readonly #store: Pick<AttemptStore, 'append'>;
  readonly #limits: AttemptRecorderLimits;
  readonly #loop: WriteBehind;
  readonly #listeners: ((attempt: Attempt) => void)[] = [];
  #waiting: Attempt[] = [];
  #inFlight: readonly Attempt[] = [];
  #batch: number;

  constructor(
    parts: StateDeps,
    store: Pick<AttemptStore, 'append'>,
    limits: Partial<AttemptRecorderLimits> = {},
  ) {
    this.#parts = parts;
    this.#store = store;
    this.#limits = { ...defaultLimits, ...limits };
    this.#batch = this.#limits.batch;
    this.#loop = new WriteBehind(parts, {
      what: 'attempts',
      delayMs: this.#limits.flushIntervalMs,
      waiting: () => this.#waiting.length + this.#inFlight.length,
      // While it looks for the culprit in a batch it does not rest.
      enough: () => (this.#batch < this.#limits.batch ? 1 : this.#batch),
      write: () => this.#write(),
    });
  }

  /** Attempts that the store does not have yet, oldest first. */
  get waiting(): readonly Attempt[] {
    return [...this.#inFlight, ...this.#waiting];
  }

  record(attempt: Attempt): void {
    const storable = storableAttempt(attempt);
    if (this.#waiting.length >= this.#limits.maxWaiting) this.#loseOldest();
    this.#waiting.push(storable);
    for (const listener of this.#listeners) listener(storable);
    this.#loop.wake();
  }

  /** Calls back for every attempt as it is recorded, before it is written. */
  onRecord(listener: (attempt: Attempt) => void): void {
    this.#listeners.push(listener);
  }

  /** Writes everything now; false when the store did not take it. Never rejects. */
  flush(): Promise<boolean> {
    return this.#loop.flush();
  }

  /** Writes everything, then runs `read` while nothing is being written: exactly `waiting` is what it cannot see. */
  withWritesPaused<T>(read: () => Promise<T>): Promise<T> {
    return this.#loop.withWritesPaused(read);
  }

  /** One last try; tells what is lost. */
  async close(): Promise<void> {
    if (await this.#loop.close()) return;
    this.#tellLost(this.#waiting.length);
    this.#waiting = [];
  }

  async #write(): Promise<void> {
    this.#inFlight = this.#waiting.splice(0, this.#batch);
    try {
      await this.#store.append(this.#inFlight);
      this.#batch = Math.min(this.#batch * 2, this.#limits.batch);
    } catch (error) {
      if (!this.#isCulpritAlone(error)) this.#waiting = [...this.#inFlight, ...this.#waiting];
      if (!isRefusedForGood(error)) throw error;
    } finally {
      this.#inFlight = [];
    }
  }

  /** The store refuses something in the batch: batches get smaller until the culprit is alone and goes. */
  #isCulpritAlone(error: unknown): boolean {
    if (!isRefusedForGood(error)) return false;
    this.#batch = Math.max(Math.floor(this.#inFlight.length / 2), 1);
    if (this.#inFlight.length > 1) return false;
    this.#tellLost(1);
    return true;
  }

  #loseOldest(): void {
    const count = Math.max(Math.floor(this.#limits.maxWaiting * lostPart), 1);
    this.#tellLost(this.#waiting.splice(0, count).length);
  }

  #tellLost(count: number): void {
    this.#parts.events.emit('gateway:attempts-dropped', { count });
  }
}
