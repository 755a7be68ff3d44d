// The gate on a Redis of its own, which is killed, frozen, filled up, flushed and kept loading.
import { describe, expect, it, onTestFinished } from 'vitest';
import { FakeExecutions, standardOptions } from '../support/tenancy/admission-world.ts';
import type { OpenAdmission } from '../../src/tenancy/index.ts';
import { admissionEvents, openAdmission } from '../../src/tenancy/index.ts';
import { MemoryLimitStore } from '../support/tenancy/memory-limit-store.ts';
import { RedisSlotStore } from '../../src/tenancy/admission/slots/redis/redis-slot-store.ts';
import type { EmittedEvent } from '../../src/core/index.ts';
import { EventBus, messageOf, systemClock, systemIds } from '../../src/core/index.ts';
import type { Degradation } from '../../src/ledger/index.ts';
import type { RedisConnection } from '../../src/platform/redis/index.ts';
import { connectRedis } from '../../src/platform/redis/index.ts';
import { pingRedis } from '../../scripts/services/ping.ts';
import { startPrivateRedis } from '../support/private-servers.ts';

interface Gate {
  readonly admission: OpenAdmission;
  readonly redis: RedisConnection;
  readonly emitted: EmittedEvent[];
  readonly recorded: Degradation[];
  readonly executions: FakeExecutions;
}

async function gateOn(
  url: string,
  { options = {}, executions = new FakeExecutions(), limits = new MemoryLimitStore(systemIds) } = {},
): Promise<Gate> {
  const redis = await connectRedis({ url, commandTimeoutMs: 1_000, whenUnreachable: 'stay-down' });
  const events = new EventBus(admissionEvents, () => systemClock.now());
  const emitted: EmittedEvent[] = [];
  events.listen((event) => void emitted.push(event));
  const recorded: Degradation[] = [];
  const all = { ...standardOptions, defaultLimit: 5, leaseSeconds: 9, ...options };
  const admission = await openAdmission({
    clock: systemClock,
    events,
    ledger: { record: async (degradation) => void recorded.push(degradation) },
    slots: new RedisSlotStore({ ...all, redis }),
    limits,
    executions,
    options: all,
    serverId: systemIds.uuid(),
    storeName: redis.address,
    countsSlots: true,
    endOverdue: async () => undefined,
    checkReady: () => undefined,
  });
  const ignore = redis.onStateChange((state) => admission.redisChanged(state === 'up'));
  onTestFinished(async () => {
    ignore();
    await admission.close();
    await redis.close();
  });
  return { admission, redis, emitted, recorded, executions };
}

const { signal } = new AbortController();

async function burst({ admission }: Gate, count: number, tag: string): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, (_, index) => `${tag}-${index}`);
  const tries = await Promise.allSettled(
    ids.map((executionId) => admission.gate.admit({ organizationId: 'a', executionId, waitMs: 0, signal })),
  );
  return ids.filter((_, index) => tries[index]?.status === 'fulfilled');
}

const localDecisions = ({ emitted }: Gate): readonly number[] =>
  emitted
    .filter(({ payload }) => payload['decider'] === 'local')
    .map(({ payload }) => Number(payload['decisionMs']));

const isBack = (gate: Gate) =>
  expect.poll(() => gate.admission.isStoreUp(), { timeout: 20_000, interval: 50 }).toBe(true);

const holders = async ({ redis }: Gate): Promise<readonly string[]> =>
  ((await redis.command('zrange', ['api_deployment:rate_limit:org:a', 0, -1])) as string[]).sort();

