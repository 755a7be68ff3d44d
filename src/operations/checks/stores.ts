// Checks of the stores: Postgres, embedded or a server, and Redis.
import { formatBytes } from '../../core/index.ts';
import type { Capability, Database, Migration } from '../../platform/postgres/index.ts';
import { readHistory, sql } from '../../platform/postgres/index.ts';
import { poolerRemedy } from '../../platform/postgres/change-feed.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { ReadinessReport } from '../readiness.ts';
import type { Finding } from './check.ts';
import { notConfigured, ok, problem, warning } from './check.ts';

const maxClockSkewMs = 5_000;
/** Share of connections or memory above which the rest may run out when another process starts. */
const highUse = 0.9;

export const redisRemedy = 'Set REDIS_URL when several processes share limits.';

export function dependency({ dependencies }: ReadinessReport, name: string): Finding {
  const found = dependencies.find((other) => other.name === name);
  const detail = found?.detail ?? '';
  if (found?.state === 'up') return ok(detail);
  if (found?.state === 'not-configured') return notConfigured(detail, redisRemedy);
  return problem(detail, found?.remedy ?? '');
}

export function capability(found: Capability): Finding {
  return found.available ? ok(`Version ${found.version}.`) : notConfigured(found.reason, found.remedy);
}

/** Servers of two versions share a store during a rolling upgrade, so a newer store is only a warning. */
export async function migrations(database: Database, known: readonly Migration[]): Promise<Finding> {
  const { length } = await readHistory(database, database.schema);
  const detail = `${length} applied; this version has ${known.length}.`;
  if (length === known.length) return ok(detail);
  return length > known.length
    ? warning(detail, 'A newer Headworks has migrated this store. Upgrade this server too.')
    : problem(detail, 'Restart the server: it applies the missing ones.');
}

/**
 * `embedded`: bytes of the embedded store's files and of free disk space; null for a server, whose disk is not visible.
 * The files are larger than the reported database size: the write-ahead log alone is many megabytes.
 */
export async function databaseSize(
  database: Database,
  embedded: { readonly files: number; readonly free: number } | null,
): Promise<Finding> {
  const { rows } = await database.query<{ bytes: number }>(
    sql`select pg_database_size(current_database()) as bytes`,
  );
  const takes = `The database takes ${formatBytes(rows[0]?.bytes ?? 0)}`;
  if (embedded === null) return ok(`${takes}.`);
  const detail = `${takes}, its files ${formatBytes(embedded.files)}; ${formatBytes(embedded.free)} are free.`;
  return embedded.free >= embedded.files
    ? ok(detail)
    : warning(
        detail,
        `Free at least ${formatBytes(embedded.files)}: a backup of the embedded store copies its files first.`,
      );
}

export async function connections(database: Database): Promise<Finding> {
  if (database.capabilities.kind === 'embedded') return ok('The embedded store is used by one process.');
  const { rows } = await database.query<{ used: number; max: number }>(sql`
    select count(*) as used, current_setting('max_connections')::int as max
    from pg_stat_activity where backend_type = 'client backend'`);
  const { used = 0, max = 1 } = rows[0] ?? {};
  const detail = `${used} of ${max} connections of the Postgres server are in use, by all clients.`;
  return used < max * highUse
    ? ok(detail)
    : warning(
        detail,
        'Raise max_connections of the server, or lower HEADWORKS_DATABASE_POOL_SIZE; every process opens two more than that.',
      );
}

export function notifications(isShared: boolean, isDelivered: boolean): Finding {
  if (!isShared) return ok('One process uses this store: no notifications are needed.');
  if (isDelivered) return ok('Changes of other processes arrive at once.');
  return problem(
    'Changes of other processes do not arrive: probably a connection pooler in transaction mode is in between.',
    poolerRemedy,
  );
}

export async function clock(
  database: Database,
  redis: RedisConnection | null,
  now: () => number,
): Promise<Finding> {
  const others: (readonly [name: string, skewMs: number])[] = [
    [
      'the state store',
      await skewOf(now, async () => {
        const { rows } = await database.query<{ now: Date }>(sql`select clock_timestamp() as now`);
        return rows[0]?.now.getTime() ?? 0;
      }),
    ],
  ];
  if (redis?.state === 'up')
    others.push([
      'Redis',
      await skewOf(now, async () => {
        const [seconds, micros] = (await redis.command('time', [])) as [string, string];
        return Number(seconds) * 1_000 + Number(micros) / 1_000;
      }),
    ]);
  const detail = `${others.map(([name, skewMs]) => `${Math.round(skewMs)} ms off from ${name}`).join(', ')}.`;
  return others.every(([, skewMs]) => skewMs <= maxClockSkewMs)
    ? ok(detail)
    : warning(detail, 'Synchronize the clocks of all machines (NTP): limits and leases depend on them.');
}

async function skewOf(now: () => number, remote: () => Promise<number>): Promise<number> {
  const before = now();
  const found = await remote();
  return Math.abs(found - (before + now()) / 2);
}

/** Slots and limits are in Redis: an evicted key would admit more than allowed. */
export async function redisMemory(redis: RedisConnection | null): Promise<Finding> {
  if (redis === null) return notConfigured('Redis is not configured.', null);
  if (redis.state !== 'up') return warning('Redis does not respond.', 'See the check "redis".');
  const info = String(await redis.command('info', []));
  const field = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  const policy = field('maxmemory_policy') ?? 'unknown';
  const max = Number(field('maxmemory') ?? 0);
  const used = Number(field('used_memory') ?? 0);
  const detail = `Redis ${field('redis_version') ?? 'unknown'}, ${formatBytes(used)} used, policy ${policy}.`;
  if (max > 0 && policy !== 'noeviction')
    return problem(
      `${detail} It evicts keys when its ${formatBytes(max)} are full.`,
      'Set maxmemory-policy to noeviction, or give Headworks a Redis of its own.',
    );
  return max > 0 && used > max * highUse
    ? warning(`${detail} Its ${formatBytes(max)} are nearly full.`, 'Raise maxmemory.')
    : ok(detail);
}
