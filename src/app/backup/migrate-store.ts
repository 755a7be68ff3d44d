// headworks migrate-store: from the embedded store to a Postgres server, row by row, compared afterwards.
import { CoreError, systemClock } from '../../core/index.ts';
import type { Config } from '../../config/index.ts';
import { openDataFolder } from '../../platform/data-folder/index.ts';
import type { Migration } from '../../platform/postgres/index.ts';
import { checkHistory, identifier, loadMigrations, readHistory } from '../../platform/postgres/index.ts';
import { version } from '../version.ts';
import { controlLine } from './archive.ts';
import { dumpStore } from './dump-store.ts';
import { openEmbeddedTarget, openServerTarget, refuseContent } from './open-target.ts';
import type { BackupProgress } from './progress-teller.ts';
import { loadInto, notesFor } from './restore.ts';
import { oneMoment } from './snapshot-store.ts';
import { requireEmbeddedStore, sourceSchema } from './source-store.ts';

export interface MigrateStoreWish {
  /** postgres://… */
  readonly to: string;
  readonly replace: boolean;
  /** Default: those of this version. */
  readonly migrations?: readonly Migration[];
  readonly onProgress: (progress: BackupProgress) => void;
  readonly signal: AbortSignal;
}

export interface MigrateStoreReport {
  readonly tables: number;
  readonly rows: number;
  /** In the database; it may have another name than in the embedded store. */
  readonly schema: string;
  /** What somebody has to do, in sentences. */
  readonly notes: readonly string[];
}

/**
 * The embedded store is only read. Fails with INPUT_INVALID when there is none, or nothing in it, DATA_FOLDER_BUSY while
 * a server runs on it, CONFLICT when the database is in use or not empty, and as the stores do; then nothing was
 * changed in either.
 */
export async function migrateStore(config: Config, wish: MigrateStoreWish): Promise<MigrateStoreReport> {
  if (config.state.databaseUrl !== null)
    throw new CoreError(
      'INPUT_INVALID',
      'The state store of this configuration is a Postgres server already (DATABASE_URL). Unset it to migrate the embedded store.',
    );
  await requireEmbeddedStore(config);
  await using closing = new AsyncDisposableStack();
  const folder = await openDataFolder(config.data.folder, { version, command: 'headworks migrate-store' });
  closing.defer(() => folder.release());
  const source = await openEmbeddedTarget(config, closing);
  const from = await sourceSchema(source, config);
  // Tables of an older version are brought up to date where they go to, not here.
  checkHistory(await readHistory(source, from), wish.migrations ?? (await loadMigrations()));
  const { schema } = config.state;
  const target = await openServerTarget(wish.to, schema, closing);
  if (!wish.replace) await refuseContent(target, `The schema ${schema} of the database`);
  const { end } = await loadInto(target, wish, null, (take) =>
    oneMoment(
      source,
      async (transaction) => {
        await transaction.script(`set local search_path = ${identifier(from).compile().text}, public`);
        const { kind: store, version: postgres } = source.capabilities;
        const createdAt = new Date(systemClock.now());
        const dumped = await dumpStore({
          transaction,
          schema: from,
          store,
          postgres,
          createdAt,
          write: take,
        });
        await take(controlLine({ headworks: 'end', ...dumped, files: 0 }));
      },
      wish.signal,
    ),
  );
  return { tables: end.tables, rows: end.rows, schema, notes: notesFor(config, 'server') };
}
