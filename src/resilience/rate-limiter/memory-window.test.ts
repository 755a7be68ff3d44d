// The in-memory window passes the contract, and never grants too much whatever happens.
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeRateWindowContract, maxIn } from '../../../test/support/resilience/rate-limiter.contract.ts';
import { MemoryRateWindow } from './memory-window.ts';
import { createRateLimiter } from '../../../test/support/resilience/memory-rate-limiter.ts';

describeRateWindowContract('memory', async (settings) => ({ open: () => new MemoryRateWindow(settings) }), {
  survivesRestart: false,
  isShared: false,
});

const event = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('acquire' as const), count: fc.integer({ min: 1, max: 12 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 20_000 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('succeed' as const), count: fc.integer({ min: 1, max: 15 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('reject' as const),
      retryAfterMs: fc.option(fc.integer({ min: 0, max: 90_000 }), { nil: undefined }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('leave' as const), nth: fc.nat(20) }) },
);

describe('the arrival guard', () => {
  it.each([
    [{ perSecond: 1 }, 1_018],
    [{ perMinute: 1 }, 60_300],
  ])('keeps %j a little apart from the grant that takes its place: %i ms', async (limits, ms) => {
    const clock = new VirtualClock();
    const limiter = createRateLimiter({ limits, clock });
    await limiter.acquire();
    const second = limiter.acquire();
    await clock.run(second);
    expect(clock.monotonic()).toBe(ms);
  });
});

describe('any requests, limits, 429 responses and departures', () => {
  it('never exceeds a limit, serves in order, respects pauses and leaks no waiter', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 1, max: 40 }),
        fc.array(event, { maxLength: 40 }),
        async (perSecond, perMinute, events) => {
          const clock = new VirtualClock();
          const limiter = createRateLimiter({ limits: { perSecond, perMinute }, clock });
          const grants: number[] = [];
          const order: number[] = [];
          const open: Awaited<ReturnType<typeof limiter.acquire>>[] = [];
          const waiting = new Map<number, AbortController>();
          let ticket = 0;
          let pausedUntil = 0;

          const acquire = () => {
            const mine = ticket++;
            const controller = new AbortController();
            waiting.set(mine, controller);
            limiter.acquire(controller.signal).then(
              (permit) => {
                waiting.delete(mine);
                expect(clock.monotonic()).toBeGreaterThanOrEqual(pausedUntil);
                grants.push(clock.monotonic());
                order.push(mine);
                open.push(permit);
                return undefined;
              },
              () => waiting.delete(mine),
            );
          };

          for (const step of events) {
            if (step.do === 'acquire') for (let index = 0; index < step.count; index++) acquire();
            if (step.do === 'wait') await clock.advance(step.ms);
            if (step.do === 'succeed') for (const permit of open.splice(0, step.count)) permit.succeeded();
            if (step.do === 'leave') [...waiting.values()][step.nth]?.abort();
            if (step.do === 'reject' && open.length > 0) {
              open.shift()?.rateLimited({ retryAfterMs: step.retryAfterMs });
              pausedUntil = Math.max(pausedUntil, clock.monotonic() + (step.retryAfterMs ?? 0));
            }
            await clock.advance(0);
            expect(limiter.waiting).toBe(waiting.size);
            expect(clock.pending).toBe(waiting.size === 0 ? 0 : 1);
          }
          expect(maxIn(grants, 1_000)).toBeLessThanOrEqual(perSecond);
          expect(maxIn(grants, 60_000)).toBeLessThanOrEqual(perMinute);
          expect(order).toEqual([...order].sort((a, b) => a - b));

          // No caller waits forever, and nothing is left behind.
          await clock.advance(4 * 3_600_000);
          expect([limiter.waiting, waiting.size, clock.pending]).toEqual([0, 0, 0]);
          expect(maxIn(grants, 60_000)).toBeLessThanOrEqual(perMinute);
        },
      ),
      { numRuns: 150 },
    );
  });
});

describe('the line', () => {
  it('has no timer after the last waiter left', async () => {
    const clock = new VirtualClock();
    const limiter = createRateLimiter({ limits: { perMinute: 1 }, clock });
    await limiter.acquire();
    const leaving = new AbortController();
    const waiting = limiter.acquire(leaving.signal).catch((reason: unknown) => reason);
    expect(clock.pending).toBe(1);
    leaving.abort('left');
    expect(await waiting).toBe('left');
    expect([limiter.waiting, clock.pending]).toEqual([0, 0]);
  });
});

describe('the limits', () => {
  it.each([
    [{ perSecond: 0 }, 'perSecond must be a whole number from 1 to 1000000, not 0'],
    [{ perMinute: 1.5 }, 'perMinute must be a whole number from 1 to 1000000, not 1.5'],
    [{}, 'perSecond or perMinute must be given'],
  ])('%j are rejected by name', (limits, message) => {
    expect(() => new MemoryRateWindow({ limits, clock: new VirtualClock() })).toThrow(
      new RangeError(message),
    );
  });
});
