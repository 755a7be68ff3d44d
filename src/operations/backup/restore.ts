// headworks restore: puts a backup into the store of this configuration, all of it or nothing.
import { createReadStream, existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { webhookSecretPath } from '../../app/webhook-secret.ts';
import type { Config } from '../../config/index.ts';
import { version } from '../../config/version.ts';
import { CoreError, systemClock } from '../../core/index.ts';
import { openDataFolder } from '../../platform/data-folder/index.ts';
import type { Database } from '../../platform/postgres/index.ts';
import { identifier, loadMigrations } from '../../platform/postgres/index.ts';
import { checkHistory, readHistory } from '../../platform/postgres/migrations/migration-history.ts';
import type { ArchiveEnd, ArchiveHandler, ArchiveHeader } from './archive.ts';
import { ArchiveReader, checkArchive, controlLine, linesOf } from './archive.ts';
import { explainFullDisk, removeLeftovers } from './disk-space.ts';
import { dumpStore, oneMoment } from './dump.ts';
import { FileLoader, StoreLoader, prepareVaultsFolder } from './load.ts';
import {
  openEmbeddedTarget,
  openServerTarget,
  refuseContent,
  requireEmbeddedStore,
  sourceSchema,
} from './open-target.ts';
import type { BackupProgress } from './save-backup.ts';
import { ProgressTeller } from './save-backup.ts';

export interface RestoreWish {
  readonly file: string;
  /** Whatever is in the store, and files of the same names, may go. */
  readonly replace: boolean;
  readonly onProgress: (progress: BackupProgress) => void;
  readonly signal: AbortSignal;
}

export interface RestoreReport extends Omit<ArchiveEnd, 'headworks'> {
  readonly store: 'embedded' | 'server';
  readonly backup: Pick<ArchiveHeader, 'version' | 'createdAt' | 'store'>;
  /** What somebody has to do, in sentences. */
  readonly notes: readonly string[];
}

/** A store is loaded within a day, or not at all. */
const longestMs = 24 * 3_600_000;

/**
 * Fails with DATA_FOLDER_BUSY or CONFLICT while a server runs or something is there that may not be replaced,
 * INPUT_INVALID when the backup is damaged or of a newer version, and as the store does; then nothing was changed.
 */
export async function restore(config: Config, wish: RestoreWish): Promise<RestoreReport> {
  if (config.client.serverUrl !== null)
    throw new CoreError(
      'INPUT_INVALID',
      'A backup is restored where the store is: run this on that machine, without --server and HEADWORKS_URL.',
    );
  await requireFile(wish.file);
  // A backup that is not whole is found out before anything is touched, not after hours of loading.
  await checkArchive(wish.file, wish.signal);
  await using closing = new AsyncDisposableStack();
  const kind = config.state.databaseUrl === null ? 'embedded' : 'server';
  const { folder } = config.data;
  const files = new FileLoader(folder, wish.replace);
  const { header, end } = await load(config, wish, files, closing).catch(async (error: unknown) => {
    const advice = 'Make room there and restore again; the store is as it was.';
    throw await explainFullDisk(error, { folder, store: kind, advice });
  });
  // From here on the rows are there; files follow by renaming.
  await files.place();
  return { ...end, store: kind, backup: header, notes: notesFor(config, kind) };
}

async function requireFile(file: string): Promise<void> {
  const found = await stat(file).catch(() => null);
  if (!found) throw new CoreError('INPUT_INVALID', `There is no file ${file}.`);
  if (found.isDirectory())
    throw new CoreError(
      'INPUT_INVALID',
      `${file} is a folder. Name a file in it that "headworks backup" wrote.`,
    );
}

/** Opens the store and puts the rows in; the files wait beside their places. */
async function load(
  config: Config,
  wish: RestoreWish,
  files: FileLoader,
  closing: AsyncDisposableStack,
): Promise<LoadedArchive> {
  const folder = await openDataFolder(config.data.folder, { version, command: 'headworks restore' });
  closing.defer(() => folder.release());
  closing.defer(() => files.discard());
  await removeLeftovers(folder.path);
  const { databaseUrl, schema } = config.state;
  const database =
    databaseUrl === null
      ? await openEmbeddedTarget(config, closing)
      : await openServerTarget(databaseUrl, schema, closing);
  const where = databaseUrl === null ? `The store in ${folder.path}` : `The schema ${schema} of the database`;
  if (!wish.replace) await refuseContent(database, where);
  await prepareVaultsFolder(folder.path);
  return loadInto(database, wish, files, async (take) => {
    for await (const line of linesOf(createReadStream(wish.file))) {
      wish.signal.throwIfAborted();
      await take(line);
    }
  });
}

interface LoadedArchive {
  readonly header: ArchiveHeader;
  readonly end: Omit<ArchiveEnd, 'headworks'>;
}

/** Whatever `feed` gives goes into the store, or nothing does. Without `files` there may be none. */
export function loadInto(
  database: Database,
  { onProgress, signal }: Pick<RestoreWish, 'onProgress' | 'signal'>,
  files: FileLoader | null,
  feed: (take: (line: string) => Promise<void>) => Promise<void>,
): Promise<LoadedArchive> {
  return database.transaction(
    async (transaction) => {
      const migrations = await loadMigrations(new URL('../migrations/', import.meta.url));
      const loader = new StoreLoader({ transaction, database, migrations });
      const filling = new Filling(loader, files, onProgress);
      const reader = new ArchiveReader(filling);
      await feed((line) => reader.take(line));
      const { headworks: _, ...end } = reader.finish();
      await loader.finish();
      return { header: filling.found(), end };
    },
    { leaseMs: longestMs, signal },
  );
}

/** Passes what is read on to where it belongs, and tells how far it is. */
class Filling implements ArchiveHandler {
  readonly #loader: StoreLoader;
  readonly #files: FileLoader | null;
  readonly #teller: ProgressTeller;
  #header: ArchiveHeader | undefined;

  constructor(loader: StoreLoader, files: FileLoader | null, onProgress: (progress: BackupProgress) => void) {
    this.#loader = loader;
    this.#files = files;
    this.#teller = new ProgressTeller(onProgress);
  }

  found(): ArchiveHeader {
    if (!this.#header) throw new CoreError('INTERNAL', 'A backup was read that has no beginning.');
    return this.#header;
  }

  async header(header: ArchiveHeader): Promise<void> {
    this.#header = header;
    this.#teller.total = header.rows;
    await this.#loader.prepare(header);
  }

  async table(table: Parameters<ArchiveHandler['table']>[0]): Promise<void> {
    this.#teller.at(table.name);
    this.#loader.table(table);
  }

  async row(line: string): Promise<void> {
    this.#teller.one();
    await this.#loader.row(line);
  }

  async tableEnd(...[, end]: Parameters<ArchiveHandler['tableEnd']>): Promise<void> {
    await this.#loader.tableEnd(end);
  }

  async sequence(line: Parameters<ArchiveHandler['sequence']>[0]): Promise<void> {
    await this.#loader.sequence(line);
  }

  async file(file: Parameters<ArchiveHandler['file']>[0]): Promise<void> {
    this.#teller.at(file.name);
    await this.#files?.file(file);
  }

  async piece(bytes: Uint8Array): Promise<void> {
    await this.#files?.piece(bytes);
  }

  async fileEnd(): Promise<void> {
    await this.#files?.fileEnd();
  }
}

/** What a store of rows alone does not bring along. */
export function notesFor(config: Config, kind: 'embedded' | 'server'): readonly string[] {
  const secret = webhookSecretPath(config.data.folder);
  return [
    ...(kind === 'server' && config.deployments.webhookSecret === null && existsSync(secret)
      ? [
          `Webhooks were signed with the secret in ${secret}. On a Postgres server it is not read from there: ` +
            'set HEADWORKS_WEBHOOK_SECRET to what is in that file, on every server and worker.',
        ]
      : []),
    ...(config.knowledge.graphBackend === 'age'
      ? ['The graph in AGE is made from the tables: run "headworks graph rebuild" once the server runs.']
      : []),
  ];
}

export interface MigrateStoreWish {
  /** postgres://… */
  readonly to: string;
  readonly replace: boolean;
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
  checkHistory(
    await readHistory(source, from),
    await loadMigrations(new URL('../migrations/', import.meta.url)),
  );
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
