// Opens a store to put rows into, sure that no server or worker works with it.
import { join } from 'node:path';
import { CoreError, systemClock } from '../../core/index.ts';
import type { Config } from '../../config/index.ts';
import type { Database } from '../../platform/postgres/index.ts';
import { serverLock } from '../admission.ts';
import { tableWithRows } from './store-tables.ts';
import { workerLock } from './worker-lock.ts';

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
