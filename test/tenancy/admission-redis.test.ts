// Admission on a Redis of its own, which is paused, stopped, killed, restarted, filled up, flushed and kept loading.
import { describe, expect, it, onTestFinished } from 'vitest';
import { pingRedis } from '../../scripts/services/ping.ts';
import type { EmittedEvent } from '../../src/core/index.ts';
import { EventBus, kindOf, messageOf, systemClock, systemIds } from '../../src/core/index.ts';
import type { Degradation } from '../../src/ledger/index.ts';
import type { RedisConnection } from '../../src/platform/redis/connection.ts';
import { connectRedis } from '../../src/platform/redis/connection.ts';
import { RedisProbe } from '../../src/platform/redis/probe.ts';
import { RedisSlotStore } from '../../src/tenancy/admission/redis/redis-slot-store.ts';
import type { OpenAdmission } from '../../src/tenancy/admission/open-admission.ts';
import { admissionEvents } from '../../src/tenancy/index.ts';
import { openAdmission } from '../../src/tenancy/admission/open-admission.ts';
import { startPrivateRedis } from '../support/private-servers.ts';
import { FakeExecutions, standardOptions } from '../support/tenancy/admission-world.ts';
import { MemoryLimitStore } from '../support/tenancy/memory-limit-store.ts';
import { MemoryServerRegistry } from '../support/tenancy/memory-server-registry.ts';

interface Server {
  readonly admission: OpenAdmission;
  readonly redis: RedisConnection;
  readonly emitted: EmittedEvent[];
  readonly recorded: Degradation[];
  readonly executions: FakeExecutions;
}

async function serverOn(
  url: string,
  {
    options = {},
    executions = new FakeExecutions(),
    limits = new MemoryLimitStore(systemIds),
    servers = new MemoryServerRegistry(systemClock, 9),
  } = {},
): Promise<Server> {
  const redis = await connectRedis({ url, commandTimeoutMs: 2_000, whenUnreachable: 'stay-down' });
  const probe = new RedisProbe({ url });
  const events = new EventBus(admissionEvents);
  const emitted: EmittedEvent[] = [];
  events.listen((event) => void emitted.push(event));
  const recorded: Degradation[] = [];
  const all = { ...standardOptions, defaultLimit: 5, leaseSeconds: 9, ...options };
  const admission = await openAdmission({
    clock: systemClock,
    events,
    ledger: { record: async (degradation) => void recorded.push(degradation) },
    slots: new RedisSlotStore({ ...all, redis }),
    probe,
    limits,
    executions,
    servers,
    options: all,
    serverId: systemIds.uuid(),
    storeName: redis.address,
    countsSlots: true,
    endOverdue: async () => undefined,
    checkReady: () => undefined,
  });
  const ignore = redis.onStateChange((state) => admission.connectionChanged(state === 'up'));
  onTestFinished(async () => {
    ignore();
    probe.close();
    await admission.close();
    await redis.close();
  });
  return { admission, redis, emitted, recorded, executions };
}

/** They share limits, executions and reports, as over one database. */
async function twoServersOn(url: string): Promise<readonly [Server, Server]> {
  const shared = {
    limits: new MemoryLimitStore(systemIds),
    executions: new FakeExecutions(),
    servers: new MemoryServerRegistry(systemClock, 9),
  };
  return [await serverOn(url, shared), await serverOn(url, shared)];
}

const { signal } = new AbortController();
const slot = (executionId: string) => ({ organizationId: 'a', executionId });

/** The ids of the admitted requests of `count` concurrent ones. */
async function burst({ admission }: Server, count: number, tag: string): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, (_, index) => `${tag}-${index}`);
  const requests = await Promise.allSettled(
    ids.map((id) => admission.controller.acquire({ ...slot(id), waitMs: 0, signal })),
  );
  return ids.filter((_, index) => requests[index]?.status === 'fulfilled');
}

const eventsOf = ({ emitted }: Server, name: string): readonly EmittedEvent[] =>
  emitted.filter((event) => event.name === name);

const localDecisions = ({ emitted }: Server): number =>
  emitted.filter(({ payload }) => payload['decider'] === 'local').length;

