import { describe, expect, it } from 'vitest';
import { seededRandom } from './random.ts';

const take = (seed: number, count: number) => {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => random.next());
};

describe('seededRandom', () => {
  it('repeats itself for the same seed and differs for another', () => {
    expect(take(1, 20)).toEqual(take(1, 20));
    expect(take(1, 20)).not.toEqual(take(2, 20));
  });

  it('stays in [0, 1) and spreads evenly', () => {
    const numbers = take(42, 20_000);
    expect(Math.min(...numbers)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...numbers)).toBeLessThan(1);
    const tenths = Array.from({ length: 10 }, () => 0);
    for (const number of numbers)
      tenths[Math.floor(number * 10)] = (tenths[Math.floor(number * 10)] ?? 0) + 1;
    for (const count of tenths) expect(Math.abs(count - 2_000)).toBeLessThan(200);
  });
});
