// The state store of a program that embeds a part of Headworks.
import { join, resolve } from 'node:path';
import { version } from '../config/version.ts';
import { silentLog, systemClock } from '../core/index.ts';
import { openDataFolder } from '../platform/data-folder/data-folder.ts';
import type { Database } from '../platform/postgres/index.ts';
import { loadMigrations, migrate } from '../platform/postgres/index.ts';
import type { StoreOptions } from './options.ts';

/** A migrated database that closes with `closing`. Fails with DATA_FOLDER_BUSY or STATE_UNAVAILABLE. */
export async function openStore(
  { dataFolder, databaseUrl }: StoreOptions & { readonly dataFolder: string },
  closing: AsyncDisposableStack,
): Promise<Database> {
  const common = { schema: 'headworks', clock: systemClock, log: silentLog };
  const database =
    databaseUrl === undefined
      ? await openEmbedded(resolve(dataFolder), common, closing)
      : await import('../platform/postgres/server/server-store.ts').then(({ openServerDatabase }) =>
          openServerDatabase({ ...common, url: databaseUrl }),
        );
  closing.defer(() => database.close());
  await migrate(database, await loadMigrations(), { clock: systemClock });
  return database;
}

async function openEmbedded(
  folder: string,
  common: { readonly schema: string; readonly clock: typeof systemClock; readonly log: typeof silentLog },
  closing: AsyncDisposableStack,
): Promise<Database> {
  const lock = await openDataFolder(folder, { version, command: 'a program that uses the library' });
  closing.defer(() => lock.release());
  const { openEmbeddedDatabase } = await import('../platform/postgres/embedded/embedded-store.ts');
  return openEmbeddedDatabase({ ...common, folder: join(folder, 'state'), withAge: false });
}
