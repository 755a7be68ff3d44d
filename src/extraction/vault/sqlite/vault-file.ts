// Opens the file of a vault, and nothing that is not one.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import type { OpenSqliteOptions, SqliteMigration } from '../../../platform/sqlite/index.ts';
import { isCurrent, openSqlite, SqliteError, sqliteError } from '../../../platform/sqlite/index.ts';

/** 'HWVT', as the first migration writes it into the file's header. */
const applicationId = 1_213_683_284;

/** SQLITE_READONLY, SQLITE_CANTOPEN */
const cannotWriteCodes: ReadonlySet<number> = new Set([8, 14]);

const migrations: readonly SqliteMigration[] = [
  '0001-vault',
  '0002-active-time',
  '0003-fewer-indexes',
  '0004-countable',
  '0005-countable-versions',
].map((name, index) => ({
  version: index + 1,
  name,
  sql: readFileSync(new URL(`./migrations/${name}.sql`, import.meta.url), 'utf8'),
}));

/** For those who try again (`vault-patience.ts`): as long as a Ctrl-C may go unheard. */
export const shortBusyMs = 200;

/** Makes the file, or brings it up to date. Fails with a SqliteError; a file that is no vault is not touched. */
export function openVaultFile(path: string, busyTimeoutMs?: number): DatabaseSync {
  refuseOtherFiles(path);
  if (!existsSync(path)) onFile(path, () => createFile(path));
  const db = openSqlite(path, { migrations, ...(busyTimeoutMs === undefined ? {} : { busyTimeoutMs }) });
  // Page writers merge the write-ahead log themselves, long before it has these 128 MB.
  db.exec('PRAGMA wal_autocheckpoint = 16384');
  return db;
}

/**
 * Pages of 8 KB instead of 4: items of 10 KB are written a third faster (15,900 → 21,500 a second). The size must be
 * set before anything else is in the file.
 */
function createFile(path: string): void {
  const db = new DatabaseSync(path);
  try {
    db.exec(`PRAGMA page_size = 8192; PRAGMA application_id = ${applicationId}`);
  } finally {
    db.close();
  }
}

/** False for the vault of an older program. Fails with SQLITE_UNUSABLE when there is no vault, or a newer one. */
export function isVaultCurrent(path: string): boolean {
  requireVault(path);
  const db = readOnly(path);
  try {
    return onFile(path, () => isCurrent(db, path, migrations));
  } finally {
    db.close();
  }
}

/**
 * For reading what every version has: the source, sessions with their types, checkpoints and pages. Null where there are
 * no tables yet. Fails with SQLITE_UNUSABLE as `isVaultCurrent` does.
 */
export function openVaultFileAsItIs(
  path: string,
): { readonly db: DatabaseSync; readonly isOlder: boolean } | null {
  requireVault(path);
  const db = readOnly(path);
  try {
    return onFile(path, () => {
      const isOlder = !isCurrent(db, path, migrations);
      if (db.prepare('SELECT 1 FROM sqlite_master LIMIT 1').get() !== undefined) return { db, isOlder };
      // A program was killed in its first moment.
      db.close();
      return null;
    });
  } catch (error) {
    db.close();
    throw error;
  }
}

/** For reading only; at any time, also while an extraction writes. The file must be there, and current (`bringUpToDate`). */
export function openVaultFileReadOnly(path: string): DatabaseSync {
  requireVault(path);
  return readOnly(path, { migrations });
}

/** Fails with SQLITE_UNUSABLE when there is no vault. */
export function requireVault(path: string): void {
  refuseOtherFiles(path);
  if (!existsSync(path))
    throw unusable(path, 'there is no such file. Name a vault that an extraction wrote.');
  if (statSync(path).size === 0) throw unusable(path, 'it is empty. Name a vault that an extraction wrote.');
}

/**
 * A file in WAL mode wants to write beside itself even when it is only read. Where it cannot, on a read-only disk or in
 * somebody else's folder, nobody else can either: then it is read as the unchanging thing it is there.
 */
function readOnly(path: string, options: OpenSqliteOptions = {}): DatabaseSync {
  try {
    return openSqlite(path, { ...options, readOnly: true });
  } catch (error) {
    const hasUnmergedWrites = (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
    if (hasUnmergedWrites || !isForWantOfWriting(error)) throw error;
    return openSqlite(`${pathToFileURL(path).href}?immutable=1`, { ...options, readOnly: true });
  }
}

/** The file, or its folder, may not be written to. */
export function isForWantOfWriting(error: unknown): boolean {
  const code = ((error as Error).cause as { errcode?: number } | undefined)?.errcode ?? 0;
  return cannotWriteCodes.has(code & 0xff);
}

/** Runs `work` on the file; what SQLite says of the file becomes one line with what to do. */
export function onFile<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw sqliteError(error, path);
  }
}

/** Fails with SQLITE_UNUSABLE. A database of somebody else would be migrated and switched to WAL by merely opening it for writing. */
export function refuseOtherFiles(path: string): void {
  const file = statSync(path, { throwIfNoEntry: false });
  if (file?.isFile() === false) throw unusable(path, 'it is not a file. Name another.');
  if (!file || file.size === 0) return;
  const db = readOnly(path);
  try {
    const id = Number(db.prepare('PRAGMA application_id').get()?.['application_id'] ?? 0);
    const hasTables = db.prepare('SELECT 1 FROM sqlite_master LIMIT 1').get() !== undefined;
    if (id === applicationId || (id === 0 && !hasTables)) return;
  } catch (error) {
    throw sqliteError(error, path);
  } finally {
    db.close();
  }
  throw unusable(path, 'it is a SQLite file, but not a vault. Name another file; this one was not touched.');
}

const unusable = (path: string, explanation: string): SqliteError =>
  new SqliteError('SQLITE_UNUSABLE', `${path}: ${explanation}`, { details: { path } });
