// Opens a SQLite file through node:sqlite, ready for several threads and processes.
//
// Trap: 64-bit hashes do not fit a JavaScript number. Bind them as signed BigInt (`BigInt.asIntN(64, hash)`; an
// unsigned one past 2^63 is refused) and read them with `statement.setReadBigInts(true)`.
import { DatabaseSync } from 'node:sqlite';
import { sqliteError } from './errors.ts';
import type { SqliteMigration } from './migrations.ts';
import { migrate, requireCurrent } from './migrations.ts';

export interface OpenSqliteOptions {
  /** All of them, oldest first. Default: none, the file is taken as it is. */
  readonly migrations?: readonly SqliteMigration[];
  /** Nothing is written, not even by migrations. Default false. */
  readonly readOnly?: boolean;
  /**
   * How long a statement waits for another writer. The thread is deaf meanwhile, to Ctrl-C too: whoever has the
   * patience waits between tries instead. Default 1 s.
   */
  readonly busyTimeoutMs?: number;
}

/**
 * WAL (readers and a writer do not block each other), synchronous NORMAL (a killed process loses nothing; a power cut
 * may lose the last transactions but damages nothing), foreign keys on.
 * Fails with a SqliteError that names the file; a file that is not ours is not touched.
 */
export function openSqlite(path: string, options: OpenSqliteOptions = {}): DatabaseSync {
  const { migrations, readOnly = false, busyTimeoutMs = 1_000 } = options;
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { readOnly, timeout: busyTimeoutMs, enableForeignKeyConstraints: true });
    // Reads the header: a file that is no database is found out before anything is written.
    db.prepare('PRAGMA schema_version').get();
    if (!readOnly) db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
    if (migrations) (readOnly ? requireCurrent : migrate)(db, path, migrations);
    return db;
  } catch (error) {
    db?.close();
    throw sqliteError(error, path);
  }
}
