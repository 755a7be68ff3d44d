// One extraction per vault: a small SQLite file beside it, held exclusively. The operating system drops the lock with
// the process, however that dies.
import { DatabaseSync } from 'node:sqlite';
import { SqliteError, sqliteError } from '../../../platform/sqlite/index.ts';
import { ExtractionError } from '../../errors.ts';

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
