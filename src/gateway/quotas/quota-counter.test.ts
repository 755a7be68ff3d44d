import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryQuotaCounter } from './quota-counter.ts';
import { describeQuotaCounterContract } from '../../../test/support/gateway/quota-counter.contract.ts';
import { quotaWindowsOf } from './quota-counter.ts';

describeQuotaCounterContract('memory', (clock) => new MemoryQuotaCounter(clock));

describe('a quota window in memory', () => {
  it('never exceeds its limit in any sliding minute, and frees capacity in time (L7)', async () => {
    const step = fc.record({
      waitMs: fc.integer({ min: 0, max: 40_000 }),
      cost: fc.integer({ min: 1, max: 100 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 100, max: 300 }),
        fc.array(step, { minLength: 1, maxLength: 60 }),
        async (limit, steps) => {
          const clock = new VirtualClock();
          const counter = new MemoryQuotaCounter(clock);
          const windows = quotaWindowsOf({ tokensPerMinute: limit });
          const granted: { readonly at: number; readonly cost: number }[] = [];
          for (const { waitMs, cost } of steps) {
            await clock.advance(waitMs);
            const taken = counter.count('name', windows, [cost]);
            const at = clock.monotonic();
            const recent = granted.filter((grant) => grant.at > at - 60_000);
            const used = recent.reduce((sum, grant) => sum + grant.cost, 0);
            if (taken.waitMs === 0) {
              expect(used + cost).toBeLessThanOrEqual(limit);
              granted.push({ at, cost });
            } else {
              // Rejected only when a window one bucket longer is full.
              const longer = granted.filter((grant) => grant.at > at - 60_900);
              expect(longer.reduce((sum, grant) => sum + grant.cost, 0) + cost).toBeGreaterThan(limit);
              expect(taken.waitMs).toBeLessThanOrEqual(60_900);
            }
          }
        },
      ),
      { numRuns: 200 },
    );
  });
});
