// Attempts, written behind the requests in batches. A crash loses about the last half second; memory is bounded, so a
// store that stays unavailable loses the oldest.
import type { WriteBehind } from '../../resilience/index.ts';
import { failureRules } from '../errors.ts';
import type { AttemptStore } from '../stores.ts';
import type { Attempt } from '../types.ts';
import type { StateDeps } from './store-access.ts';
import { isPermanentStoreError, storeWrites } from './store-access.ts';

export interface AttemptLogLimits {
  /** How long attempts are collected before they are written. */
  readonly flushIntervalMs: number;
  /** Rows per statement. */
  readonly batch: number;
  /** Attempts kept in memory. */
  readonly maxWaiting: number;
}

const defaultLimits: AttemptLogLimits = { flushIntervalMs: 500, batch: 1_000, maxWaiting: 20_000 };

/** When memory is full, this share is dropped at once: one event for many attempts. */
const droppedShare = 0.05;

export class AttemptLog {
  readonly #deps: StateDeps;
  readonly #store: Pick<AttemptStore, 'append'>;
  readonly #limits: AttemptLogLimits;
  readonly #writes: WriteBehind;
  readonly #listeners: ((attempt: Attempt) => void)[] = [];
  #waiting: Attempt[] = [];
  #inFlight: readonly Attempt[] = [];

  constructor(deps: StateDeps, store: Pick<AttemptStore, 'append'>, limits: Partial<AttemptLogLimits> = {}) {
    this.#deps = deps;
    this.#store = store;
    this.#limits = { ...defaultLimits, ...limits };
    this.#writes = storeWrites(deps, 'attempts', {
      delayMs: this.#limits.flushIntervalMs,
      waiting: () => this.#waiting.length + this.#inFlight.length,
      batchSize: () => this.#limits.batch,
      write: () => this.#write(),
    });
  }

  /** Attempts that are not stored yet, oldest first. */
  get waiting(): readonly Attempt[] {
    return [...this.#inFlight, ...this.#waiting];
  }

  /** Never waits, never throws. Returns the attempt as it is stored. */
  record(given: Attempt): Attempt {
    const attempt = storable(given);
    if (this.#waiting.length >= this.#limits.maxWaiting) this.#dropOldest();
    this.#waiting.push(attempt);
    for (const listener of this.#listeners) listener(attempt);
    this.#writes.wake();
    return attempt;
  }

  /** Called for every attempt when it is recorded, before it is written. */
  onRecord(listener: (attempt: Attempt) => void): void {
    this.#listeners.push(listener);
  }

  /** Writes everything now; false when the store did not accept it. Never rejects. */
  flush(): Promise<boolean> {
    return this.#writes.flush();
  }

  /** Writes everything, then runs `read` while no write runs: `waiting` is then exactly what it does not include. */
  withWritesPaused<T>(read: () => Promise<T>): Promise<T> {
    return this.#writes.withWritesPaused(read);
  }

  /** One last write; reports what is dropped. */
  async close(): Promise<void> {
    if (await this.#writes.close()) return;
    this.#reportDropped(this.#waiting.length);
    this.#waiting = [];
  }

  async #write(): Promise<void> {
    this.#inFlight = this.#waiting.splice(0, this.#limits.batch);
    try {
      await this.#store.append(this.#inFlight);
    } catch (error) {
      // Values are storable, so a rejected batch is a defect; it must not block those behind it.
      if (isPermanentStoreError(error)) this.#reportDropped(this.#inFlight.length);
      else this.#waiting = [...this.#inFlight, ...this.#waiting];
      throw error;
    } finally {
      this.#inFlight = [];
    }
  }

  #dropOldest(): void {
    const count = Math.max(Math.floor(this.#limits.maxWaiting * droppedShare), 1);
    this.#reportDropped(this.#waiting.splice(0, count).length);
  }

  #reportDropped(count: number): void {
    this.#deps.events.emit('gateway:attempts-dropped', { count });
  }
}

/**
 * Whether an attempt counts for the model's reliability. Limits, errors and disconnects of the caller,
 * short deadlines and calls to a former endpoint do not.
 */
export const isReliabilityOutcome = ({ outcome, isStale }: Pick<Attempt, 'outcome' | 'isStale'>): boolean =>
  isStale !== true && (outcome === 'success' || failureRules[outcome].countsAgainst);

/** For each attempt, whether it counts: it is about reliability and none of the others supersedes it. */
export function countsAmong(attempts: readonly Attempt[]): readonly boolean[] {
  const superseded = new Set(attempts.map(({ supersedes }) => supersedes));
  return attempts.map((attempt) => isReliabilityOutcome(attempt) && !superseded.has(attempt));
}

/* ---- values as every store accepts them: numbers come from providers and may be anything ---- */

const maxInteger = 2_147_483_647;

const toCount = (value: number): number => (value >= 0 ? Math.min(Math.trunc(value), maxInteger) : 0);

function storable(attempt: Attempt): Attempt {
  const { durationMs } = attempt;
  return {
    ...attempt,
    requestId: attempt.requestId.replaceAll('\0', ''),
    caller: attempt.caller.replaceAll('\0', ''),
    at: Math.trunc(attempt.at),
    durationMs: durationMs >= 0 && durationMs < Infinity ? durationMs : 0,
    promptTokens: toCount(attempt.promptTokens),
    completionTokens: toCount(attempt.completionTokens),
  };
}
