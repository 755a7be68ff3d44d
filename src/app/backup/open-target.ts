// Opens a store to put rows into, sure that no server works with it.
import { join } from 'node:path';
import { CoreError, systemClock } from '../../core/index.ts';
import type { Config } from '../../config/index.ts';
import type { Database } from '../../platform/postgres/index.ts';
import { sql } from '../../platform/postgres/index.ts';
import { serverLock } from '../admission.ts';
import { storeTables, tableOf } from './store-tables.ts';

/** One statement may be a constraint over a whole table. */
const stuckAfterMs = 6 * 3_600_000;

/** A Postgres server. Fails with CONFLICT while a server uses its schema; none can start until `closing` is disposed. */
export async function openServerTarget(
  url: string,
  schema: string,
  closing: AsyncDisposableStack,
): Promise<Database> {
  const { openServerDatabase, takeSessionLock } = await import('../../platform/postgres/server/index.ts');
  const lock = await takeSessionLock({ url, name: serverLock(schema), mode: 'alone', clock: systemClock });
  if (!lock)
    throw new CoreError(
      'CONFLICT',
      'A Headworks server works with that database. Stop all servers and workers that use it, then try again.',
    );
  closing.defer(() => lock.close());
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

/** Fails with CONFLICT when a table has a row. Kinds of job are made by every start, and are no content. */
export async function refuseContent(database: Database, where: string): Promise<void> {
  for (const table of await storeTables(database, database.schema)) {
    if (table.place === 'jobs' && table.name !== 'job') continue;
    const { rows } = await database.query(sql`select from ${tableOf(table)} limit 1`);
    if (rows.length > 0)
      throw new CoreError(
        'CONFLICT',
        `${where} is not empty (there are rows in ${table.name}). Choose an empty one, or give --replace to have everything in it replaced; nothing was changed.`,
      );
  }
}
