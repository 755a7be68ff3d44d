// The file of a vault: creation, migration, locks, and merging of the write-ahead log.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import type { Clock } from '../../core/index.ts';
import { createPrivateFile } from '../../platform/data-folder/files.ts';
import type { SqliteMigration, BusyRetryOptions } from '../../platform/sqlite/open-sqlite.ts';
import {
  isCurrent,
  openSqlite,
  SqliteError,
  sqliteError,
  isSqliteBusy,
  retryWhileBusy,
} from '../../platform/sqlite/open-sqlite.ts';
import { ExtractionError } from '../errors.ts';

/** 'HWV2' in the file's header. */
const applicationId = 1_213_683_250;
/** 'HWVT': the vaults of version 0.1.0. */
const firstApplicationId = 1_213_683_284;

/** SQLITE_READONLY, SQLITE_CANTOPEN */
const cannotWriteCodes: ReadonlySet<number> = new Set([8, 14]);

/** Never edited once released: their checksums are stored in every vault. */
export const vaultMigrations: SqliteMigration[] = ['0001-baseline'].map((name, index) => ({
  version: index + 1,
  name,
  sql: readFileSync(new URL(`./migrations/${name}.sql`, import.meta.url), 'utf8'),
}));

/** For callers that retry: how long one try may block the thread, and so delay Ctrl-C. */
export const shortBusyMs = 200;

/** Creates or migrates the file, which must be a vault or nothing (`openExistingVault`). Fails with a SqliteError. */
export function openVaultFile(path: string, busyTimeoutMs?: number): DatabaseSync {
  if (!existsSync(path)) onFile(path, () => createFile(path));
  const db = openSqlite(path, { migrations: vaultMigrations, busyTimeoutMs });
  // Page writers merge the write-ahead log themselves, long before it reaches these 128 MB.
  db.exec('PRAGMA wal_autocheckpoint = 16384');
  return db;
}

/**
 * Pages of 8 KB instead of 4: items of 10 KB are written a third faster (15,900 → 21,500 per second). The page size must
 * be set before the file has any content.
 */
function createFile(path: string): void {
  // SQLite gives its -wal and -shm files the same mode.
  createPrivateFile(path);
  const db = new DatabaseSync(path);
  try {
    db.exec(`PRAGMA page_size = 8192; PRAGMA application_id = ${applicationId}`);
  } finally {
    db.close();
  }
}

/** A vault of this or an older version: its source, sessions, checkpoints and pages can be read. */
export interface ExistingVault {
  readonly db: DatabaseSync;
  readonly isOlder: boolean;
}

/**
 * Opens a vault for reading, without migrating it. Null for a missing file, an empty one, and one without tables, whose
 * process was killed right after it created the file. Fails with SQLITE_UNUSABLE for any other file: opening another
 * database for writing would migrate it and switch it to WAL mode.
 */
export function openExistingVault(path: string): ExistingVault | null {
  const file = statSync(path, { throwIfNoEntry: false });
  if (file?.isFile() === false) throw unusable(path, 'it is not a file. Name another.');
  if (!file || file.size === 0) return null;
  const db = openReadOnly(path);
  try {
    return onFile(path, () => {
      const id = Number(db.prepare('PRAGMA application_id').get()?.['application_id'] ?? 0);
      const hasTables = db.prepare('SELECT 1 FROM sqlite_master LIMIT 1').get() !== undefined;
      if (id !== applicationId && (id !== 0 || hasTables)) throw notAVault(path, id);
      if (hasTables) return { db, isOlder: !isCurrent(db, path, vaultMigrations) };
      db.close();
      return null;
    });
  } catch (error) {
    db.close();
    throw error;
  }
}

const notAVault = (path: string, id: number): SqliteError =>
  unusable(
    path,
    id === firstApplicationId
      ? 'it is a vault of Headworks 0.1.0, which this version cannot read. Extract into a new vault, or use version 0.1.0 for this one; it was not changed.'
      : 'it is a SQLite file, but not a vault. Name another file; this one was not changed.',
  );

/**
 * Opens a vault for reading at any time, also during an extraction, and migrates one of an older version before. Fails
 * with EXTRACTION_BUSY when an extraction writes to an older one, and with SQLITE_UNUSABLE when there is no vault or an
 * older one is not writable; it is then unchanged.
 */
