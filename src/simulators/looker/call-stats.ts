// Counts calls: what arrived, how fast at most, what was answered.
import type { LookerSimulatorStats } from './ports.ts';
import { SlidingWindow } from '../sliding-window.ts';

export class CallStats {
  readonly #calls = new Map<string, number>();
  readonly #answered = new Map<string, number>();
  readonly #second = new SlidingWindow(1_000);
  readonly #minute = new SlidingWindow(60_000);
  #total = 0;
  #maxPerSecond = 0;
  #maxPerMinute = 0;

  /** `isCovered`: rate limits count this call. */
  arrived(endpoint: string, isCovered: boolean, now: number): void {
    this.#total += 1;
    increase(this.#calls, endpoint);
    if (!isCovered) return;
    this.#second.add(now);
    this.#minute.add(now);
    this.#maxPerSecond = Math.max(this.#maxPerSecond, this.#second.count(now));
    this.#maxPerMinute = Math.max(this.#maxPerMinute, this.#minute.count(now));
  }

  answered(status: number | 'none'): void {
    increase(this.#answered, String(status));
  }

  report(): LookerSimulatorStats {
    return {
      calls: sorted(this.#calls),
      total: this.#total,
      maxPerSecond: this.#maxPerSecond,
      maxPerMinute: this.#maxPerMinute,
      answered: sorted(this.#answered),
    };
  }
}

function increase(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function sorted(counts: ReadonlyMap<string, number>): Readonly<Record<string, number>> {
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}
