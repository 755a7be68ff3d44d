// Opens a SQLite file through node:sqlite for several threads and processes, and migrates it: forward only, each migration
// once, all or nothing.
//
// `retryWhileBusy` waits for a file that another process has locked: each try blocks the thread only for the busy timeout,
// and between two tries the event loop runs.
//
// 64-bit hashes do not fit a JavaScript number. Bind them as signed BigInt (`BigInt.asIntN(64, hash)`; an unsigned one past
// 2^63 is rejected) and read them with `statement.setReadBigInts(true)`.
import { createHash } from 'node:crypto';
import type { SQLInputValue, SQLOutputValue, StatementResultingChanges } from 'node:sqlite';
import { DatabaseSync } from 'node:sqlite';
import type { CoreErrorCode } from '../../core/errors.ts';
import { HeadworksError, messageOf } from '../../core/errors.ts';
import type { Clock } from '../../core/clock.ts';

export interface OpenSqliteOptions {
  /** All of them, oldest first. Default: none, the file is used as it is. */
  readonly migrations?: readonly SqliteMigration[];
  /** Nothing is written, not even by migrations. Default: false. */
  readonly readOnly?: boolean;
  /**
   * How long a statement waits for another writer. The thread is blocked meanwhile, also for Ctrl-C: for longer waits use
   * retryWhileBusy. Default: 1 s.
   */
  readonly busyTimeoutMs?: number;
}

/**
 * WAL (readers and a writer do not block each other), synchronous NORMAL (a killed process loses nothing; a power cut
 * may lose the last transactions but damages nothing), foreign keys on.
 * Fails with a SqliteError that names the file; a file of another program is not changed.
 */
export function openSqlite(path: string, options: OpenSqliteOptions = {}): DatabaseSync {
  const { migrations, readOnly = false, busyTimeoutMs = 1_000 } = options;
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { readOnly, timeout: busyTimeoutMs, enableForeignKeyConstraints: true });
    // Reads the header, so that a file that is not a database is detected before anything is written.
    db.prepare('PRAGMA schema_version').get();
    if (!readOnly) db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
    if (migrations) (readOnly ? requireCurrent : migrate)(db, path, migrations);
    return db;
  } catch (error) {
    db?.close();
    throw sqliteError(error, path);
  }
}

export interface SqliteMigration {
  /** 1, 2, 3, … without gaps. */
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

const table = 'schema_migrations';

/**
 * Brings the file to the newest version. Safe with several processes at once.
 * Fails with SQLITE_UNUSABLE, changing nothing, when the file is newer than this program or a migration that ran was
 * edited since.
 */
export function migrate(db: DatabaseSync, path: string, migrations: readonly SqliteMigration[]): void {
  migrations.forEach(({ version }, index) => {
    if (version !== index + 1) throw new RangeError(`migration ${index + 1} has the number ${version}`);
  });
  if (isCurrent(db, path, migrations)) return;
  immediate(db, () => {
    db.exec(
      `CREATE TABLE IF NOT EXISTS ${table} (version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL) STRICT`,
    );
    const from = checkedVersion(db, path, migrations);
    const record = db.prepare(`INSERT INTO ${table} (version, name, checksum) VALUES (?, ?, ?)`);
    for (const migration of migrations.slice(from)) {
      db.exec(migration.sql);
      record.run(migration.version, migration.name, checksum(migration));
    }
    db.exec(`PRAGMA user_version = ${migrations.length}`);
  });
}

/** For a file opened read-only: it must be at the newest version already. */
export function requireCurrent(db: DatabaseSync, path: string, migrations: readonly SqliteMigration[]): void {
  if (!isCurrent(db, path, migrations))
    throw unusableFile(path, 'it has an older version. Open it once for writing to upgrade it.');
}

/** Whether all migrations ran. Fails with SQLITE_UNUSABLE as `migrate` does. */
export function isCurrent(db: DatabaseSync, path: string, migrations: readonly SqliteMigration[]): boolean {
  const version = userVersion(db);
  if (version > migrations.length) throw newer(path, version, migrations.length);
  const hasTable = db.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").get(table);
  if (!hasTable) return migrations.length === 0;
  return checkedVersion(db, path, migrations) === migrations.length;
}

/** How many migrations ran; fails unless they are the known ones. */
function checkedVersion(db: DatabaseSync, path: string, migrations: readonly SqliteMigration[]): number {
  const applied = db.prepare(`SELECT version, checksum FROM ${table} ORDER BY version`).all();
  if (applied.length > migrations.length) throw newer(path, applied.length, migrations.length);
  applied.forEach((row, index) => {
    const known = migrations[index];
    if (known && row['version'] === known.version && row['checksum'] === checksum(known)) return;
    throw unusableFile(
      path,
      `migration ${String(row['version'])} ran with another text than this program has. ` +
        'Use the program that wrote the file, or undo the change to the migration.',
    );
  });
  return applied.length;
}

function userVersion(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0);
}

function newer(path: string, version: number, supported: number): Error {
  return unusableFile(
    path,
    `it has version ${version}, and this program supports ${supported}. Use the newer program that wrote it.`,
  );
}

function checksum({ sql }: SqliteMigration): string {
  return createHash('sha256').update(sql).digest('hex');
}

/**
 * BEGIN IMMEDIATE, `work`, COMMIT; ROLLBACK when it throws. Waits for other writers up to the busy timeout. `work` is
 * synchronous: nothing else on this connection can run in between. Fails with a SqliteError that names the file when
 * the file is the reason, and otherwise with what `work` threw.
 */
