// Slots on a real Redis: the contract, exactness over processes, the document's redis-cli checks, flush and restart.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { MemorySlotStore } from '../../src/tenancy/admission/memory-slot-store.ts';
import { RedisSlotStore } from '../../src/tenancy/admission/redis/redis-slot-store.ts';
import { acquireWith, slotStoreSettings } from '../support/tenancy/slot-store-world.contract.ts';
import { describeSlotStoreContract } from '../support/tenancy/slot-store.contract.ts';
import { VirtualClock } from '../support/core/virtual-clock.ts';
import type { RedisConnection } from '../../src/platform/redis/connection.ts';
import { connectRedis } from '../../src/platform/redis/connection.ts';
import { startPrivateRedis } from '../support/private-servers.ts';
import { redisUrl, uniqueName } from '../support/services.ts';
import { slotWorld } from './admission-slots-support.ts';

let redis: RedisConnection;
beforeAll(async () => {
  redis = await connectRedis({ url: redisUrl(), keyPrefix: `${uniqueName('slots')}:` });
});
afterAll(() => redis.close());

describeSlotStoreContract('Redis', () => Promise.resolve(slotWorld(redis)));

describe('Redis slot store', () => {
  it('decides like the store in memory, step by step', async () => {
    const organization = fc.constantFrom('a', 'b', 'c');
    const execution = fc.integer({ min: 1, max: 8 }).map(String);
    const slot = fc.record({ organizationId: organization, number: execution });
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ act: fc.constant('acquire' as const), slot }) },
      {
        weight: 2,
        arbitrary: fc.record({ act: fc.constant('burst' as const), slots: fc.array(slot, { maxLength: 8 }) }),
      },
      { weight: 2, arbitrary: fc.record({ act: fc.constant('release' as const), slot }) },
      {
        weight: 2,
        arbitrary: fc.record({ act: fc.constant('renew' as const), slots: fc.array(slot, { maxLength: 4 }) }),
      },
      {
        weight: 1,
        arbitrary: fc.record({ act: fc.constant('invalidate' as const), organizationId: organization }),
      },
      {
        weight: 3,
        arbitrary: fc.record({ act: fc.constant('wait' as const), times: fc.integer({ min: 1, max: 3 }) }),
      },
    );
    const limits = { a: 2, b: 3, c: 50 };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const clock = new VirtualClock();
        const memory = {
          store: new MemorySlotStore({ clock, ...slotStoreSettings }),
          advance: (ms: number) => clock.advance(ms),
        };
        const worlds = [memory, slotWorld(redis)];
        const both = async <T>(work: (world: (typeof worlds)[number]) => Promise<T>): Promise<void> => {
          const [expected, actual] = await Promise.all(worlds.map(work));
          expect(actual).toEqual(expected);
        };
        // An execution belongs to one organization.
        const named = ({ organizationId, number }: { organizationId: string; number: string }) => ({
          organizationId,
          executionId: `${organizationId}${number}`,
        });
        await both(({ store }) => store.restore([named({ organizationId: 'c', number: '1' })]));
        for (const taken of steps) {
          if (taken.act === 'acquire') {
            const { organizationId, executionId } = named(taken.slot);
            const limit = limits[organizationId as keyof typeof limits];
            await both(({ store }) =>
              acquireWith(store, organizationId, executionId, { limit, globalLimit: 6 }),
            );
          } else if (taken.act === 'burst') {
            await both(({ store }) =>
              Promise.all(
                taken.slots.map(named).map(({ organizationId, executionId }) => {
                  const limit = limits[organizationId as keyof typeof limits];
                  return acquireWith(store, organizationId, executionId, { limit, globalLimit: 6 });
                }),
              ),
            );
          } else if (taken.act === 'release') {
            // Whether an expired slot was still there to be freed is up to the store.
            await Promise.all(worlds.map(({ store }) => store.release(named(taken.slot))));
          } else if (taken.act === 'renew') {
            await both(async ({ store }) => new Set(await store.renew(taken.slots.map(named))));
          } else if (taken.act === 'invalidate') {
            await both(({ store }) => store.invalidateLimits([taken.organizationId]));
          } else {
            // Never near a whole lease or time to live, where the two may differ by a second.
            await both(({ advance }) => advance(taken.times * 25_000));
          }
          await both(({ store }) => store.usage(['a', 'b', 'c']));
        }
        await both(
          async ({ store }) => new Set((await store.holders()).map(({ executionId }) => executionId)),
        );
      }),
      { numRuns: 40 },
    );
  });

  it.each([
    { what: 'one organization', limit: 20, globalLimit: 10_000, organizations: 1, expected: 20 },
    { what: 'all organizations', limit: 50, globalLimit: 100, organizations: 40, expected: 100 },
  ])('admits exactly the limit of $what in bursts of four processes with many connections', async (plan) => {
    const rounds = 5;
    const keyPrefix = `${uniqueName('burst')}:`;
    const operator = await connectRedis({ url: redisUrl(), keyPrefix });
    onTestFinished(() => operator.close());
    const store = new RedisSlotStore({ redis: operator, ...slotStoreSettings });
    await store.restore([]);
    const children = Array.from({ length: 4 }, (_, number) =>
      fork(join(import.meta.dirname, 'admission-slots-burst.ts'), [], {
        env: {
          ...process.env,
          BURST: JSON.stringify({ ...plan, keyPrefix, number, connections: 4, callers: 50 }),
        },
      }),
    );
    onTestFinished(() => children.forEach((child) => child.kill('SIGKILL')));
    const received = () =>
      Promise.all(children.map(async (child) => (await once(child, 'message'))[0] as string[]));
    await received();
    for (let round = 0; round < rounds; round++) {
      const answers = received();
      for (const child of children) child.send(round);
      const admitted = (await answers).flat();
      expect(admitted).toHaveLength(plan.expected);
      const holders = await store.holders();
      expect(holders.map(({ executionId }) => executionId).sort()).toEqual(admitted.sort());
      await Promise.all(holders.map((held) => store.release(held)));
      expect((await store.usage([])).global).toBe(0);
    }
  });

  it('can be inspected with redis-cli as in the founding document', async () => {
    const { store, key } = slotWorld(redis);
    const organizationId = 'org_a1b2c3d4e5f6g7h8';
    await store.restore([]);
    await acquireWith(store, organizationId, 'first', { limit: 50 });
    await acquireWith(store, organizationId, 'second');
    await acquireWith(store, 'another', 'third');
    const slots = key(`api_deployment:rate_limit:org:${organizationId}`);
    expect(await redis.command('zcard', [slots])).toBe(2);
    expect(await redis.command('zcard', [key('api_deployment:rate_limit:global')])).toBe(3);
    const listed = (await redis.command('zrange', [slots, 0, -1, 'withscores'])) as string[];
    const [seconds] = (await redis.command('time', [])) as string[];
    expect(listed.filter((_, index) => index % 2 === 0)).toEqual(['first', 'second']);
    for (const score of listed.filter((_, index) => index % 2 === 1))
      expect(Math.abs(Number(score) - Number(seconds))).toBeLessThan(30);
    const cached = key(`rate_limit:cache:org_limit:${organizationId}`);
    expect(await redis.command('get', [cached])).toBe('50');
    expect(await redis.command('ttl', [cached])).toBeGreaterThan(slotStoreSettings.cacheTtlSeconds - 30);
    // "Manually cleanup": slots that an operator deletes are free at once, and restored if they are still renewed.
    await redis.command('zremrangebyscore', [slots, '-inf', Number(seconds) + 1]);
    expect((await store.usage([organizationId])).organizations.get(organizationId)).toBe(0);
    expect(await store.renew([{ organizationId, executionId: 'first' }])).toEqual(['first']);
    expect((await store.usage([organizationId])).organizations.get(organizationId)).toBe(1);
  });

  it('treats a cached limit that is not a number as missing', async () => {
    const { store, key } = slotWorld(redis);
    await store.restore([]);
    await redis.command('set', [key('rate_limit:cache:org_limit:a'), 'ten']);
    expect(await acquireWith(store, 'a', '1', { limit: 3 })).toMatchObject({
      kind: 'admitted',
      usage: { organizationLimit: 3 },
    });
  });

  it('leaves no keys of deleted organizations', async () => {
    const { store, key, advance } = slotWorld(redis);
    await store.restore([]);
    for (const id of ['leaks', 'ends', 'stays']) await acquireWith(store, id, `of ${id}`);
    await store.release({ organizationId: 'ends', executionId: 'of ends' });
    await advance(605_000);
    await store.renew([{ organizationId: 'stays', executionId: 'of stays' }]);
    await store.holders();
    const left = (await redis.command('keys', [key('*')])) as string[];
    expect(left.sort()).toEqual(
      ['epoch', 'global', 'org:stays', 'organizations'].map((name) =>
        key(`api_deployment:rate_limit:${name}`),
      ),
    );
    expect(await redis.command('smembers', [key('api_deployment:rate_limit:organizations')])).toEqual([
      'stays',
    ]);
  });

  it('releases leaked slots within a lease after the clock was set back', async () => {
    const { store, advance } = slotWorld(redis);
    await store.restore([]);
    await acquireWith(store, 'a', 'leaked', { limit: 1 });
    await advance(-3_600_000);
    expect(await store.holders()).toMatchObject([{ executionId: 'leaked' }]);
    await advance(61_500);
    expect(await acquireWith(store, 'a', 'next')).toMatchObject({ kind: 'admitted', usage: { global: 1 } });
  });

  it('takes one round trip per call', async () => {
    const server = await startPrivateRedis();
    const connection = await connectRedis({ url: server.url });
    onTestFinished(() => connection.close());
    const store = new RedisSlotStore({ redis: connection, ...slotStoreSettings });
    const slot = { organizationId: 'a', executionId: '1' };
    const everything = async (): Promise<number> => {
      let calls = 0;
      const each = [
        () => store.restore([slot]),
        () => store.acquire({ ...slot, globalLimit: 10 }),
        () => store.renew([slot]),
        () => store.holders(),
        () => store.usage(['a', 'b']),
        () => store.cachedLimits(['a', 'b']),
        () => store.invalidateLimits(['a', 'b']),
        () => store.invalidateLimits('all'),
        () => store.heartbeat('one'),
        () => store.release(slot),
      ];
      for (; calls < each.length; calls++) await each[calls]?.();
      return calls;
    };
    const commands = async () => {
      const stats = String(await connection.command('info', ['stats']));
      return Number(/total_reads_processed:(\d+)/.exec(stats)?.[1]);
    };
    await everything();
    const before = await commands();
    const calls = await everything();
    expect((await commands()) - before).toBe(calls + 1);
  });

  it('acquires a slot before it releases it, also without a wait in between', async () => {
    const { store } = slotWorld(redis);
    await store.restore([]);
    await acquireWith(store, 'a', 'other');
    const slot = { organizationId: 'a', executionId: 'late' };
    const freed = store.release({ organizationId: 'a', executionId: 'other' });
    const taken = store.acquire({ ...slot, globalLimit: 100 });
    expect(await store.release(slot)).toBe(true);
    expect([(await taken).kind, await freed]).toEqual(['admitted', true]);
    expect((await store.usage(['a'])).global).toBe(0);
  });

  describe('on a Redis that loses everything', () => {
    const start = async (extraConfig: readonly string[] = []) => {
      const server = await startPrivateRedis({ extraConfig });
      const connection = await connectRedis({ url: server.url });
      onTestFinished(() => connection.close());
      return { server, connection, store: new RedisSlotStore({ redis: connection, ...slotStoreSettings }) };
    };
    const running = { organizationId: 'a', executionId: 'running' };
    const isUp = (connection: RedisConnection) =>
      new Promise<void>((resolve) => {
        if (connection.state === 'up') return resolve();
        connection.onStateChange((state) => state === 'up' && resolve());
      });

    it('admits no request after a flush until slots are restored', async () => {
      const { connection, store } = await start();
      await store.restore([]);
      await acquireWith(store, 'a', 'running', { limit: 1 });
      const request = { organizationId: 'a', executionId: 'next', globalLimit: 100 };
      const unknown = await store.acquire({ ...request, organizationId: 'b' });
      await connection.command('flushall', []);
      expect(await store.acquire(request)).toEqual({ kind: 'not-restored' });
      await store.restore([running]);
      expect(await acquireWith(store, 'a', 'next', { limit: 1 })).toMatchObject({
        kind: 'rejected',
        limitedBy: 'organization',
        usage: { organization: 1, global: 1 },
      });
      // A limit that was read before the flush is old, although the generation is the same again.
      const token = unknown.kind === 'limit-unknown' ? unknown.token : '';
      expect(
        await store.acquire({ ...request, organizationId: 'b', limit: { value: 9, token } }),
      ).toMatchObject({
        kind: 'limit-unknown',
      });
    });

    it('admits no request after an empty restart until slots are restored', async () => {
      const { server, connection, store } = await start();
      await store.restore([]);
      await acquireWith(store, 'a', 'running', { limit: 1 });
      await server.kill();
      await server.restart();
      await isUp(connection);
      expect(await acquireWith(store, 'a', 'next', { limit: 1 })).toEqual({ kind: 'not-restored' });
      await store.restore([running]);
      expect(await acquireWith(store, 'a', 'next', { limit: 1 })).toMatchObject({ kind: 'rejected' });
    });

    it('continues after a restart with persisted data', async () => {
      const { server, connection, store } = await start(['appendonly yes', 'appendfsync always']);
      await store.restore([]);
      await acquireWith(store, 'a', 'running', { limit: 1 });
      await server.kill();
      await server.restart();
      await isUp(connection);
      expect(await acquireWith(store, 'a', 'next', { limit: 1 })).toMatchObject({ kind: 'rejected' });
      expect(await store.holders()).toMatchObject([running]);
    });

    it('decides about known slots when Redis is out of memory, and otherwise fails without side effects', async () => {
      const { connection, store } = await start();
      await store.restore([]);
      await acquireWith(store, 'a', 'running', { limit: 2 });
      await connection.command('config', ['set', 'maxmemory', '1']);
      expect(await acquireWith(store, 'a', 'second')).toMatchObject({ kind: 'admitted' });
      expect(await acquireWith(store, 'a', 'third')).toMatchObject({ kind: 'rejected' });
      for (const executionId of ['running', 'second'])
        expect(await store.release({ organizationId: 'a', executionId })).toBe(true);
      await expect(acquireWith(store, 'b', 'fourth')).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' });
      expect(await store.cachedLimits(['b'])).toEqual(new Map());
      expect(await store.usage(['b'])).toEqual({ global: 0, organizations: new Map([['b', 0]]) });
    });
  });
});
