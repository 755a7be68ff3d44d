// Migrated databases, for suites that run on both kinds of Postgres.
import { systemClock } from '../../src/core/index.ts';
import { loadMigrations, migrate } from '../../src/platform/postgres/migrate.ts';
import type { Database } from '../../src/platform/postgres/ports.ts';
import { openServerDatabase } from '../../src/platform/postgres/server/server-store.ts';
import { identifier, sql } from '../../src/platform/postgres/sql.ts';
import { embeddedDatabase } from './embedded-database.ts';
import { databaseUrl, uniqueName } from './services.ts';

export interface MigratedDatabase {
  readonly database: Database;
  /** Drops what was created and closes. */
  readonly dispose: () => Promise<void>;
}

/** Migrates an open database. */
export async function migratedDatabase(database: Database): Promise<MigratedDatabase> {
  const migrations = await loadMigrations();
  await migrate(database, migrations, { clock: systemClock });
  return {
    database,
    dispose: async () => {
      await database.query(sql`drop schema if exists ${identifier(database.schema)} cascade`);
      await database.close();
    },
  };
}

/** One of each kind: the name to show, and how to open it. */
export const migratedDatabases: readonly (readonly [name: string, open: () => Promise<MigratedDatabase>])[] =
  [
    ['embedded', async () => migratedDatabase(await embeddedDatabase({ schema: uniqueName('headworks') }))],
    [
      'server',
      async () =>
        migratedDatabase(
          await openServerDatabase({
            url: databaseUrl(),
            schema: uniqueName('headworks'),
            clock: systemClock,
          }),
        ),
    ],
  ];
