import { describe, expect, it } from 'vitest';
import { throughputOf } from './throughput-of.ts';

const sample = (second: number, items: number, calls: number) => ({
  at: new Date(second * 1_000).toISOString(),
  items,
  calls,
  rate_limited_calls: 0,
  multiplier: 1,
});

describe('throughputOf', () => {
  it('computes rates per second between two samples', () => {
    const throughput = throughputOf([sample(0, 0, 0), sample(2, 100, 4), sample(3, 110, 4)]);
    expect(throughput.itemsPerSecond).toEqual([50, 10]);
    expect(throughput.callsPerSecond).toEqual([2, 0]);
    expect(throughput.times).toEqual([2_000, 3_000]);
  });

  it('is never negative, and empty without two samples', () => {
    expect(throughputOf([sample(0, 10, 10), sample(1, 10, 2)]).callsPerSecond).toEqual([0]);
    expect(throughputOf([sample(0, 1, 1)]).times).toEqual([]);
  });
});
