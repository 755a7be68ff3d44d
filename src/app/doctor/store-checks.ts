// Checks of the stores: Postgres or the embedded one, and Redis.
import type { ReadinessReport } from '../../http/index.ts';
import type { Capability, Database, Migration } from '../../platform/postgres/index.ts';
import { sql } from '../../platform/postgres/index.ts';
import { readHistory } from '../../platform/postgres/migrate.ts';
import type { RedisConnection } from '../../platform/redis/index.ts';
import { poolerRemedy } from '../hears-itself.ts';
import type { Finding } from './findings.ts';
import { notConfigured, ok, problem, size, warning } from './findings.ts';

const largestClockSkewMs = 5_000;
/** Of all that the server allows: what is left is soon gone when another process starts. */
const highConnections = 0.9;

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

/** Servers of two versions on one store are no fault while one replaces the other; staying so is. */
export async function migrations(database: Database, known: readonly Migration[]): Promise<Finding> {
  const { length } = await readHistory(database, database.schema);
  const detail = `${length} applied; this version knows ${known.length}.`;
  if (length === known.length) return ok(detail);
  return length > known.length
    ? warning(detail, 'A newer Headworks has used this store. Upgrade this server as well.')
    : problem(detail, 'Start the server again: it applies what is missing.');
}

/**
 * `embedded`: bytes of the files of an embedded store and of its disk's free space; null for a server, whose disk we do
 * not see. The files are more than the database says of itself: what was written last is in its log, of many megabytes.
 */
export async function databaseSize(
  database: Database,
  embedded: { readonly files: number; readonly free: number } | null,
): Promise<Finding> {
  const { rows } = await database.query<{ bytes: number }>(
    sql`select pg_database_size(current_database()) as bytes`,
  );
  const takes = `The database takes ${size(rows[0]?.bytes ?? 0)}`;
  if (embedded === null) return ok(`${takes}.`);
  const detail = `${takes}, its files ${size(embedded.files)}, and ${size(embedded.free)} are free.`;
  return embedded.free >= embedded.files
    ? ok(detail)
    : warning(
        detail,
        `Make room for ${size(embedded.files)}: a backup of the embedded store copies its files first.`,
      );
}

export async function connections(database: Database): Promise<Finding> {
  if (database.capabilities.kind === 'embedded') return ok('One process has the embedded store.');
  const { rows } = await database.query<{ used: number; most: number }>(sql`
    select count(*) as used, current_setting('max_connections')::int as most
    from pg_stat_activity where backend_type = 'client backend'`);
  const { used = 0, most = 1 } = rows[0] ?? {};
  const detail = `${used} of ${most} connections of the Postgres server are used, by all its clients.`;
  return used < most * highConnections
    ? ok(detail)
    : warning(
        detail,
        'Raise max_connections of the server, or lower HEADWORKS_DATABASE_POOL_SIZE; every process opens that many and two more.',
      );
}

export function notifications(isShared: boolean, isHeard: boolean): Finding {
  if (!isShared) return ok('One process has this store: there is nobody to hear of.');
  if (isHeard) return ok('What other processes change is heard of at once.');
  return problem(
    'What other processes change is not heard of: a connection pooler in transaction mode seems to be in between.',
    poolerRemedy,
  );
}

/** `now`: this machine's clock, read when it is called. */
export async function clock(
  database: Database,
  redis: RedisConnection | null,
  now: () => number,
): Promise<Finding> {
  const others: (readonly [name: string, skewMs: number])[] = [
    [
      "the state store's",
      await skewOf(now, async () => {
        const { rows } = await database.query<{ now: Date }>(sql`select clock_timestamp() as now`);
        return rows[0]?.now.getTime() ?? 0;
      }),
    ],
  ];
  if (redis?.state === 'up')
    others.push([
      'that of Redis',
      await skewOf(now, async () => {
        const [seconds, micros] = (await redis.command('time', [])) as [string, string];
        return Number(seconds) * 1_000 + Number(micros) / 1_000;
      }),
    ]);
  const detail = `${others.map(([name, skewMs]) => `${Math.round(skewMs)} ms apart from ${name}`).join(', ')}.`;
  return others.every(([, skewMs]) => skewMs <= largestClockSkewMs)
    ? ok(detail)
    : warning(
        detail,
        'Synchronise the clocks of all machines (NTP): limits and leases are measured by them.',
      );
}

async function skewOf(now: () => number, theirs: () => Promise<number>): Promise<number> {
  const before = now();
  const found = await theirs();
  return Math.abs(found - (before + now()) / 2);
}

/** Slots and limits are in Redis: a key that it drops for want of room lets more in than allowed. */
export async function redisMemory(redis: RedisConnection | null): Promise<Finding> {
  if (redis === null) return notConfigured('There is no Redis to ask.', null);
  if (redis.state !== 'up') return warning('Redis could not be asked.', 'See the check of Redis.');
  const info = String(await redis.command('info', []));
  const field = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  const policy = field('maxmemory_policy') ?? 'unknown';
  const most = Number(field('maxmemory') ?? 0);
  const used = Number(field('used_memory') ?? 0);
  const detail = `Redis ${field('redis_version') ?? 'unknown'}, ${size(used)} used, policy ${policy}.`;
  if (most > 0 && policy !== 'noeviction')
    return problem(
      `${detail} It drops keys when its ${size(most)} are full.`,
      'Set maxmemory-policy to noeviction, or give Headworks a Redis of its own.',
    );
  return most > 0 && used > most * highConnections
    ? warning(`${detail} Its ${size(most)} are nearly full.`, 'Raise maxmemory.')
    : ok(detail);
}
