// Contract of rate windows behind a limiter, on virtual time. Run by each adapter.
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../core/virtual-clock.ts';
import type { Permit } from '../../../src/resilience/rate-limiter/limiter.ts';
import { AdaptiveRateLimiter } from '../../../src/resilience/rate-limiter/limiter.ts';
import type {
  WindowRequest,
  RateLimits,
  RateWindow,
  WindowReply,
} from '../../../src/resilience/rate-limiter/policy.ts';
import { emptyRequest } from '../../../src/resilience/rate-limiter/policy.ts';

export interface WindowSettings {
  readonly limits: RateLimits;
  readonly adaptive?: boolean;
  readonly clock: VirtualClock;
}

export interface RateWindowFixture {
  /** A new window on the same store, as a restarted or another process opens it. */
  open(): RateWindow;
}

export interface RateWindowCapabilities {
  /** Whether a window opened later has the grants of an earlier one. */
  readonly survivesRestart: boolean;
  /** Whether several processes may use it at once. */
  readonly isShared: boolean;
}

/** Advances virtual time in small steps, waiting in between for real I/O. */
export class LimiterWorld {
  readonly clock = new VirtualClock();
  readonly #stepMs = 2;
  #inFlight = 0;

  limiter(window: RateWindow): AdaptiveRateLimiter {
    const exchange = (request: WindowRequest): WindowReply | Promise<WindowReply> => {
      const reply = window.exchange(request);
      if (!(reply instanceof Promise)) return reply;
      this.#inFlight++;
      return reply.finally(() => this.#inFlight--);
    };
    const { limits, isLocal } = window;
    const sendLate: RateWindow['sendLate'] = (grant) => window.sendLate(grant);
    return new AdaptiveRateLimiter({ limits, isLocal, exchange, sendLate }, this.clock);
  }

  async advance(ms: number): Promise<void> {
    await this.settle();
    for (let left = ms; left > 0; left -= this.#stepMs) {
      await this.clock.advance(Math.min(this.#stepMs, left));
      await this.settle();
    }
  }

  /** Runs everything that needs no time to pass. */
  async settle(): Promise<void> {
    do await this.clock.advance(0);
    while (this.#inFlight > 0);
  }

  /** `callers` acquire permits concurrently until stopped; returns the times of all grants, in order. */
  request(
    limiter: AdaptiveRateLimiter,
    callers: number,
    onPermit: (permit: Permit) => void = succeed,
  ): Caller {
    const grants: number[] = [];
    const stop = new AbortController();
    const call = async (): Promise<void> => {
      for (;;) {
        const permit = await limiter.acquire(stop.signal);
        grants.push(this.clock.monotonic());
        onPermit(permit);
      }
    };
    for (let index = 0; index < callers; index++) call().catch(() => undefined);
    return { grants, stop: () => stop.abort() };
  }
}

export interface Caller {
  readonly grants: readonly number[];
  stop(): void;
}

const succeed = (permit: Permit) => permit.succeeded();

/** The maximum number of grants in any window of this length. */
export function maxIn(grants: readonly number[], windowMs: number): number {
  let max = 0;
  let first = 0;
  grants.forEach((at, index) => {
    while (at - (grants[first] ?? at) >= windowMs) first++;
    max = Math.max(max, index - first + 1);
  });
  return max;
}

export function describeRateWindowContract(
  name: string,
  make: (settings: WindowSettings) => Promise<RateWindowFixture>,
  { survivesRestart, isShared }: RateWindowCapabilities,
): void {
  const open = async (limits: RateLimits, adaptive = true) => {
    const world = new LimiterWorld();
    const fixture = await make({ limits, adaptive, clock: world.clock });
    return { world, fixture, limiter: world.limiter(fixture.open()) };
  };
  const permitsOf = async (
    world: LimiterWorld,
    limiter: AdaptiveRateLimiter,
    count: number,
    withinMs = 20,
  ) => {
    const permits = Promise.all(Array.from({ length: count }, () => limiter.acquire()));
    await world.advance(withinMs);
    return await permits;
  };

  describe(`rate window: ${name}`, () => {
    it('grants exactly the limit in every sliding second and minute, and at least 98% of it', async () => {
      const { world, limiter } = await open({ perSecond: 5, perMinute: 60 });
      const caller = world.request(limiter, 12);
      await world.advance(180_000);
      caller.stop();
      expect(maxIn(caller.grants, 1_000)).toBe(5);
      expect(maxIn(caller.grants, 60_000)).toBe(60);
      expect(caller.grants.length).toBeGreaterThanOrEqual(0.98 * 180);
    });

    it('uses at least 98% of a per-second limit', async () => {
      const { world, limiter } = await open({ perSecond: 10 });
      const caller = world.request(limiter, 25);
      await world.advance(20_000);
      caller.stop();
      expect(maxIn(caller.grants, 1_000)).toBe(10);
      expect(caller.grants.length).toBeGreaterThanOrEqual(0.98 * 200);
    });

    it('serves first come, first served', async () => {
      const { world, limiter } = await open({ perSecond: 3 });
      const served: number[] = [];
      for (let index = 0; index < 10; index++) void limiter.acquire().then(() => served.push(index));
      await world.settle();
      expect(served).toEqual([0, 1, 2]);
      await world.advance(4_000);
      expect(served).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    });

    it('counts a call from when it was sent, if that was late, and keeps its slot until then', async () => {
      const { world, limiter } = await open({ perSecond: 2 });
      const first = limiter.acquire(undefined, { reportsSending: true });
      const second = limiter.acquire(undefined, { reportsSending: true });
      await world.settle();
      const [prompt, sentLate] = await Promise.all([first, second]);
      prompt.sent();
      const caller = world.request(limiter, 3);
      await world.advance(1_400);
      // More than a second after its grant: one call has not been sent yet, so only one more is granted.
      expect(caller.grants).toHaveLength(1);
      const left = sentLate.sent() ? [world.clock.monotonic()] : [];
      await world.advance(5_000);
      caller.stop();
      expect(
        maxIn(
          [0, ...left, ...caller.grants].sort((a, b) => a - b),
          1_000,
        ),
      ).toBe(2);
      expect(caller.grants.length).toBeGreaterThanOrEqual(9);
    });

    it('counts a call sent late once', async () => {
      const { world, limiter } = await open({ perMinute: 3 });
      const calls = [1, 2].map(() => limiter.acquire(undefined, { reportsSending: true }));
      await world.settle();
      const permits = await Promise.all(calls);
      await world.advance(200);
      for (const permit of permits) expect(permit.sent()).toBe(true);
      await world.settle();
      const caller = world.request(limiter, 2);
      await world.advance(1_000);
      caller.stop();
      expect(caller.grants).toHaveLength(1);
    });

    it('counts a call that never reports sending from when its outcome is reported', async () => {
      const { world, limiter } = await open({ perSecond: 1 });
      const unsent = limiter.acquire(undefined, { reportsSending: true });
      await world.settle();
      const permit = await unsent;
      await world.advance(3_000);
      permit.failed();
      await world.settle();
      const caller = world.request(limiter, 1);
      await world.advance(900);
      expect(caller.grants).toEqual([]);
      await world.advance(200);
      caller.stop();
      expect(caller.grants).toHaveLength(1);
    });

    it('backs off once by 1.5 for a burst of 429s, and the rate falls by it', async () => {
      const { world, limiter } = await open({ perSecond: 6 });
      for (const permit of await permitsOf(world, limiter, 6)) permit.rateLimited();
      await world.settle();
      const snapshot = await limiter.refresh();
      expect(snapshot).toMatchObject({
        backoff_multiplier: 1.5,
        total_429_count: 6,
        permitted_per_second: 4,
      });
      await world.advance(2_000);
      const caller = world.request(limiter, 10, (permit) => permit.failed());
      await world.advance(20_000);
      caller.stop();
      expect(maxIn(caller.grants, 1_000)).toBe(4);
      expect(caller.grants.length).toBeGreaterThanOrEqual(0.98 * 80);
    });

    it('falls exactly by the multiplier even with a limit of 1', async () => {
      const { world, limiter } = await open({ perSecond: 1 });
      for (const permit of await permitsOf(world, limiter, 1)) permit.rateLimited();
      const caller = world.request(limiter, 2, (permit) => permit.failed());
      await world.advance(30_000);
      caller.stop();
      expect(maxIn(caller.grants, 1_500)).toBe(1);
      expect(caller.grants.length).toBeGreaterThanOrEqual(0.98 * 20 - 1);
    });

    it('backs off again for a 429 of a permit that was granted after the first increase', async () => {
      const { world, limiter } = await open({ perSecond: 6 });
      for (const expected of [1.5, 2.25, 3.375]) {
        for (const permit of await permitsOf(world, limiter, 1)) permit.rateLimited();
        await world.settle();
        expect((await limiter.refresh()).backoff_multiplier).toBe(expected);
        await world.advance(5_000);
      }
    });

    it('recovers by 0.9 for ten successes in a row, down to 1', async () => {
      const { world, limiter } = await open({ perSecond: 50 });
      for (const permit of await permitsOf(world, limiter, 1)) permit.rateLimited();
      await world.advance(1_000);
      const multipliers: number[] = [];
      const succeedTimes = async (times: number) => {
        for (let done = 0; done < times; done += 10) {
          // Spaced: the multiplier is above 1.
          for (const permit of await permitsOf(world, limiter, 10, 1_000)) permit.succeeded();
        }
        multipliers.push((await limiter.refresh()).backoff_multiplier);
      };
      for (const times of [10, 10, 10, 10]) await succeedTimes(times);
      expect(multipliers).toEqual([expect.closeTo(1.35), expect.closeTo(1.215), expect.closeTo(1.0935), 1]);
    });

    it('a 429 restarts the count of successes; other failures do not', async () => {
      const { world, limiter } = await open({ perSecond: 50 });
      const [first, second, third, ...rest] = await permitsOf(world, limiter, 8);
      for (const permit of rest) permit.succeeded();
      first?.failed();
      expect((await limiter.refresh()).consecutive_successes).toBe(5);
      second?.rateLimited();
      third?.succeeded();
      await world.settle();
      expect((await limiter.refresh()).consecutive_successes).toBe(0);
    });

    describe('a slower rate learned from 429s', () => {
      /** Calls granted at once, `idleMs` after the rate was lowered to two thirds of 90 a minute; a slower rate spaces them. */
      const grantedAtOnceAfter = async (idleMs: number) => {
        const { world, fixture } = await open({ perMinute: 90 });
        const window = fixture.open();
        let epoch = 0;
        const report = async (outcomes: Partial<WindowRequest>) => {
          const { state } = await window.exchange({ ...emptyRequest, ...outcomes });
          epoch = state.epoch;
          return state;
        };
        const succeeded = (count: number) => ({
          successes: count,
          epochSuccesses: count,
          successEpoch: epoch,
        });
        for (let burst = 0; burst < 5; burst++) {
          await report({ rateLimitedCalls: 5, rateLimitedEpoch: epoch });
          await report(succeeded(1));
        }
        const learned = await report(succeeded(50));
        expect(learned).toMatchObject({ learned: 1.5, multiplier: 1.5 });
        await world.clock.advance(idleMs);
        const caller = world.request(world.limiter(window), 100);
        await world.settle();
        caller.stop();
        return caller.grants.length;
      };

      it('is kept for an hour without calls', async () => {
        expect(await grantedAtOnceAfter(3_599_000)).toBe(1);
      });

      it('is dropped after an hour without calls: the full rate is used at once', async () => {
        expect(await grantedAtOnceAfter(3_601_000)).toBe(90);
      });
    });

    it('uses the full rate after a reset, within the limits and a Retry-After', async () => {
      const { world, limiter, fixture } = await open({ perSecond: 6 });
      const [first, second] = await permitsOf(world, limiter, 6);
      first?.rateLimited();
      await world.settle();
      expect((await limiter.refresh()).backoff_multiplier).toBe(1.5);
      await world.advance(2_000);
      const [current] = await permitsOf(world, limiter, 1);
      second?.rateLimited({ retryAfterMs: 5_000 });
      await world.settle();
      expect(await limiter.resetBackoff()).toMatchObject({
        backoff_multiplier: 1,
        total_429_count: 2,
        permitted_per_second: 6,
        paused_until: expect.any(String) as string,
      });
      // A 429 of a call before the reset.
      current?.rateLimited();
      await world.settle();
      expect((await limiter.refresh()).backoff_multiplier).toBe(1);
      if (survivesRestart) expect((await world.limiter(fixture.open()).refresh()).backoff_multiplier).toBe(1);
      const caller = world.request(limiter, 10, (permit) => permit.failed());
      await world.advance(4_900);
      expect(caller.grants).toEqual([]);
      await world.advance(200);
      caller.stop();
      expect(caller.grants).toHaveLength(6);
    });

    it('pauses all callers for a Retry-After, which a shorter one does not shorten (L2)', async () => {
      const { world, limiter } = await open({ perSecond: 10 });
      const [first, second] = await permitsOf(world, limiter, 2);
      first?.rateLimited({ retryAfterMs: 7_000 });
      second?.rateLimited({ retryAfterMs: 1_000 });
      await world.settle();
      const caller = world.request(limiter, 3);
      await world.advance(6_900);
      expect(caller.grants).toEqual([]);
      expect((await limiter.refresh()).paused_until).not.toBeNull();
      await world.advance(200);
      expect(caller.grants.length).toBeGreaterThan(0);
      caller.stop();
      expect((await limiter.refresh()).paused_until).toBeNull();
    });

    it('with adaptation off keeps the full rate, but counts 429s and applies pauses', async () => {
      const { world, limiter } = await open({ perSecond: 10 }, false);
      for (const permit of await permitsOf(world, limiter, 4)) permit.rateLimited({ retryAfterMs: 3_000 });
      await world.settle();
      expect(await limiter.refresh()).toMatchObject({ backoff_multiplier: 1, total_429_count: 4 });
      const caller = world.request(limiter, 3);
      await world.advance(2_900);
      expect(caller.grants).toEqual([]);
      await world.advance(200);
      caller.stop();
      expect(caller.grants).toHaveLength(10);
    });

    it('uses no grant for a waiter that leaves, and those behind move up', async () => {
      const { world, limiter } = await open({ perSecond: 2 });
      await permitsOf(world, limiter, 2);
      const leaving = new AbortController();
      const left = limiter.acquire(leaving.signal).catch((error: unknown) => error);
      const stays = [limiter.acquire(), limiter.acquire()];
      let served = 0;
      for (const permit of stays) void permit.then(() => served++);
      await world.advance(500);
      leaving.abort(new Error('gone'));
      expect(await left).toEqual(new Error('gone'));
      expect(limiter.waiting).toBe(2);
      await world.advance(600);
      expect([served, limiter.waiting]).toEqual([2, 0]);
    });

    it('wastes no grant on a waiter that leaves during the exchange', async () => {
      const { world, limiter } = await open({ perSecond: 2 });
      const leaving = new AbortController();
      const outcome = limiter.acquire(leaving.signal).then(
        (permit) => permit,
        () => 'left',
      );
      leaving.abort();
      await world.settle();
      const wasServed = (await outcome) !== 'left';
      const [one, two] = [limiter.acquire(), limiter.acquire()];
      await world.settle();
      let served = 0;
      for (const permit of [one, two]) void permit.then(() => served++);
      await world.settle();
      expect(served).toBe(wasServed ? 1 : 2);
    });

    it('rejects a caller whose signal has aborted', async () => {
      const { limiter } = await open({ perSecond: 2 });
      await expect(limiter.acquire(AbortSignal.abort('sentLate'))).rejects.toBe('sentLate');
      expect(limiter.waiting).toBe(0);
    });

    it('counts only the first outcome of a permit', async () => {
      const { world, limiter } = await open({ perSecond: 2 });
      const [permit] = await permitsOf(world, limiter, 1);
      permit?.succeeded();
      permit?.rateLimited();
      permit?.succeeded();
      expect(await limiter.refresh()).toMatchObject({ consecutive_successes: 1, total_429_count: 0 });
    });

    it('shows the fields of document 001', async () => {
      const { world, limiter } = await open({ perSecond: 3, perMinute: 90 });
      for (const permit of await permitsOf(world, limiter, 1)) permit.rateLimited();
      await world.settle();
      expect(await limiter.refresh()).toEqual({
        backoff_multiplier: 1.5,
        last_429_timestamp: new Date(world.clock.now()).toISOString(),
        consecutive_successes: 0,
        total_429_count: 1,
        paused_until: null,
        waiting: 0,
        permitted_per_second: 2,
        permitted_per_minute: 60,
      });
    });

    if (survivesRestart)
      it('keeps grants, backoff and pause over a restart', async () => {
        const { world, fixture, limiter } = await open({ perSecond: 10, perMinute: 20 });
        const before = world.request(limiter, 30);
        await world.advance(3_000);
        before.stop();
        expect(before.grants).toHaveLength(20);
        const after = world.request(world.limiter(fixture.open()), 5);
        await world.advance(55_000);
        expect(after.grants).toEqual([]);
        await world.advance(65_000);
        after.stop();
        expect(maxIn([...before.grants, ...after.grants], 60_000)).toBe(20);
        expect(after.grants.length).toBeGreaterThanOrEqual(20);

        const third = world.limiter(fixture.open());
        const unsent = third.acquire();
        await world.advance(60_000);
        (await unsent).rateLimited({ retryAfterMs: 30_000 });
        await world.settle();
        const fourth = world.limiter(fixture.open());
        expect(await fourth.refresh()).toMatchObject({ backoff_multiplier: 1.5, total_429_count: 1 });
        const paused = world.request(fourth, 1);
        await world.advance(29_000);
        expect(paused.grants).toEqual([]);
        await world.advance(2_000);
        expect(paused.grants.length).toBeGreaterThan(0);
        paused.stop();
      });

    if (isShared)
      it('keeps several processes together within the limits, and shares their backoff', async () => {
        const { world, fixture } = await open({ perSecond: 6, perMinute: 100 });
        const limiters = [1, 2, 3].map(() => world.limiter(fixture.open()));
        const callers = limiters.map((limiter) => world.request(limiter, 8));
        await world.advance(65_000);
        for (const caller of callers) caller.stop();
        const all = callers.flatMap(({ grants }) => grants).sort((a, b) => a - b);
        expect(maxIn(all, 1_000)).toBe(6);
        expect(maxIn(all, 60_000)).toBe(100);
        await world.advance(60_000);
        const [first, , third] = limiters;
        const permit = first?.acquire();
        await world.settle();
        (await permit)?.rateLimited({ retryAfterMs: 5_000 });
        await world.settle();
        expect(await third?.refresh()).toMatchObject({ backoff_multiplier: 1.5, total_429_count: 1 });
        expect(third?.snapshot().paused_until).not.toBeNull();
      });
  });
}
