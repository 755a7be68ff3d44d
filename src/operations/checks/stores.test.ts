import { describe, expect, it } from 'vitest';
import type { Database, Migration } from '../../platform/postgres/index.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { DependencyReport } from '../readiness.ts';
import {
  capability,
  clock,
  connections,
  databaseSize,
  dependency,
  migrations,
  notifications,
  redisMemory,
} from './stores.ts';

/** Returns for every query the rows of the first word that occurs in it. */
function database(
  answers: Readonly<Record<string, readonly object[]>>,
  kind: 'embedded' | 'server' = 'server',
) {
  return {
    schema: 'headworks',
    capabilities: { kind },
    query: async (query: { compile(): { text: string } }) => {
      const { text } = query.compile();
      const found = Object.entries(answers).find(([word]) => text.includes(word));
      return { rows: found?.[1] ?? [], affected: 0 };
    },
  } as unknown as Database;
}

const redis = (answers: Readonly<Record<string, unknown>>, state = 'up') =>
  ({ state, command: async (name: string) => answers[name] }) as unknown as RedisConnection;

const info = (fields: Readonly<Record<string, string | number>>) =>
  redis({
    info: Object.entries({ redis_version: '7.0.15', used_memory: 1_000, ...fields })
      .map(([name, value]) => `${name}:${value}\r\n`)
      .join(''),
  });

const dependencies = (state: DependencyReport['state']) => ({
  status: 'ready' as const,
  capabilities: [],
  alerts: [],
  dependencies: [
    { name: 'redis', state, required: false, detail: 'What it is.', since: null, remedy: 'Start it.' },
  ],
});

describe('checks of the stores', () => {
  it('report the state of a dependency, with a remedy when it is down', () => {
    expect(dependency(dependencies('up'), 'redis').state).toBe('ok');
    expect(dependency(dependencies('not-configured'), 'redis').state).toBe('not-configured');
    expect(dependency(dependencies('down'), 'redis')).toEqual({
      state: 'problem',
      detail: 'What it is.',
      remedy: 'Start it.',
    });
  });

  it('name a missing extension, with the remedy', () => {
    expect(capability({ available: true, version: '0.8' })).toMatchObject({
      state: 'ok',
      detail: 'Version 0.8.',
    });
    expect(capability({ available: false, reason: 'No.', remedy: 'Install it.' })).toMatchObject({
      state: 'not-configured',
      remedy: 'Install it.',
    });
  });

  it('detect migrations of another version', async () => {
    const known = [1, 2].map(
      (number) => ({ number, name: 'x', checksum: 'c', text: '' }) satisfies Migration,
    );
    const applied = (count: number) =>
      database({
        exists: [{ exists: true }],
        'order by number': Array.from({ length: count }, (_, index) => ({ number: index + 1 })),
      });
    expect((await migrations(applied(2), known)).state).toBe('ok');
    expect(await migrations(applied(3), known)).toMatchObject({
      state: 'warning',
      remedy: expect.stringContaining('Upgrade') as string,
    });
    expect(await migrations(applied(1), known)).toMatchObject({
      state: 'problem',
      remedy: expect.stringContaining('Restart the server') as string,
    });
  });

  it('warn when the disk has no space for a backup of the embedded store', async () => {
    const of = database({ pg_database_size: [{ bytes: 3 * 1024 ** 3 }] });
    expect(await databaseSize(of, null)).toMatchObject({ state: 'ok', detail: 'The database takes 3 GiB.' });
    // The files are larger than the database size that Postgres reports.
    const megabyte = 1024 ** 2;
    const small = database({ pg_database_size: [{ bytes: 12 * megabyte }] });
    expect((await databaseSize(small, { files: 93 * megabyte, free: 93 * megabyte })).state).toBe('ok');
    expect(await databaseSize(small, { files: 93 * megabyte, free: 28 * megabyte })).toMatchObject({
      state: 'warning',
      detail: 'The database takes 12 MiB, its files 93 MiB; 28 MiB are free.',
      remedy: expect.stringContaining('Free at least 93 MiB') as string,
    });
  });

  it('warn when the connections of the Postgres server run out', async () => {
    const used = (count: number) => database({ pg_stat_activity: [{ used: count, max: 100 }] });
    expect((await connections(used(89))).state).toBe('ok');
    expect(await connections(used(90))).toMatchObject({
      state: 'warning',
      remedy: expect.stringContaining('HEADWORKS_DATABASE_POOL_SIZE') as string,
    });
    expect((await connections(database({}, 'embedded'))).state).toBe('ok');
  });

  it('detect a connection pooler that drops notifications', () => {
    expect(notifications(false, false).state).toBe('ok');
    expect(notifications(true, true).state).toBe('ok');
    expect(notifications(true, false)).toMatchObject({
      state: 'problem',
      remedy: expect.stringContaining('session mode') as string,
    });
  });

  it.each([
    ['Postgres', 10_000, 0],
    ['Redis', 0, -10_000],
  ])('warn when the clock of %s differs', async (_, ofPostgres, ofRedis) => {
    const now = Date.parse('2026-03-01T12:00:00Z');
    const at = (skewMs: number) => database({ clock_timestamp: [{ now: new Date(now + skewMs) }] });
    const time = (skewMs: number) => redis({ time: [String((now + skewMs) / 1_000), '0'] });
    expect(await clock(at(0), time(0), () => now)).toMatchObject({
      state: 'ok',
      detail: '0 ms off from the state store, 0 ms off from Redis.',
    });
    expect(await clock(at(ofPostgres), time(ofRedis), () => now)).toMatchObject({
      state: 'warning',
      remedy: expect.stringContaining('NTP') as string,
    });
    expect((await clock(at(0), null, () => now)).detail).not.toContain('Redis');
  });

  it('report a Redis that evicts keys, and warn of one that is nearly full', async () => {
    expect((await redisMemory(null)).state).toBe('not-configured');
    expect((await redisMemory(redis({}, 'down'))).state).toBe('warning');
    expect(await redisMemory(info({ maxmemory: 0, maxmemory_policy: 'allkeys-lru' }))).toMatchObject({
      state: 'ok',
      detail: 'Redis 7.0.15, 1000 bytes used, policy allkeys-lru.',
    });
    expect((await redisMemory(info({ maxmemory: 1_200, maxmemory_policy: 'noeviction' }))).state).toBe('ok');
    expect(await redisMemory(info({ maxmemory: 1_200, maxmemory_policy: 'allkeys-lru' }))).toMatchObject({
      state: 'problem',
      remedy: expect.stringContaining('noeviction') as string,
    });
    expect(await redisMemory(info({ maxmemory: 1_050, maxmemory_policy: 'noeviction' }))).toMatchObject({
      state: 'warning',
      remedy: 'Raise maxmemory.',
    });
  });
});
