// Is a vault whole? Every row is read and held against the others; every type is held against what the source said.
import { SqliteError } from '../../../platform/sqlite/index.ts';
import { onFile } from './vault-file.ts';
import type { VaultReader } from './vault-reader.ts';
import { checkHeads, checkVersions } from './verify-items.ts';
import { checkCheckpoints, checkTypes } from './verify-types.ts';
import { Tally, type VerifyReport } from './verify-tally.ts';

export type { VaultProblem, VerifyReport } from './verify-tally.ts';

/** Reads the whole file; `signal` stops it between two rows. */
export function verifyVault(reader: VaultReader, signal?: AbortSignal): VerifyReport {
  const tally = new Tally();
  for (const check of [checkFile, checkVersions, checkHeads, checkCheckpoints, checkTypes])
    try {
      onFile(reader.path, () => check(reader, tally, signal));
    } catch (error) {
      // A file too damaged to be read on is a finding; anything else is a failure of ours.
      if (!(error instanceof SqliteError) || error.code !== 'SQLITE_UNUSABLE') throw error;
      tally.add('damaged', null, null, error.message);
    }
  return tally.report();
}

function checkFile({ db }: VaultReader, tally: Tally): void {
  for (const row of db.prepare('PRAGMA integrity_check').all())
    if (row['integrity_check'] !== 'ok') tally.add('damaged', null, null, String(row['integrity_check']));
  for (const row of db.prepare('PRAGMA foreign_key_check').all())
    tally.add(
      'damaged',
      null,
      null,
      `A row of ${String(row['table'])} refers to nothing in ${String(row['parent'])}.`,
    );
}