const stateBecomes = (server: Server, state: 'up' | 'down') =>
  expect.poll(() => server.admission.health().state, { timeout: 60_000, interval: 20 }).toBe(state);

const holders = async ({ redis }: Server): Promise<readonly string[]> =>
  ((await redis.command('zrange', ['api_deployment:rate_limit:org:a', 0, -1])) as string[]).sort();

describe('a slow Redis', () => {
  it('still decides alone after a pause shorter than a second, and no server decides by itself', async () => {
    const redis = await startPrivateRedis();
    const [one, two] = await twoServersOn(redis.url);
    await one.redis.command('client', ['pause', 500, 'ALL']);
    const admitted = (await Promise.all([burst(one, 50, 'one'), burst(two, 50, 'two')])).flat();
    expect(admitted).toHaveLength(5);
    for (const server of [one, two]) {
      expect(eventsOf(server, 'admission:outage-confirmed')).toEqual([]);
      expect(localDecisions(server)).toBe(0);
      await stateBecomes(server, 'up');
    }
    expect(await holders(one)).toEqual([...admitted].sort());
  });

  it('decides exactly although its process was stopped for half a second', async () => {
    const redis = await startPrivateRedis();
    const server = await serverOn(redis.url);
    redis.pause();
    const requests = burst(server, 20, 'x');
    await systemClock.sleep(500);
    redis.resume();
    const admitted = await requests;
    expect(admitted).toHaveLength(5);
    expect(localDecisions(server)).toBe(0);
    expect(await holders(server)).toEqual([...admitted].sort());
  });
});

describe('a Redis that is not reachable', () => {
  it.each(['killed', 'stopped', 'loading'] as const)(
    'leaves the rest of the limit to the server when %s, and is updated afterwards',
    async (how) => {
      const redis = await startPrivateRedis({
        extraConfig: [
          'appendonly yes',
          'enable-debug-command yes',
          'key-load-delay 500',
          'loading-process-events-interval-bytes 1024',
        ],
      });
      const server = await serverOn(redis.url);
      const before = await burst(server, 2, 'before');
      expect(before).toHaveLength(2);
      const restoreRedis = await breakRedis(how, redis, server);
      await stateBecomes(server, 'down');
      const during = await burst(server, 20, 'during');
      expect(during).toHaveLength(3);
      expect(await burst(server, 20, 'still')).toHaveLength(0);
      expect(localDecisions(server)).toBe(40);
      expect(server.recorded[0]).toMatchObject({
        kind: 'admission.redis-down',
        subject: server.redis.address,
      });
      const [gone = ''] = before;
      await server.admission.controller.release(slot(gone));
      await restoreRedis();
      await stateBecomes(server, 'up');
      expect(await holders(server)).toEqual([...before.slice(1), ...during].sort());
      expect(await burst(server, 5, 'after')).toHaveLength(1);
    },
  );

  it('leaves no more than the limit to servers that lose it together, with requests just admitted (L4)', async () => {
    const redis = await startPrivateRedis();
    const [one, two] = await twoServersOn(redis.url);
    expect(await burst(one, 3, 'receiving')).toHaveLength(3);
    await redis.kill();
    for (const server of [one, two]) await stateBecomes(server, 'down');
    const local: string[] = [];
    const burstOnBoth = async () => {
      for (const server of [one, two]) local.push(...(await burst(server, 10, systemIds.uuid())));
      return local.length;
    };
    await expect.poll(burstOnBoth).toBeGreaterThan(1);
    expect(await burstOnBoth()).toBe(2);
  });

  it('responds 503 while the outage is only suspected', async () => {
    const redis = await startPrivateRedis();
    const server = await serverOn(redis.url, { options: { redisFailureMode: 'closed' } });
    redis.pause();
    const rejected = await server.admission.controller
      .acquire({ ...slot('1'), waitMs: 0, signal })
      .catch(kindOf);
    expect(rejected).toBe('ADMISSION_UNAVAILABLE');
    redis.resume();
    await stateBecomes(server, 'up');
    expect(await holders(server)).toEqual([]);
  });

  it('restarted empty is restored before it admits a request', async () => {
    const redis = await startPrivateRedis();
    const server = await serverOn(redis.url);
    const before = await burst(server, 5, 'before');
    await redis.kill();
    await redis.restart();
    await stateBecomes(server, 'up');
    expect(await burst(server, 10, 'after')).toEqual([]);
    expect(await holders(server)).toEqual([...before].sort());
  });
});

