// Counts in this process, on the monotonic clock.
import type { Clock } from '../../core/index.ts';
import { CostWindow } from './cost-window.ts';
import type { Counted, CountedWindow, QuotaCounter } from './ports.ts';

/** Each window of each name takes 1 to 2.3 KB, and there are as many names as models times keys. */
export class MemoryQuotaCounter implements QuotaCounter {
  readonly #clock: Clock;
  readonly #counted = new Map<string, CostWindow>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  count(name: string, windows: readonly CountedWindow[], costs: readonly number[]): Counted {
    const now = this.#clock.monotonic();
    const waitMs = this.wait(name, windows, costs);
    if (waitMs === 0) this.correct(name, windows, costs, now);
    return { waitMs, stamp: now };
  }

  wait(name: string, windows: readonly CountedWindow[], costs: readonly number[]): number {
    const now = this.#clock.monotonic();
    let waitMs = 0;
    for (const [index, window] of windows.entries()) {
      const counted = this.#costsOf(name, window);
      waitMs = Math.max(waitMs, counted.waitMs(costs[index] ?? 0, window.limit, now));
    }
    return waitMs;
  }

  correct(name: string, windows: readonly CountedWindow[], amounts: readonly number[], stamp: number): void {
    for (const [index, window] of windows.entries())
      this.#costsOf(name, window).add(amounts[index] ?? 0, stamp);
  }

  /** By the window's name, not its limit: a quota that is changed goes on with what was counted. */
  #costsOf(name: string, window: CountedWindow): CostWindow {
    const key = `${name} ${window.name}`;
    const known = this.#counted.get(key);
    if (known) return known;
    const made = new CostWindow(window.bucketMs, window.buckets);
    this.#counted.set(key, made);
    return made;
  }
}
