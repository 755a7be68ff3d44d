// Models that keep failing are asked last for a while. Nothing is excluded, and nothing is remembered past a restart.
import type { Clock } from '../../core/index.ts';

const failuresInARow = 3;
const firstBackoffMs = 30_000;
const longestBackoffMs = 600_000;

interface Record {
  failures: number;
  backoffMs: number;
  /** Monotonic; in the past when it does not rest. */
  until: number;
}

/**
 * Three requests in a row that end in something transient make a model rest for 30 s. Each failure after a rest makes
 * it rest again, twice as long, up to 10 minutes; a success forgets all of it. Failures while it rests do not count:
 * a hundred requests that fail together are one piece of news.
 */
export class FailureBackoff {
  readonly #clock: Clock;
  readonly #records = new Map<number, Record>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isBackedOff(modelId: number): boolean {
    const record = this.#records.get(modelId);
    return record !== undefined && record.until > this.#clock.monotonic();
  }

  /** Epoch milliseconds at which its rest is over; null when it does not rest. */
  until(modelId: number): number | null {
    const leftMs = (this.#records.get(modelId)?.until ?? 0) - this.#clock.monotonic();
    return leftMs > 0 ? this.#clock.now() + leftMs : null;
  }

  /** A request ended there in something transient. */
  failed(modelId: number): void {
    const now = this.#clock.monotonic();
    const record = this.#records.get(modelId) ?? { failures: 0, backoffMs: firstBackoffMs, until: now };
    if (record.until > now) return;
    record.failures++;
    if (record.failures >= failuresInARow) {
      record.until = now + record.backoffMs;
      record.backoffMs = Math.min(longestBackoffMs, record.backoffMs * 2);
    }
    this.#records.set(modelId, record);
  }

  succeeded(modelId: number): void {
    this.#records.delete(modelId);
  }
}
