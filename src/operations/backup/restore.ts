// headworks restore and headworks migrate-store: load an archive into a store, all of it or nothing.
import { createReadStream, existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Config } from '../../config/index.ts';
import { version } from '../../config/version.ts';
import { CoreError, systemClock } from '../../core/index.ts';
import { checkDataFolder, webhookSecretPath } from '../../platform/data-folder/files.ts';
import { openDataFolder } from '../../platform/data-folder/data-folder.ts';
import type { Database, Migration } from '../../platform/postgres/index.ts';
import { checkHistory, identifier, loadMigrations, readHistory } from '../../platform/postgres/index.ts';
import type { ArchiveEnd, ArchiveHeader } from './archive.ts';
import { ArchiveReader, checkArchive, controlLine, linesOf } from './archive.ts';
import { explainFullDisk, removeStaleScratch } from './disk-space.ts';
import { dumpStore, inSnapshot } from './dump.ts';
import { FileLoader, StoreLoader, prepareVaultsFolder } from './load.ts';
import {
  openEmbeddedTarget,
  openServerTarget,
  requireEmpty,
  requireEmbeddedStore,
  sourceSchema,
} from './open-target.ts';
import type { BackupProgress } from './save-backup.ts';
import { ProgressReporter } from './save-backup.ts';

export interface RestoreOptions {
  readonly file: string;
  /** Replace what is in the store, and files of the same names. */
  readonly replace: boolean;
  /** Default: those of this version. */
  readonly migrations?: readonly Migration[];
  readonly onProgress: (progress: BackupProgress) => void;
  readonly signal: AbortSignal;
}

export interface RestoreReport extends Omit<ArchiveEnd, 'headworks'> {
  readonly store: 'embedded' | 'server';
  readonly backup: Pick<ArchiveHeader, 'version' | 'createdAt' | 'store'>;
  /** What is left to do, in sentences. */
  readonly notes: readonly string[];
}

/** The longest time that loading may take. */
const maxLoadMs = 24 * 3_600_000;

/**
 * Fails with DATA_FOLDER_BUSY or CONFLICT while a server runs or something must not be replaced, INPUT_INVALID when
 * the backup is damaged or of a newer version, and as the store does; then nothing was changed.
 */
export async function restore(config: Config, options: RestoreOptions): Promise<RestoreReport> {
  if (config.client.serverUrl !== null)
    throw new CoreError(
      'INPUT_INVALID',
      'Restore runs on the machine of the store: run it there, without --server and HEADWORKS_URL.',
    );
  await checkDataFolder(config.data.folder);
  await requireFile(options.file);
  // Reject an incomplete backup before changing anything, not after hours of loading.
  await checkArchive(options.file, options.signal);
  await using closing = new AsyncDisposableStack();
  const kind = config.state.databaseUrl === null ? 'embedded' : 'server';
  const { folder } = config.data;
  const files = new FileLoader(folder, options.replace);
  const { header, end } = await load(config, options, files, closing).catch(async (error: unknown) => {
    const advice = 'Free some space and restore again; the store is unchanged.';
    throw await explainFullDisk(error, { folder, store: kind, advice });
  });
  // The rows are committed; the files follow by renaming.
  await files.commit();
  return { ...end, store: kind, backup: header, notes: notesFor(config, kind) };
}

async function requireFile(file: string): Promise<void> {
  const found = await stat(file).catch(() => null);
  if (!found) throw new CoreError('INPUT_INVALID', `${file} does not exist.`);
  if (found.isDirectory())
    throw new CoreError('INPUT_INVALID', `${file} is a folder. Name a file that "headworks backup" wrote.`);
}

/** Opens the store and loads the rows; files are staged, not yet in place. */
async function load(
  config: Config,
  options: RestoreOptions,
  files: FileLoader,
  closing: AsyncDisposableStack,
): Promise<LoadedArchive> {
  const folder = await openDataFolder(config.data.folder, { version, command: 'headworks restore' });
  closing.defer(() => folder.release());
  closing.defer(() => files.discard());
  await removeStaleScratch(folder.path);
  const { databaseUrl, schema } = config.state;
  const database =
    databaseUrl === null
      ? await openEmbeddedTarget(config, closing)
      : await openServerTarget(databaseUrl, schema, closing);
  const where = databaseUrl === null ? `The store in ${folder.path}` : `The schema ${schema} of the database`;
  if (!options.replace) await requireEmpty(database, where);
  await prepareVaultsFolder(folder.path);
  return loadInto(database, options, files, async (take) => {
    for await (const line of linesOf(createReadStream(options.file))) {
      options.signal.throwIfAborted();
      await take(line);
    }
  });
}

