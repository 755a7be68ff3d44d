// Opens the file of a vault, and nothing that is not one.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import type { Clock } from '../../core/index.ts';
import type { OpenSqliteOptions, SqliteMigration } from '../../platform/sqlite/index.ts';
import { isCurrent, openSqlite, SqliteError, sqliteError } from '../../platform/sqlite/index.ts';
import type { BusyRetryOptions } from '../../platform/sqlite/retry-busy.ts';
import { isSqliteBusy, retryWhileBusy } from '../../platform/sqlite/retry-busy.ts';
import { ExtractionError } from '../errors.ts';

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

// The vault of an older program is brought up to date before it is read: nothing here knows the older tables.

/**
 * True when it was older. Fails with EXTRACTION_BUSY while an extraction writes to an older one, with SQLITE_UNUSABLE
 * when we may not write to it, and then has changed nothing; and as `openVaultFileReadOnly` does.
 */
export function bringUpToDate(path: string): boolean {
  if (isVaultCurrent(path)) return false;
  try {
    const lock = lockVault(path);
    try {
      openVaultFile(path).close();
    } finally {
      lock.close();
    }
  } catch (error) {
    throw explained(error, path);
  }
  return true;
}

function explained(error: unknown, path: string): unknown {
  const older = 'it is of an older version and has to be brought up to date before it is read';
  const details = { path };
  if (error instanceof ExtractionError && error.code === 'EXTRACTION_BUSY')
    return new ExtractionError(
      'EXTRACTION_BUSY',
      `${path}: ${older}, but an extraction writes to it. Try again when that is done.`,
      { isRetryable: true, details, cause: error },
    );
  if (!isForWantOfWriting(error)) return error;
  const copy = `FOLDER/${basename(path)}`;
  return new SqliteError(
    'SQLITE_UNUSABLE',
    `${path}: ${older}, but we may not write to it. Make it and its folder writable, or read a copy: ` +
      `cp "${path}"* FOLDER && chmod u+w "${copy}"* && headworks vault list --vault "${copy}"`,
    { details, cause: error },
  );
}

// One extraction per vault: a small SQLite file beside it, held exclusively. The operating system drops the lock with
// the process, however that dies.

const sqliteBusy = 5;
const sqliteFull = 13;

/** Held until it is closed. Fails with EXTRACTION_BUSY when another process (or this one) has it. */
export function lockVault(path: string): DatabaseSync {
  const file = `${path}.lock`;
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(file, { timeout: 0 });
    // In this mode the lock that the transaction took stays.
    db.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
    db.exec('BEGIN EXCLUSIVE; COMMIT');
    return db;
  } catch (error) {
    db?.close();
    if ((error as { errcode?: unknown }).errcode !== sqliteBusy) throw unwritable(error, path, file);
    throw new ExtractionError(
      'EXTRACTION_BUSY',
      `Another extraction writes to ${path}. Wait until it is done or stop it, or name another vault.`,
      { isRetryable: true, details: { path } },
    );
  }
}

function unwritable(error: unknown, path: string, file: string): unknown {
  if ((error as { errcode?: unknown }).errcode === sqliteFull) return sqliteError(error, path);
  return new SqliteError(
    'SQLITE_UNUSABLE',
    `${path}: we may not write beside it (${file}). Check that its folder exists and that both are writable.`,
    { details: { path }, cause: error },
  );
}

// A vault belongs to one source: items of two would be taken for each other's.

/** The source the vault belongs to; null for a vault that nothing was extracted into yet. */
export function sourceOf(db: DatabaseSync): string | null {
  const name = db.prepare('SELECT name FROM vault_source').get()?.['name'];
  return typeof name === 'string' ? name : null;
}

/** Fails with EXTRACTION_VAULT_FOREIGN. */
export function requireSource(db: DatabaseSync, path: string, source: string): void {
  const holds = sourceOf(db);
  if (holds === null || holds === source) return;
  throw new ExtractionError(
    'EXTRACTION_VAULT_FOREIGN',
    `${path} holds "${holds}", not "${source}". Name another vault; this one was not changed.`,
    { details: { path, holds, source } },
  );
}

