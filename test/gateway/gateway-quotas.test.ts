// Quotas in a real Redis: as in memory, shared between processes, bounded during outages.
import * as fc from 'fast-check';
import { VirtualClock } from '../support/core/virtual-clock.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silentEmitter } from '../../src/core/telemetry.ts';
import { systemClock } from '../../src/core/system.ts';
import { parseRequest } from '../../src/gateway/dialects/parse-request.ts';
import { ProviderQuotas } from '../../src/gateway/quotas/provider-quotas.ts';
import { TieredCounter } from '../../src/gateway/quotas/tiered-counter.ts';
import type { QuotaCounter } from '../../src/gateway/quotas/quota-counter.ts';
import {
  MemoryQuotaCounter,
  quotaWindowsOf,
  RedisQuotaCounter,
} from '../../src/gateway/quotas/quota-counter.ts';
import { KeyLimiter } from '../../src/gateway/state/key-limits.ts';
import { exampleKey } from '../support/gateway/examples.ts';
import { describeQuotaCounterContract } from '../support/gateway/quota-counter.contract.ts';
import type { RedisConnection } from '../../src/platform/redis/connection.ts';
import { connectRedis } from '../../src/platform/redis/connection.ts';
import { modelOf } from '../support/gateway/routing-world.ts';
import { redisUrl, uniqueName } from '../support/services.ts';

const prefix = uniqueName('quotas');
let redis: RedisConnection;
beforeAll(async () => {
  redis = await connectRedis({ url: redisUrl(), keyPrefix: `${prefix}:` });
});
afterAll(() => redis.close());

/** Each counter uses its own names. */
function counterOn(clock: VirtualClock) {
  const own = uniqueName('counter');
  const counter = new RedisQuotaCounter(redis, () => clock.now());
  return {
    count: (name: string, ...rest: [Windows, readonly number[]]) => counter.count(`${own}:${name}`, ...rest),
    wait: (name: string, ...rest: [Windows, readonly number[]]) => counter.wait(`${own}:${name}`, ...rest),
    correct: (name: string, ...rest: [Windows, readonly number[], number]) =>
      counter.correct(`${own}:${name}`, ...rest),
  };
}
type Windows = ReturnType<typeof quotaWindowsOf>;

describeQuotaCounterContract('Redis', counterOn);

const smallCall = { estimatedTokens: 10, estimatedPromptTokens: 10 };

const quotasWith = (shared: QuotaCounter) =>
  new ProviderQuotas(systemClock, new TieredCounter({ clock: systemClock, events: silentEmitter, shared }));

describe('a quota counter in Redis', () => {
  it('decides as the one in memory, step by step', async () => {
    const step = fc.record({
      waitMs: fc.oneof(fc.integer({ min: 0, max: 3_000 }), fc.integer({ min: 0, max: 90_000_000 })),
      tokens: fc.integer({ min: 0, max: 150 }),
      correction: fc.option(fc.integer({ min: -200, max: 200 })),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          requestsPerMinute: fc.integer({ min: 1, max: 5 }),
          tokensPerMinute: fc.integer({ min: 50, max: 300 }),
          tokensPerDay: fc.integer({ min: 100, max: 900 }),
        }),
        fc.array(step, { minLength: 1, maxLength: 40 }),
        async (quotas, steps) => {
          const clock = new VirtualClock(0);
          const memory = new MemoryQuotaCounter(clock);
          const shared = counterOn(clock);
          const windows = quotaWindowsOf(quotas);
          for (const { waitMs, tokens, correction } of steps) {
            await clock.advance(waitMs);
            const look = await shared.wait('name', windows, [1, tokens, tokens]);
            expect(look).toBe(memory.wait('name', windows, [1, tokens, tokens]));
            const here = memory.count('name', windows, [1, tokens, tokens]);
            const there = await shared.count('name', windows, [1, tokens, tokens]);
            expect(there.waitMs).toBe(here.waitMs);
            if (correction === null) continue;
            memory.correct('name', windows, [0, correction, correction], here.stamp);
            await shared.correct('name', windows, [0, correction, correction], there.stamp);
          }
        },
      ),
      { numRuns: 40 },
    );
  });

  it('uses the server’s clock, and its keys expire', async () => {
    const name = uniqueName('real');
    const counter = new RedisQuotaCounter(redis);
    const windows = quotaWindowsOf({ requestsPerMinute: 2 });
    const taken = await Promise.all(Array.from({ length: 5 }, () => counter.count(name, windows, [1])));
    expect(taken.filter(({ waitMs }) => waitMs === 0)).toHaveLength(2);
    expect(taken.at(-1)?.waitMs).toBeGreaterThan(55_000);
    const ttl = Number(await redis.command('pttl', [redis.key(`headworks:quota:${name}`)]));
    expect(ttl).toBeGreaterThan(55_000);
    expect(ttl).toBeLessThan(65_000);
  });

  it('continues when the server’s clock is set back', async () => {
    let now = 10_000_000;
    const name = uniqueName('back');
    const counter = new RedisQuotaCounter(redis, () => now);
    const windows = quotaWindowsOf({ requestsPerMinute: 1 });
    await counter.count(name, windows, [1]);
    now -= 5_000_000;
    const { waitMs } = await counter.count(name, windows, [1]);
    expect(waitMs).toBeLessThanOrEqual(60_600);
    now += waitMs;
    expect((await counter.count(name, windows, [1])).waitMs).toBe(0);
  });

  it('keeps the bursts of several processes within the quota', async () => {
    const shared = new RedisQuotaCounter(redis);
    const model = modelOf(
      { name: uniqueName('model'), quotas: { requestsPerMinute: 20, tokensPerDay: 10_000 } },
      1,
    );
    const burst = () => {
      const quotas = quotasWith(shared);
      return Array.from({ length: 20 }, () => quotas.take(model, 'key', smallCall));
    };
    const taken = await Promise.all([burst(), burst(), burst()].flat());
    expect(taken.filter((outcome) => 'grant' in outcome)).toHaveLength(20);
  });

  it('counts the requests per minute of a gateway key over all servers', async () => {
    const smallRequest = parseRequest('embeddings', Buffer.from('{"input":"a"}'));
    const shared = new RedisQuotaCounter(redis);
    const { hash: _hash, ...key } = exampleKey(1, { id: uniqueName('key'), requestsPerMinute: 5 });
    const burst = () => {
      const limiter = new KeyLimiter({
        clock: systemClock,
        keys: { byId: () => key },
        usage: { usedToday: () => ({ tokens: 0, usd: 0 }) },
        counter: new TieredCounter({ clock: systemClock, events: silentEmitter, shared }),
        pricesFor: () => [],
      });
      const admit = async () => limiter.admit(smallRequest, { caller: `key:${key.id}`, requestId: 'r1' });
      return Array.from({ length: 5 }, admit);
    };
    const results = await Promise.allSettled([burst(), burst(), burst()].flat());
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
  });

  it('that is unavailable leaves the process with its own count', async () => {
    const gone = await connectRedis({ url: redisUrl(), keyPrefix: `${prefix}:` });
    await gone.close();
    const shared = new RedisQuotaCounter(gone);
    const quotas = quotasWith(shared);
    const model = modelOf({ name: uniqueName('model'), quotas: { requestsPerMinute: 3 } }, 1);
    const taken = await Promise.all(Array.from({ length: 9 }, () => quotas.take(model, 'key', smallCall)));
    expect(taken.filter((outcome) => 'grant' in outcome)).toHaveLength(3);
  });
});