describe('a Redis that replies', () => {
  it('with errors because it is out of memory counts as down, until it accepts writes', async () => {
    const redis = await startPrivateRedis({ extraConfig: ['maxmemory-policy noeviction'] });
    const server = await serverOn(redis.url, { options: { leaseSeconds: 3 } });
    const before = await burst(server, 2, 'before');
    await server.redis.command('config', ['set', 'maxmemory', '1']);
    await stateBecomes(server, 'down');
    const during = await burst(server, 20, 'during');
    expect([...before, ...during]).toHaveLength(5);
    await server.redis.command('config', ['set', 'maxmemory', '0']);
    await stateBecomes(server, 'up');
    expect(await holders(server)).toEqual([...before, ...during].sort());
  });

  it('restores unfinished executions after a flush before it admits a request', async () => {
    const redis = await startPrivateRedis();
    const server = await serverOn(redis.url);
    const ids = await burst(server, 5, 'x');
    for (const id of ids.slice(0, 3)) {
      server.executions.begin(slot(id), new Date());
      server.admission.controller.detach(slot(id));
    }
    await server.redis.command('flushall', []);
    expect(await burst(server, 10, 'y')).toHaveLength(0);
    expect(await holders(server)).toEqual([...ids]);
  });

  it('is restored by every server after a flush, with requests that another server is receiving (L5)', async () => {
    const redis = await startPrivateRedis();
    const [one, two] = await twoServersOn(redis.url);
    const receiving = await burst(one, 5, 'receiving');
    expect(receiving).toHaveLength(5);
    for (let round = 0; round < 3; round++) {
      await two.redis.command('flushall', []);
      expect(await burst(two, 10, `after-${round}`)).toEqual([]);
    }
    await expect.poll(() => holders(two)).toEqual([...receiving].sort());
    await one.admission.controller.release(slot(receiving[0] ?? ''));
    await expect.poll(() => burst(two, 1, `free-${systemClock.monotonic()}`)).toHaveLength(1);
  });

  it('is exact for two servers, applies limits at once, and admits queued requests', async () => {
    const redis = await startPrivateRedis();
    const [one, two] = await twoServersOn(redis.url);
    const both = await Promise.all([burst(one, 100, 'one'), burst(two, 100, 'two')]);
    expect(both.flat()).toHaveLength(5);
    await one.admission.limits.set('a', 8);
    expect(await burst(two, 10, 'more')).toHaveLength(3);
    const queued = two.admission.controller.acquire({ ...slot('w'), waitMs: 10_000, signal });
    const [first = ''] = both[0].length > 0 ? both[0] : both[1];
    await one.admission.controller.release(slot(first));
    await queued;
    expect(await holders(two)).toHaveLength(8);
  });
});

type PrivateRedis = Awaited<ReturnType<typeof startPrivateRedis>>;

/** The returned function makes Redis available again. */
async function breakRedis(
  how: string,
  server: PrivateRedis,
  { redis }: Server,
): Promise<() => Promise<void>> {
  if (how === 'stopped') {
    server.pause();
    return async () => server.resume();
  }
  if (how === 'loading') {
    // Ten thousand keys at half a millisecond each.
    await redis.command('debug', ['populate', 10_000]);
    await redis.command('bgrewriteaof', []);
    const info = async () => String(await redis.command('info', ['persistence']));
    await expect.poll(info).toContain('aof_rewrite_in_progress:0');
  }
  await server.kill();
  if (how === 'killed') return () => server.restart();
  const restarted = server.restart();
  await expect.poll(() => pingRedis(server.url).then(() => 'up', messageOf)).toMatch(/^LOADING/);
  return () => restarted;
}
