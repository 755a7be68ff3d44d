// Opens the stores of a restore or a store migration, sure that no server or worker uses them.
import type { Config } from '../../config/index.ts';
import { CoreError, systemClock } from '../../core/index.ts';
import { checkDataFolder, stateFolder } from '../../platform/data-folder/files.ts';
import { hasEmbeddedStore } from '../../platform/postgres/embedded/embedded-store.ts';
import type { Database } from '../../platform/postgres/index.ts';
import { sql } from '../../platform/postgres/index.ts';
import { serverLockName, workerLockName } from '../../platform/postgres/server/session-lock.ts';
import { tableWithRows } from './dump.ts';

/** One statement may add a constraint over a whole table. */
const stuckAfterMs = 6 * 3_600_000;

/**
 * Opens a Postgres server. Fails with CONFLICT while a server or worker uses the schema; none can start until `closing`
 * is disposed.
 */
export async function openServerTarget(
  url: string,
  schema: string,
  closing: AsyncDisposableStack,
): Promise<Database> {
  const { openServerDatabase } = await import('../../platform/postgres/server/server-store.ts');
  const { acquireSessionLock } = await import('../../platform/postgres/server/session-lock.ts');
  for (const [name, holder] of [
    [serverLockName(schema), 'server'],
    [workerLockName(schema), 'worker'],
  ] as const) {
    const lock = await acquireSessionLock({ url, name, mode: 'exclusive', clock: systemClock });
    if (!lock)
      throw new CoreError(
        'CONFLICT',
        `A Headworks ${holder} uses that database. Stop all servers and workers that use it, then try again.`,
      );
    closing.defer(() => lock.close());
  }
  const database = await openServerDatabase({
    url,
    schema,
    clock: systemClock,
    poolSize: 2,
    statementTimeoutMs: 0,
  });
  closing.defer(() => database.close());
  return database;
}

/** Opens the embedded store. Call it only while holding the data folder. */
export async function openEmbeddedTarget(config: Config, closing: AsyncDisposableStack): Promise<Database> {
  const { openEmbeddedDatabase } = await import('../../platform/postgres/embedded/embedded-store.ts');
  const database = await openEmbeddedDatabase({
    folder: stateFolder(config.data.folder),
    schema: config.state.schema,
    clock: systemClock,
    stuckAfterMs,
    withAge: config.knowledge.graphBackend === 'age',
  });
  closing.defer(() => database.close());
  return database;
}

/** Fails with CONFLICT when a table has a row. */
export async function requireEmpty(database: Database, where: string): Promise<void> {
  const table = await tableWithRows(database, database.schema);
  if (table === null) return;
  throw new CoreError(
    'CONFLICT',
    `${where} is not empty (${table} has rows). Choose an empty one, or give --replace to replace everything in it; nothing was changed.`,
  );
}

/** Held by a worker until `closing` is disposed. Fails with CONFLICT during a restore. */
export async function holdWorkerLock({ state }: Config, closing: AsyncDisposableStack): Promise<void> {
  if (state.databaseUrl === null) return;
  const { acquireSessionLock } = await import('../../platform/postgres/server/session-lock.ts');
  const lock = await acquireSessionLock({
    url: state.databaseUrl,
    name: workerLockName(state.schema),
    mode: 'shared',
    clock: systemClock,
  });
  if (!lock)
    throw new CoreError(
      'CONFLICT',
      'The rows of that database are being replaced (headworks restore or migrate-store). Start the worker when that is done.',
      { isRetryable: true },
    );
  closing.defer(() => lock.close());
}

/** Fails with INPUT_INVALID, without creating anything, when the data folder has no embedded store. */
export async function requireEmbeddedStore({ data }: Config): Promise<void> {
  await checkDataFolder(data.folder);
  if (hasEmbeddedStore(stateFolder(data.folder))) return;
  throw new CoreError(
    'INPUT_INVALID',
    `There is no embedded store in ${data.folder}. Name the data folder of the server with --data-dir; nothing was changed.`,
  );
}

/**
 * The schema with rows; the configured schema may already name the target's. Fails with INPUT_INVALID when no schema
 * has rows, or several do and the configuration names none of them.
 */
export async function sourceSchema(store: Database, { data, state }: Config): Promise<string> {
  const filled: string[] = [];
  for (const schema of await migratedSchemas(store))
    if ((await tableWithRows(store, schema)) !== null) filled.push(schema);
  const [only] = filled;
  if (only === undefined)
    throw new CoreError(
      'INPUT_INVALID',
      `The embedded store in ${data.folder} is empty. Is it the right data folder (--data-dir)? Nothing was changed.`,
    );
  if (filled.length === 1) return only;
  if (filled.includes(state.schema)) return state.schema;
  throw new CoreError(
    'INPUT_INVALID',
    `The embedded store in ${data.folder} has rows in several schemas (${filled.join(', ')}). Choose one with HEADWORKS_DATABASE_SCHEMA; nothing was changed.`,
  );
}

/** Schemas with a migration history. */
async function migratedSchemas(store: Database): Promise<readonly string[]> {
  const { rows } = await store.query<{ schema: string }>(
    sql`select schemaname::text as schema from pg_tables where tablename = 'schema_migrations' order by 1`,
  );
  return rows.map(({ schema }) => schema);
}