export function openMigratedVault(path: string): { readonly db: DatabaseSync; readonly wasOlder: boolean } {
  const existing = requireVault(path);
  if (!existing.isOlder) return { db: existing.db, wasOlder: false };
  existing.db.close();
  try {
    const lock = lockVault(path);
    try {
      openVaultFile(path).close();
    } finally {
      lock.close();
    }
  } catch (error) {
    throw explainMigrationError(error, path);
  }
  return { db: openReadOnly(path), wasOlder: true };
}

function explainMigrationError(error: unknown, path: string): unknown {
  const older = 'it was written by an older version and has to be migrated before it is read';
  const details = { path };
  if (error instanceof ExtractionError && error.code === 'EXTRACTION_BUSY')
    return new ExtractionError(
      'EXTRACTION_BUSY',
      `${path}: ${older}, but an extraction writes to it. Try again when that has ended.`,
      { isRetryable: true, details, cause: error },
    );
  if (!isWriteDenied(error)) return error;
  const copy = `FOLDER/${basename(path)}`;
  return new SqliteError(
    'SQLITE_UNUSABLE',
    `${path}: ${older}, but it is not writable. Make it and its folder writable, or read a copy: ` +
      `cp "${path}"* FOLDER && chmod u+w "${copy}"* && headworks vault list --vault "${copy}"`,
    { details, cause: error },
  );
}

/** As `openExistingVault`, but fails with SQLITE_UNUSABLE when there is no vault. */
export function requireVault(path: string): ExistingVault {
  const existing = openExistingVault(path);
  if (existing) return existing;
  const problem = existsSync(path) ? 'it is empty' : 'there is no such file';
  throw unusable(path, `${problem}. Name a vault that an extraction has written.`);
}

/**
 * A file in WAL mode needs write access even for reading. Without it, on a read-only disk or in a folder of another
 * user, no other process can write either: the file is then read as immutable.
 */
function openReadOnly(path: string): DatabaseSync {
  try {
    return openSqlite(path, { readOnly: true });
  } catch (error) {
    const hasUnmergedWrites = (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
    if (hasUnmergedWrites || !isWriteDenied(error)) throw error;
    return openSqlite(`${pathToFileURL(path).href}?immutable=1`, { readOnly: true });
  }
}

function isWriteDenied(error: unknown): boolean {
  const code = ((error as Error).cause as { errcode?: number } | undefined)?.errcode ?? 0;
  return cannotWriteCodes.has(code & 0xff);
}

/** Runs `work` on the file; SQLite's errors become one line with a remedy. */
export function onFile<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw sqliteError(error, path);
  }
}

const unusable = (path: string, explanation: string): SqliteError =>
  new SqliteError('SQLITE_UNUSABLE', `${path}: ${explanation}`, { details: { path } });

const sqliteBusy = 5;
const sqliteFull = 13;

/**
 * One extraction per vault: an exclusively locked SQLite file beside it. The operating system releases the lock with
 * the process, however that ends. Fails with EXTRACTION_BUSY when another process (or this one) has it.
 */
export function lockVault(path: string): DatabaseSync {
  const file = `${path}.lock`;
  let db: DatabaseSync | undefined;
  createPrivateFile(file);
  try {
    db = new DatabaseSync(file, { timeout: 0 });
    // In this mode the lock of the transaction is kept.
    db.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
    db.exec('BEGIN EXCLUSIVE; COMMIT');
    return db;
  } catch (error) {
    db?.close();
    if ((error as { errcode?: unknown }).errcode !== sqliteBusy) throw lockFileError(error, path, file);
    throw new ExtractionError(
      'EXTRACTION_BUSY',
      `Another extraction writes to ${path}. Wait until it has ended or stop it, or name another vault.`,
      { isRetryable: true, details: { path } },
    );
  }
}

function lockFileError(error: unknown, path: string, file: string): unknown {
  if ((error as { errcode?: unknown }).errcode === sqliteFull) return sqliteError(error, path);
  return new SqliteError(
    'SQLITE_UNUSABLE',
    `${path}: the lock file ${file} cannot be written. Check that the folder exists and that both are writable.`,
    { details: { path }, cause: error },
  );
}

/** The source that the vault belongs to; null before the first extraction. */
export function sourceOf(db: DatabaseSync): string | null {
  const name = db.prepare('SELECT name FROM vault_source').get()?.['name'];
  return typeof name === 'string' ? name : null;
}

