// The limiter on real stores: Redis shares it between processes, SQLite keeps it over a restart.
import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Clock } from '../../src/core/clock.ts';
import { systemClock } from '../../src/core/system.ts';
import { VirtualClock } from '../support/core/virtual-clock.ts';
import { connectRedis } from '../../src/platform/redis/connection.ts';
import type { RedisConnection } from '../../src/platform/redis/connection.ts';
import { openSqlite } from '../../src/platform/sqlite/open-sqlite.ts';
import { AdaptiveRateLimiter } from '../../src/resilience/rate-limiter/limiter.ts';
import { MemoryRateWindow } from '../../src/resilience/rate-limiter/memory-window.ts';
import { emptyRequest as nothing } from '../../src/resilience/rate-limiter/policy.ts';
import {
  describeRateWindowContract,
  LimiterWorld,
  maxIn,
} from '../support/resilience/rate-limiter.contract.ts';
import { RedisRateWindow } from '../../src/resilience/rate-limiter/redis-window.ts';
import { SqliteGrantJournal } from '../../src/resilience/rate-limiter/sqlite-journal.ts';
import { redisUrl, temporaryFolder, uniqueName } from '../support/services.ts';

let redis: RedisConnection;
beforeAll(async () => {
  redis = await connectRedis({ url: redisUrl(), keyPrefix: `${uniqueName('limiter')}:` });
});
afterAll(() => redis.close());

async function journalFile(): Promise<string> {
  return join(await temporaryFolder(), 'journal.sqlite');
}

function openJournal(path: string): SqliteGrantJournal {
  const db = openSqlite(path);
  onTestFinished(() => db.close());
  return new SqliteGrantJournal(db, 'limiter');
}

describeRateWindowContract(
  'memory with a SQLite journal',
  async (settings) => {
    const path = await journalFile();
    return { open: () => new MemoryRateWindow({ ...settings, journal: openJournal(path) }) };
  },
  { survivesRestart: true, isShared: true },
);

describeRateWindowContract(
  'Redis',
  async ({ clock, ...settings }) => {
    const key = uniqueName('contract');
    return { open: () => new RedisRateWindow({ ...settings, redis, key, now: () => clock.now() }) };
  },
  { survivesRestart: true, isShared: true },
);

describe('Redis rate window', () => {
  it('decides as the one in memory does, step by step', async () => {
    const step = fc.record({
      waitMs: fc.oneof(fc.integer({ min: 0, max: 2_000 }), fc.integer({ min: 0, max: 70_000 })),
      wanted: fc.integer({ min: 0, max: 15 }),
      successes: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 120 })),
      rateLimitedCalls: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 4 })),
      epochsAgo: fc.integer({ min: 0, max: 1 }),
      pauseMs: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 30_000 })),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 60 }),
        fc.boolean(),
        fc.array(step, { minLength: 1, maxLength: 30 }),
        async (perSecond, perMinute, adaptive, steps) => {
          const clock = new VirtualClock();
          const limits = { perSecond, perMinute };
          const memory = new MemoryRateWindow({ limits, adaptive, clock });
          const shared = new RedisRateWindow({
            limits,
            adaptive,
            redis,
            key: uniqueName('same'),
            now: () => clock.now(),
          });
          let epoch = 0;
          for (const { waitMs, epochsAgo, ...reported } of steps) {
            await clock.advance(waitMs);
            const request = {
              ...nothing,
              ...reported,
              epochSuccesses: reported.successes,
              successEpoch: epoch - epochsAgo,
              rateLimitedEpoch: epoch - epochsAgo,
            };
            const expected = memory.exchange(request);
            const actual = await shared.exchange(request);
            const { stamp: _, ...decision } = expected;
            expect(actual).toMatchObject(decision);
            epoch = expected.state.epoch;
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it('returns unused grants', async () => {
    const clock = new VirtualClock();
    const key = uniqueName('returned');
    const window = new RedisRateWindow({ limits: { perMinute: 5 }, redis, key, now: () => clock.now() });
    const first = await window.exchange({ ...nothing, wanted: 5 });
    expect(first).toMatchObject({ granted: 5, waitMs: 0 });
    const second = await window.exchange({ ...nothing, wanted: 4, returned: 3, returnedStamp: first.stamp });
    expect(second.granted).toBe(3);
  });

  it('neither stops nor grants too much when the clock of the server is set back', async () => {
    const world = new LimiterWorld();
    let setBackMs = 0;
    const window = new RedisRateWindow({
      limits: { perSecond: 5 },
      redis,
      key: uniqueName('clock'),
      now: () => world.clock.now() - setBackMs,
    });
    const caller = world.request(world.limiter(window), 8);
    await world.advance(3_500);
    setBackMs = 3_600_000;
    await world.advance(6_500);
    caller.stop();
    expect(maxIn(caller.grants, 1_000)).toBe(5);
    expect(caller.grants.length).toBeGreaterThanOrEqual(45);
  });

  it('rejects callers while Redis is unavailable, and keeps their reports', async () => {
    let isAway = false;
    const window = new RedisRateWindow({ limits: { perSecond: 100 }, redis, key: uniqueName('away') });
    const limiter = new AdaptiveRateLimiter(
      {
        limits: window.limits,
        isLocal: false,
        sendLate: ({ stamp }) => stamp,
        exchange: (request) => (isAway ? Promise.reject(new Error('away')) : window.exchange(request)),
      },
      systemClock,
    );
    const permit = await limiter.acquire();
    isAway = true;
    permit.rateLimited();
    await expect(limiter.acquire()).rejects.toThrow('away');
    isAway = false;
    expect(await limiter.refresh()).toMatchObject({
      total_429_count: 1,
      backoff_multiplier: 1.5,
      waiting: 0,
    });
  });

  it('keeps processes on the real clock within one limit', async () => {
    const key = uniqueName('real');
    const limits = { perSecond: 20 };
    const grants: number[] = [];
    const stop = new AbortController();
    const caller = async (limiter: AdaptiveRateLimiter): Promise<void> => {
      for (;;) {
        const permit = await limiter.acquire(stop.signal);
        grants.push(systemClock.monotonic());
        permit.succeeded();
      }
    };
    const limiters = [1, 2].map(
      () => new AdaptiveRateLimiter(new RedisRateWindow({ limits, redis, key }), systemClock),
    );
    const callers = limiters.flatMap((limiter) =>
      [1, 2, 3, 4].map(() => caller(limiter).catch(() => undefined)),
    );
    await systemClock.sleep(2_500);
    stop.abort();
    await Promise.all(callers);
    expect(grants.length).toBeGreaterThanOrEqual(40);
    expect(grants.length).toBeLessThanOrEqual(60);
  });
});

