// The vault of an older program is brought up to date before it is read: nothing here knows the older tables.
import { basename } from 'node:path';
import { SqliteError } from '../../../platform/sqlite/index.ts';
import { ExtractionError } from '../../errors.ts';
import { isForWantOfWriting, isVaultCurrent, openVaultFile } from './vault-file.ts';
import { lockVault } from './vault-lock.ts';

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