/** A vault belongs to one source, because ids of two sources may collide. Fails with EXTRACTION_VAULT_OF_OTHER_SOURCE. */
export function requireSource(db: DatabaseSync, path: string, source: string): void {
  const stored = sourceOf(db);
  if (stored === null || stored === source) return;
  throw new ExtractionError(
    'EXTRACTION_VAULT_OF_OTHER_SOURCE',
    `${path} belongs to "${stored}", not to "${source}". Name another vault; this one was not changed.`,
    { details: { path, holds: stored, source } },
  );
}

/** The first source claims the vault. Within a transaction of the caller. */
export function claimVault(db: DatabaseSync, path: string, source: string): void {
  requireSource(db, path, source);
  db.prepare('INSERT INTO vault_source (id, name) VALUES (1, ?) ON CONFLICT DO NOTHING').run(source);
}

// Threads that write to one file take turns. With SQLite alone they poll for its lock with growing sleeps: of eight
// threads some waited for more than a second, and the main thread with them (figures in the README). SQLite's own lock
// protects the file, so a thread that dies while it has the write lock only costs the others one wait.

/** Longer than writing any page takes. */
const maxLockMs = 1_000;

/** Shared by all threads: whether a thread writes, and the bytes written since the log was merged. */
export const createWriteLock = (): SharedArrayBuffer =>
  new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);

/** Runs `work` when no other thread writes, or has written for too long. Blocks the thread. */
export function withWriteLock<T>(writeLock: SharedArrayBuffer, work: () => T, maxWaitMs = maxLockMs): T {
  const taken = new Int32Array(writeLock);
  while (Atomics.compareExchange(taken, 0, 0, 1) !== 0)
    if (Atomics.wait(taken, 0, 1, maxWaitMs) === 'timed-out') break;
  try {
    return work();
  } finally {
    Atomics.store(taken, 0, 0);
    Atomics.notify(taken, 0, 1);
  }
}

/** Bytes of items between two merges; the log is a quarter larger: 30 MB. */
const mergeBytes = 24 * 1024 * 1024;
/** A page of small items changes more of the file than its bytes suggest. */
const maxPagesBetweenMerges = 64;
/** In SQLite pages: 80 MB. */
const longLog = 10_000;
const merge = 'PRAGMA wal_checkpoint(PASSIVE)';

/**
 * Merges the write-ahead log into the file while other threads write. Left to SQLite, the thread whose commit makes the
 * log too long would merge it within its transaction: 60 ms without writes, nearly half of the writing time. Call it
 * after every page, without the write lock, with the bytes of the page's items.
 */
export function mergeLogWhenLong(db: DatabaseSync, writeLock: SharedArrayBuffer, pageBytes: number): void {
  const counter = new Int32Array(writeLock, Int32Array.BYTES_PER_ELEMENT, 1);
  const counted = Math.max(pageBytes, mergeBytes / maxPagesBetweenMerges);
  const bytes = Atomics.add(counter, 0, counted) + counted;
  if (bytes < mergeBytes || Atomics.compareExchange(counter, 0, bytes, 0) !== bytes) return;
  const merged = db.prepare(merge).get();
  // The log restarts only when no thread appended meanwhile; a long one is merged with the write lock.
  if (Number(merged?.['log']) > longLog) withWriteLock(writeLock, () => db.exec(merge));
}

/** How long another program may lock a vault before the error is reported. */
export const vaultLockTimeoutMs = 60_000;

export type VaultLockOptions = Omit<BusyRetryOptions, 'timeoutMs'> &
  Partial<Pick<BusyRetryOptions, 'timeoutMs'>>;

/** Retries until no other program locks the vault. Fails with SQLITE_BUSY after the timeout, or the signal's reason. */
export async function waitForVaultLock<T>(work: () => T, options: VaultLockOptions): Promise<T> {
  return retryWhileBusy(work, { timeoutMs: vaultLockTimeoutMs, ...options });
}

/** The same for a worker thread, which has nothing else to do; terminating the thread ends the wait. */
export function blockUntilVaultUnlocked<T>(work: () => T, clock: Clock): T {
  const endsAt = clock.monotonic() + vaultLockTimeoutMs;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isSqliteBusy(error) || clock.monotonic() >= endsAt) throw error;
    }
  }
}