describe('SQLite grant journal', () => {
  /** A wall clock that can be set, on a monotonic one that cannot. */
  function settableClock() {
    const inner = new VirtualClock();
    let setByMs = 0;
    const clock: Clock = {
      now: () => inner.now() + setByMs,
      monotonic: () => inner.monotonic(),
      sleep: (ms, signal) => inner.sleep(ms, signal),
      after: (ms, run) => inner.after(ms, run),
    };
    return { clock, inner, set: (byMs: number) => (setByMs += byMs) };
  }
  const limits = { perMinute: 10 };
  const request = { ...nothing, wanted: 20 };

  it.each([3_600_000, -3_600_000])(
    'keeps every grant when the wall clock is set by %i ms while it runs',
    async (byMs) => {
      const path = await journalFile();
      const { clock, inner, set } = settableClock();
      const window = new MemoryRateWindow({ limits, clock, journal: openJournal(path) });
      expect(window.exchange({ ...nothing, wanted: 6 }).granted).toBe(6);
      set(byMs);
      await inner.advance(1_000);
      expect(window.exchange({ ...nothing, wanted: 2 }).granted).toBe(2);
      const restarted = new MemoryRateWindow({ limits, clock, journal: openJournal(path) });
      expect(restarted.exchange(request).granted).toBe(2);
      await inner.advance(58_000);
      expect(restarted.exchange(request).granted).toBe(0);
      await inner.advance(1_500);
      expect(restarted.exchange(request).granted).toBe(6);
    },
  );

  it.each([3_600_000, -3_600_000])(
    'follows a wall clock that is set by %i ms once, however many share it',
    async (byMs) => {
      const path = await journalFile();
      const { clock, inner, set } = settableClock();
      const open = () => new MemoryRateWindow({ limits, clock, journal: openJournal(path) });
      const [one, two] = [open(), open()];
      expect(one.exchange({ ...nothing, wanted: 3 }).granted).toBe(3);
      expect(two.exchange({ ...nothing, wanted: 3 }).granted).toBe(3);
      set(byMs);
      await inner.advance(1_000);
      expect(one.exchange({ ...nothing, wanted: 1 }).granted).toBe(1);
      expect(two.exchange({ ...nothing, wanted: 1 }).granted).toBe(1);
      const third = open();
      expect(third.exchange(request).granted).toBe(2);
      await inner.advance(58_000);
      expect([one, two, third].map((window) => window.exchange(request).granted)).toEqual([0, 0, 0]);
      await inner.advance(1_500);
      expect(third.exchange(request).granted).toBe(6);
    },
  );

  it('applies to each process that shares it its own limit', async () => {
    const path = await journalFile();
    const clock = new VirtualClock();
    const open = (perMinute: number) =>
      new MemoryRateWindow({ limits: { perMinute }, clock, journal: openJournal(path) });
    const [wide, narrow] = [open(10), open(4)];
    expect(wide.exchange({ ...nothing, wanted: 3 }).granted).toBe(3);
    expect(narrow.exchange(request).granted).toBe(1);
    expect(wide.exchange(request).granted).toBe(6);
    expect(open(10).exchange(request).granted).toBe(0);
  });

  it('waits a window at most when the wall clock was set back between two runs', async () => {
    const path = await journalFile();
    const { clock, inner, set } = settableClock();
    new MemoryRateWindow({ limits, clock, journal: openJournal(path) }).exchange({
      ...request,
      rateLimitedCalls: 1,
      pauseMs: 5_000,
    });
    set(-3_600_000);
    const restarted = new MemoryRateWindow({ limits, clock, journal: openJournal(path) });
    expect(restarted.exchange(request).granted).toBe(0);
    await inner.advance(90_100);
    expect(restarted.exchange(request).granted).toBeGreaterThan(0);
  });

  it('counts a call sent late once, for all processes and after a restart', async () => {
    const path = await journalFile();
    const clock = new VirtualClock();
    const open = () => new MemoryRateWindow({ limits, clock, journal: openJournal(path) });
    const [one, two] = [open(), open()];
    two.exchange({ ...nothing, wanted: 2 });
    const { stamp } = one.exchange({ ...nothing, wanted: 4 });
    await clock.advance(500);
    // The second window reads the grants of one call before, and of the other after it was sent late.
    expect(two.exchange({ ...nothing, wanted: 1 }).granted).toBe(1);
    one.exchange({ ...nothing, sentLate: [stamp], sentLateGiven: [stamp] });
    const { stamp: other } = one.exchange({ ...nothing, wanted: 1 });
    await clock.advance(500);
    one.exchange({ ...nothing, sentLate: [other], sentLateGiven: [other] });
    expect(two.exchange({ ...nothing, wanted: 1 }).granted).toBe(1);
    expect(open().exchange({ ...nothing, wanted: 2 }).granted).toBe(1);
    await clock.advance(59_400);
    // Calls of the beginning, without those that were sent late.
    expect(open().exchange(request).granted).toBe(5);
    await clock.advance(500);
    expect(two.exchange(request).granted).toBe(2);
  });

  it('keeps no more rows than it needs', async () => {
    const db = openSqlite(await journalFile());
    onTestFinished(() => db.close());
    const journal = new SqliteGrantJournal(db, 'limiter');
    journal.load(50);
    for (let at = 0; at < 5_000; at++) journal.append(at, 1);
    const rows = Number(db.prepare('SELECT count(*) AS n FROM rate_limit_grants').get()?.['n']);
    expect(rows).toBeLessThanOrEqual(1_100);
    expect(journal.load(50).grants).toEqual(Array.from({ length: 50 }, (_, index) => 4_950 + index));
  });

  it('grants no permit that it could not write', async () => {
    const clock = new VirtualClock();
    const db = openSqlite(await journalFile());
    const limiter = new AdaptiveRateLimiter(
      new MemoryRateWindow({ limits, clock, journal: new SqliteGrantJournal(db, 'limiter') }),
      clock,
    );
    db.close();
    await expect(limiter.acquire()).rejects.toThrow(/not open/);
    expect(limiter.waiting).toBe(0);
  });

  it('has every grant of a killed process', async () => {
    const path = await journalFile();
    const child = fork(join(import.meta.dirname, 'rate-limiter-until-killed.ts'), [path], {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    let handedOut = 0;
    child.on('message', () => {
      handedOut++;
      if (handedOut === 300) child.kill('SIGKILL');
    });
    await once(child, 'exit');
    expect(handedOut).toBeGreaterThanOrEqual(300);
    expect(openJournal(path).load(100_000).grants.length).toBeGreaterThanOrEqual(handedOut);
  });
});

it('keeps the process alive while a caller waits for a permit', async () => {
  const script = join(import.meta.dirname, 'rate-limiter-waiting.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [script]);
  expect(stdout).toBe('granted 1\ngranted 2\n');
});