export function immediate<T>(db: DatabaseSync, work: () => T): T {
  try {
    db.exec('BEGIN IMMEDIATE');
    const result = work();
    if (result instanceof Promise)
      throw new TypeError('work in a SQLite transaction must not be async: other work would write into it');
    db.exec('COMMIT');
    return result;
  } catch (error) {
    // A full disk has rolled back already; a second rollback would hide the first error.
    if (db.isTransaction) db.exec('ROLLBACK');
    throw sqliteError(error, db.location() ?? ':memory:');
  }
}

type SqliteRow = Record<string, SQLOutputValue>;

/**
 * Statements as templates; values are bound as parameters. Not `createTagStore`: its statements outlive `close` (Node 24),
 * and the write-ahead log is then not merged into the file.
 *
 * @example sqlOn(db).get`SELECT name FROM sources WHERE id = ${id}`
 */
export function sqlOn(db: DatabaseSync) {
  const prepare = (parts: TemplateStringsArray) => db.prepare(parts.join('?'));
  return {
    run: (parts: TemplateStringsArray, ...values: SQLInputValue[]): StatementResultingChanges =>
      prepare(parts).run(...values),
    get: (parts: TemplateStringsArray, ...values: SQLInputValue[]): SqliteRow | undefined =>
      prepare(parts).get(...values),
    all: (parts: TemplateStringsArray, ...values: SQLInputValue[]): SqliteRow[] =>
      prepare(parts).all(...values),
    iterate: (parts: TemplateStringsArray, ...values: SQLInputValue[]) => prepare(parts).iterate(...values),
  };
}

type SqliteErrorCode = Extract<CoreErrorCode, `SQLITE_${string}`>;

/** For the meaning of its code see `coreErrorCodes`. */
export class SqliteError extends HeadworksError<SqliteErrorCode> {}

/** SQLite's primary result codes (https://www.sqlite.org/rescode.html). */
const explanations: ReadonlyMap<number, readonly [SqliteErrorCode, string]> = new Map([
  [3, ['SQLITE_UNUSABLE', 'this user may not open it. Correct its owner or mode.']],
  [5, ['SQLITE_BUSY', 'another process holds it. Try again when that is done.']],
  [6, ['SQLITE_BUSY', 'another connection holds a table. Try again when that is done.']],
  [8, ['SQLITE_UNUSABLE', 'it is read-only. Make the file and its folder writable.']],
  [10, ['SQLITE_UNUSABLE', 'the disk reported an error. Check the disk and the file system.']],
  [
    11,
    ['SQLITE_UNUSABLE', 'it is damaged. Restore it from a copy, or recover it with "sqlite3 FILE .recover".'],
  ],
  [13, ['SQLITE_FULL', 'the disk is full. Free some space and try again.']],
  [
    14,
    [
      'SQLITE_UNUSABLE',
      'it cannot be opened. Check that its folder exists and is writable, and that it is a file.',
    ],
  ],
  [26, ['SQLITE_UNUSABLE', 'it is not a SQLite file. Name another file; this one was not changed.']],
]);

/** A SqliteError for a problem of the file; any other error (a wrong statement) unchanged. */
export function sqliteError(error: unknown, path: string): unknown {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  const explained = typeof code === 'number' ? explanations.get(code & 0xff) : undefined;
  if (!explained) return error;
  const [ours, explanation] = explained;
  return new SqliteError(ours, `${path}: ${explanation}`, {
    isRetryable: ours !== 'SQLITE_UNUSABLE',
    details: { path, sqlite: messageOf(error) },
    cause: error,
  });
}

function unusableFile(path: string, explanation: string): SqliteError {
  return new SqliteError('SQLITE_UNUSABLE', `${path}: ${explanation}`, { details: { path } });
}

/** The pause between two tries. */
export const busyRetryPauseMs = 100;

/** Shorter waits are not reported. */
const reportAfterMs = 500;

export interface BusyRetryOptions {
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  /** How long the file may stay locked before the error is thrown. */
  readonly timeoutMs: number;
  /** Called once when the wait takes longer than half a second. */
  readonly onWait?: () => void;
}

export function isSqliteBusy(error: unknown): error is HeadworksError {
  return error instanceof HeadworksError && error.code === 'SQLITE_BUSY';
}

/**
 * The result of `work`: at once when the file is free, else a promise that retries until it is. Fails with SQLITE_BUSY
 * after `timeoutMs`, with the signal's reason, or with any other error of `work`.
 */
export function retryWhileBusy<T>(work: () => T, options: BusyRetryOptions): T | Promise<T> {
  const since = options.clock.monotonic();
  try {
    return work();
  } catch (error) {
    if (!isSqliteBusy(error)) throw error;
    return keepTrying(work, options, since);
  }
}

async function keepTrying<T>(
  work: () => T,
  { clock, signal, timeoutMs, onWait }: BusyRetryOptions,
  since: number,
): Promise<T> {
  let isReported = false;
  for (;;) {
    await clock.sleep(busyRetryPauseMs, signal);
    try {
      return work();
    } catch (error) {
      const waitedMs = clock.monotonic() - since;
      if (!isSqliteBusy(error) || waitedMs >= timeoutMs) throw error;
      if (waitedMs < reportAfterMs || isReported) continue;
      isReported = true;
      onWait?.();
    }
  }
}