describe('the gate', () => {
  it.each(['unreachable', 'hanging', 'loading'] as const)(
    'admits what is left while Redis is %s, quickly, and tells Redis afterwards',
    { timeout: 60_000 },
    async (how) => {
      const server = await startPrivateRedis({
        extraConfig: [
          'appendonly yes',
          'enable-debug-command yes',
          'key-load-delay 500',
          'loading-process-events-interval-bytes 1024',
        ],
      });
      const gate = await gateOn(server.url);
      const before = await burst(gate, 2, 'before');
      expect(before).toHaveLength(2);
      const mend = await breakRedis(how, server, gate);
      const during = await burst(gate, 20, 'during');
      expect(during).toHaveLength(3);
      expect(await burst(gate, 20, 'still')).toHaveLength(0);
      expect(gate.recorded[0]).toMatchObject({ kind: 'admission.redis-away', subject: gate.redis.address });
      const times = localDecisions(gate).toSorted((a, b) => a - b);
      expect(times).toHaveLength(40);
      // On an idle machine 45 ms for the first and nothing for the rest; this one may be busy.
      expect(times[20]).toBeLessThan(200);
      expect(times.at(-1)).toBeLessThan(1_000);
      const [gone = ''] = before;
      await gate.admission.gate.release({ organizationId: 'a', executionId: gone });
      await mend();
      await isBack(gate);
      expect(await holders(gate)).toEqual([...before.slice(1), ...during].sort());
      expect(await burst(gate, 5, 'after')).toHaveLength(1);
    },
  );

  it('admits what is left while Redis is out of memory, whoever decides', { timeout: 60_000 }, async () => {
    const server = await startPrivateRedis({ extraConfig: ['maxmemory-policy noeviction'] });
    const gate = await gateOn(server.url, { options: { leaseSeconds: 3 } });
    const before = await burst(gate, 2, 'before');
    await gate.redis.command('config', ['set', 'maxmemory', '1']);
    const during = await burst(gate, 20, 'during');
    expect([...before, ...during]).toHaveLength(5);
    // It cannot be told any more that this server is alive: from then on this process decides.
    await expect.poll(() => gate.admission.isStoreUp(), { timeout: 10_000 }).toBe(false);
    expect(await burst(gate, 20, 'still')).toHaveLength(0);
    await gate.redis.command('config', ['set', 'maxmemory', '0']);
    await isBack(gate);
    expect(await holders(gate)).toEqual([...before, ...during].sort());
  });

  it('restores what is under way after a flush, before it admits anybody', async () => {
    const server = await startPrivateRedis();
    const gate = await gateOn(server.url);
    const ids = await burst(gate, 5, 'x');
    for (const executionId of ids.slice(0, 3)) {
      gate.executions.begin({ organizationId: 'a', executionId }, new Date());
      gate.admission.gate.letGo({ organizationId: 'a', executionId });
    }
    await gate.redis.command('flushall', []);
    expect(await burst(gate, 10, 'y')).toHaveLength(0);
    expect(await holders(gate)).toEqual([...ids]);
  });

  it('is exact for two servers, hears of limits at once, and lets waiters in', async () => {
    const server = await startPrivateRedis();
    const limits = new MemoryLimitStore(systemIds);
    const executions = new FakeExecutions();
    const one = await gateOn(server.url, { limits, executions });
    const two = await gateOn(server.url, { limits, executions });
    const both = await Promise.all([burst(one, 100, 'one'), burst(two, 100, 'two')]);
    expect(both.flat()).toHaveLength(5);
    await one.admission.limits.set('a', 8);
    expect(await burst(two, 10, 'more')).toHaveLength(3);
    const waiting = two.admission.gate.admit({
      organizationId: 'a',
      executionId: 'w',
      waitMs: 10_000,
      signal,
    });
    const [first = ''] = both[0].length > 0 ? both[0] : both[1];
    await one.admission.gate.release({ organizationId: 'a', executionId: first });
    expect(await waiting).toMatchObject({ decidedBy: 'store', usage: { organization: 8 } });
  });
});

type PrivateRedis = Awaited<ReturnType<typeof startPrivateRedis>>;

/** Takes Redis away; the returned function brings it back. */
async function breakRedis(how: string, server: PrivateRedis, { redis }: Gate): Promise<() => Promise<void>> {
  if (how === 'hanging') {
    server.pause();
    return async () => server.resume();
  }
  if (how === 'loading') {
    // Ten thousand keys at half a millisecond each.
    await redis.command('debug', ['populate', 10_000]);
    await redis.command('bgrewriteaof', []);
    const info = async () => String(await redis.command('info', ['persistence']));
    await expect.poll(info, { timeout: 10_000 }).toContain('aof_rewrite_in_progress:0');
  }
  await server.kill();
  if (how === 'unreachable') return () => server.restart();
  const restarted = server.restart();
  await expect
    .poll(() => pingRedis(server.url).then(() => 'up', messageOf), { timeout: 10_000 })
    .toMatch(/^LOADING/);
  return () => restarted;
}
