// Opens the stores that the configuration names, ready for use: state (migrated), and Redis if there is one.
import { join } from 'node:path';
import { systemClock } from '../core/index.ts';
import type { Config } from '../config/index.ts';
import type { Database } from '../platform/postgres/index.ts';
import { loadMigrations, migrate } from '../platform/postgres/index.ts';
import type { RedisConnection } from '../platform/redis/connection.ts';
import type { Telemetry } from './telemetry.ts';

export interface Stores {
  readonly database: Database;
  readonly redis: RedisConnection | null;
}

/** Whatever was opened is put on `closing`, so that a failure half-way leaves nothing open. */
export async function openStores(
  config: Config,
  telemetry: Telemetry,
  closing: AsyncDisposableStack,
): Promise<Stores> {
  const [database, redis] = await Promise.allSettled([openState(config, telemetry), openRedis(config)]);
  if (database.status === 'fulfilled') closing.defer(() => database.value.close());
  if (redis.status === 'fulfilled') closing.defer(() => redis.value?.close());
  if (database.status === 'rejected') throw database.reason;
  if (redis.status === 'rejected') throw redis.reason;
  await migrate(database.value, await loadMigrations(), {
    clock: systemClock,
  });
  tellChanges({ database: database.value, redis: redis.value }, telemetry);
  return { database: database.value, redis: redis.value };
}

/** Each adapter is loaded only when it is used: PGlite alone costs a tenth of a second to import. */
async function openState({ state, data, knowledge }: Config, { log }: Telemetry): Promise<Database> {
  const common = { schema: state.schema, clock: systemClock, log };
  if (state.databaseUrl === null) {
    const { openEmbeddedDatabase } = await import('../platform/postgres/embedded/embedded-store.ts');
    return openEmbeddedDatabase({
      ...common,
      folder: join(data.folder, 'state'),
      withAge: knowledge.graphBackend === 'age',
    });
  }
  const { openServerDatabase } = await import('../platform/postgres/server/server-store.ts');
  return openServerDatabase({
    ...common,
    url: state.databaseUrl,
    poolSize: state.poolSize,
    statementTimeoutMs: state.statementTimeoutSeconds * 1000,
  });
}

/** A Redis that is away when we start is no reason not to start; one that refuses us is. */
async function openRedis({ redis }: Config): Promise<RedisConnection | null> {
  if (redis.url === null) return null;
  const { connectRedis } = await import('../platform/redis/connection.ts');
  return connectRedis({
    url: redis.url,
    keyPrefix: redis.keyPrefix,
    commandTimeoutMs: redis.commandTimeoutMs,
    whenUnreachable: 'stay-down',
  });
}

function tellChanges({ database, redis }: Stores, { events }: Telemetry): void {
  const tell = (dependency: string) => (state: 'up' | 'down' | 'closed') => {
    if (state !== 'closed') events.emit('dependency:changed', { dependency, state });
  };
  database.onStateChange(tell('state store'));
  redis?.onStateChange(tell('redis'));
  if (redis?.state === 'down') tell('redis')('down');
}
