// A shared window that goes down and recovers blocks no caller and never admits too many.
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { expect, it } from 'vitest';
import { LimiterWorld, maxIn } from '../../../test/support/resilience/rate-limiter.contract.ts';
import { FallbackRateWindow } from './fallback-window.ts';
import { AdaptiveRateLimiter } from './limiter.ts';
import { MemoryRateWindow } from './memory-window.ts';
import type { WindowRequest, RateWindow } from './policy.ts';

/** Like Redis: shared, asynchronous, and down or empty on demand. */
function sharedWindow(clock: VirtualClock, limits = { perSecond: 5, perMinute: 60 }) {
  let inner = new MemoryRateWindow({ limits, clock });
  const state = { isDown: false, exchanges: 0 };
  const window: RateWindow = {
    limits,
    isLocal: false,
    sendLate: ({ stamp }) => stamp,
    exchange: async (request: WindowRequest) => {
      state.exchanges++;
      if (state.isDown) throw new Error('away');
      return inner.exchange(request);
    },
  };
  return { state, window, clear: () => (inner = new MemoryRateWindow({ limits, clock })) };
}

function world() {
  const limiters = new LimiterWorld();
  const shared = sharedWindow(limiters.clock);
  const changes: unknown[] = [];
  const open = () =>
    limiters.limiter(
      new FallbackRateWindow({
        shared: shared.window,
        local: new MemoryRateWindow({ limits: shared.window.limits, clock: limiters.clock }),
        clock: limiters.clock,
        onChange: (cause) => changes.push(cause),
      }),
    );
  return { limiters, shared, changes, open };
}

it('shares the window while it is available, decides alone otherwise, and never exceeds the limit', async () => {
  const { limiters, shared, changes, open } = world();
  const caller = limiters.request(open(), 8);
  for (let phase = 0; phase < 20; phase++) {
    shared.state.isDown = phase % 2 === 1;
    // After its recovery it has lost its grants: those of this machine still count.
    if (!shared.state.isDown) shared.clear();
    await limiters.advance(7_000);
  }
  caller.stop();
  expect(changes.slice(0, 2)).toEqual([new Error('away'), undefined]);
  expect(maxIn(caller.grants, 1_000)).toBeLessThanOrEqual(5);
  expect(maxIn(caller.grants, 60_000)).toBeLessThanOrEqual(60);
  expect(caller.grants.length).toBeGreaterThanOrEqual(0.98 * 140);
});

it('keeps several processes together within the limits while sharing', async () => {
  const { limiters, open } = world();
  const callers = [open(), open()].map((limiter) => limiters.request(limiter, 8));
  await limiters.advance(65_000);
  for (const caller of callers) caller.stop();
  const all = callers.flatMap(({ grants }) => grants).sort((a, b) => a - b);
  expect(maxIn(all, 1_000)).toBe(5);
  expect(maxIn(all, 60_000)).toBe(60);
});

it('keeps the backoff and the pause when it decides alone', async () => {
  const { limiters, shared, open } = world();
  const limiter = open();
  const pending = limiter.acquire();
  await limiters.settle();
  (await pending).rateLimited({ retryAfterMs: 10_000 });
  await limiters.settle();
  shared.state.isDown = true;
  const caller = limiters.request(limiter, 1);
  await limiters.advance(9_000);
  expect(caller.grants).toEqual([]);
  expect(limiter.snapshot()).toMatchObject({ backoff_multiplier: 1.5, total_429_count: 1 });
  await limiters.advance(2_000);
  caller.stop();
  expect(caller.grants.length).toBeGreaterThan(0);
});

it('stops calling a shared window that hangs after its first timeout', async () => {
  const clock = new VirtualClock();
  const limits = { perSecond: 5 };
  const hanging: RateWindow = {
    limits,
    isLocal: false,
    sendLate: ({ stamp }) => stamp,
    exchange: () => clock.sleep(1_000).then(() => Promise.reject(new Error('no reply'))),
  };
  const local = new MemoryRateWindow({ limits, clock });
  const limiter = new AdaptiveRateLimiter(
    new FallbackRateWindow({ shared: hanging, local, clock, onChange: () => undefined }),
    clock,
  );
  const all = Promise.all(Array.from({ length: 20 }, () => limiter.acquire()));
  await clock.run(all);
  expect(clock.monotonic()).toBeLessThan(4_200);
});
