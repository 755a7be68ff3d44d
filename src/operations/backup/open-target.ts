// Opens a store to put rows into, sure that no server or worker works with it.
import { join } from 'node:path';
import { serverLock } from '../../app/admission.ts';
import { readServerFile } from '../../app/server-file.ts';
import { ServerSession } from '../../app/server-session.ts';
import type { Config } from '../../config/index.ts';
import { CoreError, HttpFailure, systemClock } from '../../core/index.ts';
import { createUndiciTransport } from '../../platform/http-client/index.ts';
import { hasEmbeddedStore } from '../../platform/postgres/embedded/initialised-marker.ts';
import type { Database } from '../../platform/postgres/index.ts';
import { sql } from '../../platform/postgres/index.ts';
import { tableWithRows } from './store-tables.ts';

/** One statement may be a constraint over a whole table. */
const stuckAfterMs = 6 * 3_600_000;

/** A Postgres server. Fails with CONFLICT while a server or worker uses its schema; none can start until `closing` is disposed. */
export async function openServerTarget(
  url: string,
  schema: string,
  closing: AsyncDisposableStack,
): Promise<Database> {
  const { openServerDatabase, takeSessionLock } = await import('../../platform/postgres/server/index.ts');
  for (const [name, who] of [
    [serverLock(schema), 'server'],
    [workerLock(schema), 'worker'],
  ] as const) {
    const lock = await takeSessionLock({ url, name, mode: 'alone', clock: systemClock });
    if (!lock)
      throw new CoreError(
        'CONFLICT',
        `A Headworks ${who} works with that database. Stop all servers and workers that use it, then try again.`,
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

/** The embedded store; call it only while holding the data folder. */
export async function openEmbeddedTarget(config: Config, closing: AsyncDisposableStack): Promise<Database> {
  const { openEmbeddedDatabase } = await import('../../platform/postgres/embedded/index.ts');
  const database = await openEmbeddedDatabase({
    folder: join(config.data.folder, 'state'),
    schema: config.state.schema,
    clock: systemClock,
    stuckAfterMs,
    withAge: config.knowledge.graphBackend === 'age',
  });
  closing.defer(() => database.close());
  return database;
}

/** Fails with CONFLICT when a table has a row. */
export async function refuseContent(database: Database, where: string): Promise<void> {
  const table = await tableWithRows(database, database.schema);
  if (table === null) return;
  throw new CoreError(
    'CONFLICT',
    `${where} is not empty (there are rows in ${table}). Choose an empty one, or give --replace to have everything in it replaced; nothing was changed.`,
  );
}

/** Not the lock of servers: a server without Redis has that one alone, also beside workers. */
export const workerLock = (schema: string): string => `headworks.worker.${schema}`;

/** Every worker shares it until `closing` is disposed. Fails with CONFLICT while a restore has it alone. */
export async function showWorker({ state }: Config, closing: AsyncDisposableStack): Promise<void> {
  if (state.databaseUrl === null) return;
  const { takeSessionLock } = await import('../../platform/postgres/server/index.ts');
  const lock = await takeSessionLock({
    url: state.databaseUrl,
    name: workerLock(state.schema),
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

/** Fails with INPUT_INVALID, and has made nothing, when nobody has ever set up an embedded store in the data folder. */
export async function requireEmbeddedStore({ data }: Config): Promise<void> {
  if (await hasEmbeddedStore(join(data.folder, 'state'))) return;
  throw new CoreError(
    'INPUT_INVALID',
    `There is no embedded store in ${data.folder}. Name the data folder of the server with --data-dir; nothing was changed.`,
  );
}

/**
 * A backup asks the server of the data folder, or becomes one: where neither a server nor a store is, it would make an
 * empty store and back that up. Fails with INPUT_INVALID then, and has made nothing.
 */
export async function requireStoreOrServer(config: Config, signal: AbortSignal): Promise<void> {
  const { folder } = config.data;
  if (config.client.serverUrl !== null || config.state.databaseUrl !== null) return;
  if ((await hasEmbeddedStore(join(folder, 'state'))) || (await isServed(folder, signal))) return;
  throw new CoreError(
    'INPUT_INVALID',
    `There is nothing to back up in ${folder}: no store, and no server runs there. Name the data folder of the server with --data-dir.`,
  );
}

/** One whose store is a Postgres server that only it knows of. One that is slow to answer runs as well. */
async function isServed(folder: string, signal: AbortSignal): Promise<boolean> {
  const file = await readServerFile(folder);
  if (!file) return false;
  const transport = createUndiciTransport({});
  try {
    const { instance } = await new ServerSession(file.url, '', transport).identity(signal);
    return instance === file.instance;
  } catch (error) {
    return error instanceof HttpFailure && error.kind === 'timeout';
  } finally {
    await transport.close();
  }
}

/**
 * The schema that holds our rows: the setting may already name the one to copy into. Fails with INPUT_INVALID when
 * there is nothing to copy, or when several hold rows and the setting names none of them.
 */
export async function sourceSchema(store: Database, { data, state }: Config): Promise<string> {
  const schemas = await ourSchemas(store);
  const filled: string[] = [];
  for (const schema of schemas) if ((await tableWithRows(store, schema)) !== null) filled.push(schema);
  const [only] = filled;
  if (only === undefined)
    throw new CoreError(
      'INPUT_INVALID',
      `The embedded store in ${data.folder} holds nothing to copy. Is it the right data folder (--data-dir)? Nothing was changed.`,
    );
  if (filled.length === 1) return only;
  if (filled.includes(state.schema)) return state.schema;
  throw new CoreError(
    'INPUT_INVALID',
    `The embedded store in ${data.folder} holds rows in several schemas (${filled.join(', ')}). Say which with HEADWORKS_DATABASE_SCHEMA; nothing was changed.`,
  );
}

/** Known by the history of migrations that every one of them has. */
async function ourSchemas(store: Database): Promise<readonly string[]> {
  const { rows } = await store.query<{ schema: string }>(
    sql`select schemaname::text as schema from pg_tables where tablename = 'schema_migrations' order by 1`,
  );
  return rows.map(({ schema }) => schema);
}