/** The first source that comes has it. Within a transaction of the caller's. */
export function claimFor(db: DatabaseSync, path: string, source: string): void {
  requireSource(db, path, source);
  db.prepare('INSERT INTO vault_source (one, name) VALUES (1, ?) ON CONFLICT DO NOTHING').run(source);
}

// Threads that write to one file take turns. SQLite itself only lets them poll for its lock, with growing sleeps: of
// eight threads some then waited for more than a second, and the main thread with them (figures in the README).
//
// A courtesy, not a lock: SQLite's own lock keeps the file right. So a thread that dies in its turn costs the others
// one wait, no more.

/** Longer than any page takes to write. */
const longestTurnMs = 1_000;

/** To be handed to every thread: whether it is somebody's turn, and the bytes written since the log was merged. */
export const createWriteLock = (): SharedArrayBuffer =>
  new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);

/** A counter for `mergeLogWhenLong`. */
export const bytesSinceMerge = (turn: SharedArrayBuffer): Int32Array =>
  new Int32Array(turn, Int32Array.BYTES_PER_ELEMENT, 1);

/** Runs `work` when the others have had their turn, or took too long with it. Blocks the thread. */
export function withWriteLock<T>(turn: SharedArrayBuffer, work: () => T, longestWaitMs = longestTurnMs): T {
  const taken = new Int32Array(turn);
  while (Atomics.compareExchange(taken, 0, 0, 1) !== 0)
    if (Atomics.wait(taken, 0, 1, longestWaitMs) === 'timed-out') break;
  try {
    return work();
  } finally {
    Atomics.store(taken, 0, 0);
    Atomics.notify(taken, 0, 1);
  }
}

// Merges the write-ahead log into the file every 30 MB or so, while other threads go on writing.
//
// Left to SQLite, the thread whose commit makes the log too long merges it before its turn ends: 60 ms in which nobody
// writes, nearly half of the time that writing takes.

/** Of items; the log is a quarter larger. */
const mergeBytes = 24 * 1024 * 1024;
/** A page of small items changes more of the file than its bytes say. */
const mostPages = 64;
/** In pages of SQLite's: 80 MB. */
const longLog = 10_000;
const merge = 'PRAGMA wal_checkpoint(PASSIVE)';

/** To be called outside of a turn, after every page, with the bytes of its items. Fails as SQLite does. */
export function mergeLogWhenLong(db: DatabaseSync, turn: SharedArrayBuffer, pageBytes: number): void {
  const counter = bytesSinceMerge(turn);
  const counted = Math.max(pageBytes, mergeBytes / mostPages);
  const bytes = Atomics.add(counter, 0, counted) + counted;
  if (bytes < mergeBytes || Atomics.compareExchange(counter, 0, bytes, 0) !== bytes) return;
  const merged = db.prepare(merge).get();
  // It starts anew only when nobody added to it meanwhile, which must not be left to chance for ever.
  if (Number(merged?.['log']) > longLog) withWriteLock(turn, () => db.exec(merge));
}

// A vault that somebody else writes to, with any SQLite tool: waited for, but not for ever.

/** How long another may hold a vault before it counts as hanging. */
export const vaultLockTimeoutMs = 60_000;

export type VaultLockOptions = Omit<BusyRetryOptions, 'timeoutMs'> &
  Partial<Pick<BusyRetryOptions, 'timeoutMs'>>;

/** Attempts until the vault is free. Fails with SQLITE_BUSY when that takes too long, or with the signal's reason. */
export async function waitForVaultLock<T>(work: () => T, wait: VaultLockOptions): Promise<T> {
  return retryWhileBusy(work, { timeoutMs: vaultLockTimeoutMs, ...wait });
}

/** The same for a thread that has nothing else to do; ending the thread ends the wait too. */
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
