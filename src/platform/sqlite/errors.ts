// Errors of a SQLite file, each in one line with the remedy.
import type { CoreErrorCode } from '../../core/errors.ts';
import { HeadworksError, messageOf } from '../../core/errors.ts';

type SqliteErrorCode = Extract<CoreErrorCode, `SQLITE_${string}`>;

/** For the meaning of its code see `coreErrorCodes`. */
export class SqliteError extends HeadworksError<SqliteErrorCode> {}

/** SQLite's primary result codes (https://www.sqlite.org/rescode.html). */
const explanations: ReadonlyMap<number, readonly [SqliteErrorCode, string]> = new Map([
  [3, ['SQLITE_UNUSABLE', 'we may not open it. Correct its owner or mode.']],
  [5, ['SQLITE_BUSY', 'another process holds it. Try again when that is done.']],
  [6, ['SQLITE_BUSY', 'another connection holds a table. Try again when that is done.']],
  [8, ['SQLITE_UNUSABLE', 'it is read-only. Make the file and its folder writable.']],
  [10, ['SQLITE_UNUSABLE', 'the disk gave an error. Check the disk and the file system.']],
  [
    11,
    ['SQLITE_UNUSABLE', 'it is damaged. Restore it from a copy, or recover it with "sqlite3 FILE .recover".'],
  ],
  [13, ['SQLITE_FULL', 'the disk is full. Make room and try again.']],
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

export function unusableFile(path: string, explanation: string): SqliteError {
  return new SqliteError('SQLITE_UNUSABLE', `${path}: ${explanation}`, { details: { path } });
}
