import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../core/index.ts';
import { retryDelay } from './attempt.ts';

describe('retryDelay', () => {
  it('is constant without backoff', () => {
    const timing = { retryDelayMs: 700, retryBackoff: false, retryDelayMaxMs: 100 };
    expect([1, 2, 9].map((attempt) => retryDelay(timing, attempt, seededRandom(1)))).toEqual([700, 700, 700]);
  });

  it('doubles with each attempt, plus at most a quarter, up to the limit', () => {
    const delays = fc.integer({ min: 1, max: 100_000 });
    fc.assert(
      fc.property(
        delays,
        delays,
        fc.integer({ min: 1, max: 200 }),
        fc.nat(),
        (base, limit, attempt, seed) => {
          const timing = { retryDelayMs: base, retryBackoff: true, retryDelayMaxMs: limit };
          const doubled = base * 2 ** Math.min(attempt - 1, 30);
          const delay = retryDelay(timing, attempt, seededRandom(seed));
          expect(delay).toBeGreaterThanOrEqual(Math.min(doubled, limit));
          expect(delay).toBeLessThanOrEqual(Math.min(Math.round(doubled * 1.25), limit));
        },
      ),
    );
  });
});
