// The store that is copied elsewhere: found without making one, and only read.
import { join } from 'node:path';
import { CoreError, HttpFailure } from '../../core/index.ts';
import type { Config } from '../../config/index.ts';
import type { Database } from '../../platform/postgres/index.ts';
import { sql } from '../../platform/postgres/index.ts';
import { hasEmbeddedStore } from '../../platform/postgres/embedded/initialised-marker.ts';
import { createUndiciTransport } from '../../platform/http-client/index.ts';
import { readServerFile } from '../server-file.ts';
import { ServerSession } from '../server-session.ts';
import { tableWithRows } from './store-tables.ts';

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