interface LoadedArchive {
  readonly header: ArchiveHeader;
  readonly end: Omit<ArchiveEnd, 'headworks'>;
}

/** Loads the lines of `feed` in one transaction. Without `files` the archive must have none. */
export function loadInto(
  database: Database,
  { onProgress, signal, migrations: given }: Pick<RestoreOptions, 'onProgress' | 'signal' | 'migrations'>,
  files: FileLoader | null,
  feed: (take: (line: string) => Promise<void>) => Promise<void>,
): Promise<LoadedArchive> {
  return database.transaction(
    async (transaction) => {
      const migrations = given ?? (await loadMigrations());
      const loader = new StoreLoader({ transaction, database, migrations });
      const reader = new ArchiveReader();
      const progress = new ProgressReporter(onProgress);
      let header: ArchiveHeader | undefined;
      await feed(async (line) => {
        const item = reader.read(line);
        progress.take(item);
        switch (item.headworks) {
          case 'backup':
            header = item;
            return loader.prepare(item);
          case 'table':
            return loader.table(item);
          case 'row':
            return loader.row(line);
          case 'table-end':
            return loader.tableEnd(item);
          case 'sequence':
            return loader.sequence(item);
          case 'file':
            return files?.file(item);
          case 'piece':
            return files?.piece(item.bytes);
          case 'file-end':
            return files?.fileEnd();
          default:
            return undefined;
        }
      });
      const end = reader.finish();
      if (!header) throw new CoreError('INTERNAL', 'The backup has no header.');
      await loader.finish();
      return { header, end };
    },
    { leaseMs: maxLoadMs, signal },
  );
}

/** What an archive does not restore. */
export function notesFor(config: Config, kind: 'embedded' | 'server'): readonly string[] {
  const secret = webhookSecretPath(config.data.folder);
  return [
    ...(kind === 'server' && config.deployments.webhookSecret === null && existsSync(secret)
      ? [
          `Webhooks were signed with the secret in ${secret}. On a Postgres server it is not read from there: ` +
            'set HEADWORKS_WEBHOOK_SECRET to the content of that file, on every server and worker.',
        ]
      : []),
    ...(config.knowledge.graphBackend === 'age'
      ? ['The graph in AGE is derived from the tables: run "headworks graph rebuild" once the server runs.']
      : []),
  ];
}

export interface MigrateStoreOptions extends Omit<RestoreOptions, 'file'> {
  /** postgres://… */
  readonly to: string;
}

export interface MigrateStoreReport extends Pick<RestoreReport, 'tables' | 'rows' | 'notes'> {
  /** Schema in the target; its name may differ from the embedded store's. */
  readonly schema: string;
}

/**
 * Copies the embedded store to a Postgres server, row by row, and compares them. The embedded store is only read. Fails
 * with INPUT_INVALID when there is none or it is empty, DATA_FOLDER_BUSY while a server runs on it, CONFLICT when the
 * database is in use or not empty, and as the stores do; then nothing was changed in either.
 */
export async function migrateStore(
  config: Config,
  options: MigrateStoreOptions,
): Promise<MigrateStoreReport> {
  if (config.state.databaseUrl !== null)
    throw new CoreError(
      'INPUT_INVALID',
      'The state store of this configuration is already a Postgres server (DATABASE_URL). Unset it to migrate the embedded store.',
    );
  await requireEmbeddedStore(config);
  await using closing = new AsyncDisposableStack();
  const folder = await openDataFolder(config.data.folder, { version, command: 'headworks migrate-store' });
  closing.defer(() => folder.release());
  const source = await openEmbeddedTarget(config, closing);
  const from = await sourceSchema(source, config);
  // Tables of an older version are migrated in the target, not here.
  checkHistory(await readHistory(source, from), options.migrations ?? (await loadMigrations()));
  const { schema } = config.state;
  const target = await openServerTarget(options.to, schema, closing);
  if (!options.replace) await requireEmpty(target, `The schema ${schema} of the database`);
  const { end } = await loadInto(target, options, null, (take) =>
    inSnapshot(
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
      options.signal,
    ),
  );
  return { tables: end.tables, rows: end.rows, schema, notes: notesFor(config, 'server') };
}
