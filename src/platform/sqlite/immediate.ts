// A write transaction that takes the write lock first, so that it cannot fail halfway for want of it.
import type { DatabaseSync } from 'node:sqlite';
import { sqliteError } from './errors.ts';

/**
 * BEGIN IMMEDIATE, `work`, COMMIT; ROLLBACK when it throws. Waits for other writers up to the busy timeout. `work` is
 * synchronous: nothing else on this connection can come in between. Fails with a SqliteError that names the file when
 * the file is the reason, and otherwise with what `work` threw.
 */
export function immediate<T>(db: DatabaseSync, work: () => T): T {
  try {
    db.exec('BEGIN IMMEDIATE');
    const result = work();
    if (result instanceof Promise)
      throw new TypeError('work in a SQLite transaction must not be async: others would write into it');
    db.exec('COMMIT');
    return result;
  } catch (error) {
    // A full disk rolls back by itself; a second rollback would hide the first error.
    if (db.isTransaction) db.exec('ROLLBACK');
    throw sqliteError(error, db.location() ?? ':memory:');
  }
}
