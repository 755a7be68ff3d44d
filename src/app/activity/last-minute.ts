// What happened in the last 60 seconds, in slices of five: a rate that does not fall to 0 with every full minute.
import type { Clock } from '../../core/index.ts';
import type { ActivityCounts } from '../../http/index.ts';

const sliceMs = 5_000;
const slices = 12;

export const noCounts: ActivityCounts = {
  admitted: 0,
  refused: 0,
  modelCalls: 0,
  modelFailures: 0,
  executionsEnded: 0,
  documentsRead: 0,
};

export class LastMinute {
  readonly #clock: Clock;
  readonly #slices = new Map<number, Record<keyof ActivityCounts, number>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  count(name: keyof ActivityCounts): void {
    const now = this.#now();
    const slice = this.#slices.get(now) ?? { ...noCounts };
    slice[name] += 1;
    this.#slices.set(now, slice);
    for (const old of this.#slices.keys()) if (old <= now - slices) this.#slices.delete(old);
  }

  counts(): ActivityCounts {
    const sums = { ...noCounts };
    const oldest = this.#now() - slices;
    for (const [at, slice] of this.#slices)
      if (at > oldest)
        for (const name of Object.keys(sums) as (keyof ActivityCounts)[]) sums[name] += slice[name];
    return sums;
  }

  #now(): number {
    return Math.floor(this.#clock.now() / sliceMs);
  }
}
