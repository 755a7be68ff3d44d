// The WorkerMetrics of document 001, for all workers together. Kept by the main thread, so it needs no lock.
import type { Clock } from '../core/index.ts';

/** The metrics under the names of founding document 001. */
export interface WorkerMetricsSnapshot {
  readonly total: number;
  readonly by_type: Readonly<Record<string, number>>;
  readonly errors: number;
  readonly worker_errors: Readonly<Record<string, readonly string[]>>;
  /** ISO 8601. */
  readonly start_time: string;
  /** Seconds. */
  readonly duration: number;
}

export class WorkerMetrics {
  readonly #clock: Clock;
  readonly #types: ReadonlySet<string>;
  readonly #startTime: number;
  readonly #startedAt: number;
  readonly #itemsByType = new Map<string, number>();
  readonly #workerErrors = new Map<string, string[]>();
  #itemsProcessed = 0;
  #errors = 0;
  #stoppedAt: number | null = null;

  constructor(types: Iterable<string>, clock: Clock) {
    this.#clock = clock;
    this.#types = new Set(types);
    this.#startTime = clock.now();
    this.#startedAt = clock.monotonic();
  }

  get itemsProcessed(): number {
    return this.#itemsProcessed;
  }
  get errors(): number {
    return this.#errors;
  }
  itemsOf(contentType: string): number {
    return this.#itemsByType.get(contentType) ?? 0;
  }

  /** Throws RangeError for a type that is not extracted, or a count below 0. */
  incrementProcessed(contentType: string, count = 1): void {
    if (!this.#types.has(contentType)) throw new RangeError(`"${contentType}" is not extracted`);
    if (!(Number.isInteger(count) && count >= 0))
      throw new RangeError(`count must be a whole number from 0, not ${count}`);
    this.#itemsProcessed += count;
    this.#itemsByType.set(contentType, this.itemsOf(contentType) + count);
  }

  /** `workerId` is a thread's name, or `fetch` for a failed page. */
  recordError(workerId: string, message: string): void {
    this.#errors++;
    const messages = this.#workerErrors.get(workerId) ?? [];
    if (messages.length < maxMessages) messages.push(message);
    this.#workerErrors.set(workerId, messages);
  }

  /** Ends the measured duration. */
  stop(): void {
    this.#stoppedAt ??= this.#clock.monotonic();
  }

  /** A consistent snapshot. */
  snapshot(): WorkerMetricsSnapshot {
    return {
      total: this.#itemsProcessed,
      by_type: Object.fromEntries(this.#itemsByType),
      errors: this.#errors,
      worker_errors: Object.fromEntries(this.#workerErrors),
      start_time: new Date(this.#startTime).toISOString(),
      duration: ((this.#stoppedAt ?? this.#clock.monotonic()) - this.#startedAt) / 1000,
    };
  }
}

/** Maximum per worker, so that a source that is down does not fill the memory with messages. */
const maxMessages = 100;
