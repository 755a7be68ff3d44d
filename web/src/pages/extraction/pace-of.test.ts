import { describe, expect, it } from 'vitest';
import { paceOf } from './pace-of.ts';

const sample = (second: number, items: number, calls: number) => ({
  at: new Date(second * 1_000).toISOString(),
  items,
  calls,
  refusals: 0,
  multiplier: 1,
});

describe('the pace of a run', () => {
  it('is what came between two samples, by the second', () => {
    const pace = paceOf([sample(0, 0, 0), sample(2, 100, 4), sample(3, 110, 4)]);
    expect(pace.itemsPerSecond).toEqual([50, 10]);
    expect(pace.callsPerSecond).toEqual([2, 0]);
    expect(pace.times).toEqual([2_000, 3_000]);
  });

  it('is never negative, and nothing without two samples', () => {
    expect(paceOf([sample(0, 10, 10), sample(1, 10, 2)]).callsPerSecond).toEqual([0]);
    expect(paceOf([sample(0, 1, 1)]).times).toEqual([]);
  });
});
