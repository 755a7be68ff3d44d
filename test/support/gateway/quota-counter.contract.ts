// Contract of quota counters, on virtual time.
import { VirtualClock } from '../core/virtual-clock.ts';
import { describe, expect, it } from 'vitest';
import type { QuotaWindow, QuotaCounter } from '../../../src/gateway/quotas/quota-counter.ts';
import { quotaWindowsOf } from '../../../src/gateway/quotas/quota-counter.ts';

/** `clock` starts at 0, so that both adapters see the same buckets. */
export function describeQuotaCounterContract(
  name: string,
  make: (clock: VirtualClock) => QuotaCounter,
): void {
  const start = () => {
    const clock = new VirtualClock(0);
    return { clock, counter: make(clock) };
  };
  const perMinute = quotaWindowsOf({ requestsPerMinute: 5 });
  const tokens = quotaWindowsOf({ tokensPerMinute: 1_000 });

  async function takeAll(counter: QuotaCounter, windows: readonly QuotaWindow[], cost: number) {
    let taken = 0;
    for (;;) {
      const { waitMs } = await counter.count('name', windows, [cost]);
      if (waitMs > 0) return { taken, waitMs };
      taken++;
    }
  }

  describe(`quota counter: ${name}`, () => {
    it('counts up to the limit and then returns the wait', async () => {
      const { clock, counter } = start();
      const { taken, waitMs } = await takeAll(counter, perMinute, 1);
      expect(taken).toBe(5);
      expect(waitMs).toBeGreaterThanOrEqual(60_000);
      expect(waitMs).toBeLessThanOrEqual(60_900);
      await clock.advance(waitMs - 1);
      expect((await counter.count('name', perMinute, [1])).waitMs).toBe(1);
      await clock.advance(1);
      expect((await takeAll(counter, perMinute, 1)).taken).toBe(5);
    });

    it('returns the wait without counting', async () => {
      const { clock, counter } = start();
      for (let look = 0; look < 9; look++) expect(await counter.wait('name', perMinute, [1])).toBe(0);
      const { taken, waitMs } = await takeAll(counter, perMinute, 1);
      expect(taken).toBe(5);
      expect(await counter.wait('name', perMinute, [1])).toBe(waitMs);
      await clock.advance(waitMs);
      expect(await counter.wait('name', perMinute, [1])).toBe(0);
    });

    it('counts costs and waits only until the cost fits', async () => {
      const { clock, counter } = start();
      await counter.count('name', tokens, [600]);
      await clock.advance(30_000);
      await counter.count('name', tokens, [400]);
      const little = await counter.count('name', tokens, [500]);
      const much = await counter.count('name', tokens, [700]);
      expect(little.waitMs).toBeLessThanOrEqual(30_900);
      expect(much.waitMs).toBeGreaterThan(59_000);
      await clock.advance(little.waitMs);
      expect((await counter.count('name', tokens, [600])).waitMs).toBe(0);
    });

    it('accepts a cost above the limit when the window is empty', async () => {
      const { clock, counter } = start();
      expect((await counter.count('name', tokens, [5_000])).waitMs).toBe(0);
      const { waitMs } = await counter.count('name', tokens, [1]);
      expect(waitMs).toBeGreaterThan(59_000);
      await clock.advance(waitMs);
      expect((await counter.count('name', tokens, [1])).waitMs).toBe(0);
      expect((await counter.count('name', tokens, [5_000])).waitMs).toBeGreaterThan(0);
    });

    it('accepts nothing with a limit of 0', async () => {
      const { counter } = start();
      expect(
        (await counter.count('name', quotaWindowsOf({ requestsPerDay: 0 }), [1])).waitMs,
      ).toBeGreaterThan(0);
    });

    it('counts in all windows or in none', async () => {
      const { counter } = start();
      const both = quotaWindowsOf({ requestsPerMinute: 1, tokensPerDay: 1_000 });
      expect((await counter.count('name', both, [1, 400])).waitMs).toBe(0);
      expect((await counter.count('name', both, [1, 400])).waitMs).toBeGreaterThan(0);
      const day = both.filter(({ unit }) => unit === 'tokens');
      expect((await counter.count('name', day, [600])).waitMs).toBe(0);
      expect((await counter.count('name', day, [1])).waitMs).toBeGreaterThan(60_000);
    });

    it('counts over a day', async () => {
      const { clock, counter } = start();
      const day = quotaWindowsOf({ requestsPerDay: 2 });
      await counter.count('name', day, [1]);
      await clock.advance(20 * 3_600_000);
      await counter.count('name', day, [1]);
      const { waitMs } = await counter.count('name', day, [1]);
      expect(waitMs).toBeGreaterThanOrEqual(4 * 3_600_000);
      expect(waitMs).toBeLessThanOrEqual(4 * 3_600_000 + 301_000);
      await clock.advance(waitMs);
      expect((await counter.count('name', day, [1])).waitMs).toBe(0);
      expect((await counter.count('name', day, [1])).waitMs).toBeGreaterThan(0);
    });

    it('keeps names apart', async () => {
      const { counter } = start();
      await takeAll(counter, perMinute, 1);
      expect((await counter.count('other', perMinute, [1])).waitMs).toBe(0);
    });

    it('corrects counts up and down at their time', async () => {
      const { clock, counter } = start();
      const first = await counter.count('name', tokens, [1_000]);
      await clock.advance(10_000);
      await counter.correct('name', tokens, [-300], first.stamp);
      expect((await counter.count('name', tokens, [300])).waitMs).toBe(0);
      await counter.correct('name', tokens, [200], first.stamp);
      const { waitMs } = await counter.count('name', tokens, [1]);
      expect(waitMs).toBeLessThanOrEqual(50_900);
      await clock.advance(waitMs);
      expect((await takeAll(counter, tokens, 100)).taken).toBe(7);
    });

    it('ignores corrections outside the window', async () => {
      const { clock, counter } = start();
      const first = await counter.count('name', tokens, [500]);
      await clock.advance(61_000);
      await counter.count('name', tokens, [100]);
      await counter.correct('name', tokens, [900], first.stamp);
      expect((await takeAll(counter, tokens, 100)).taken).toBe(9);
    });

    it('never counts less than nothing', async () => {
      const { counter } = start();
      const { stamp } = await counter.count('name', tokens, [100]);
      await counter.correct('name', tokens, [-5_000], stamp);
      expect((await takeAll(counter, tokens, 100)).taken).toBe(10);
    });

    it('continues with its counts when a limit changes', async () => {
      const { counter } = start();
      await takeAll(counter, perMinute, 1);
      const wider = quotaWindowsOf({ requestsPerMinute: 7 });
      expect((await takeAll(counter, wider, 1)).taken).toBe(2);
    });
  });
}
