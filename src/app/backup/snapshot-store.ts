// One moment of a store that goes on working: a server shows it to a transaction, the embedded store as a copy of its files.
import { cp } from 'node:fs/promises';
import { constants } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../core/index.ts';
import type { Database, Transaction } from '../../platform/postgres/index.ts';

export interface SnapshotParts {
  readonly database: Database;
  /** Where the embedded store has its files. */
  readonly storeFolder: string;
  /** For files of this backup; removed by whoever made it. */
  readonly scratch: string;
  readonly signal: AbortSignal;
}

/** A backup is as slow as whoever reads it; one that stands still does not hold its moment for ever. */
const longestMs = 6 * 3_600_000;
/** A single statement over a whole table, in a copy that nobody else waits for. */
const stuckAfterMs = 3_600_000;

/** Runs `work` on one moment. Requests wait only while the files of an embedded store are copied. */
export async function withSnapshot<T>(
  parts: SnapshotParts,
  work: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  const { database, storeFolder, scratch, signal } = parts;
  if (database.capabilities.kind === 'server') return oneMoment(database, work, signal);
  const folder = join(scratch, 'state');
  await database.transaction(
    async (transaction) => {
      await transaction.script('checkpoint');
      await cp(storeFolder, folder, { recursive: true, mode: constants.COPYFILE_FICLONE });
    },
    { leaseMs: longestMs, signal },
  );
  const { openEmbeddedDatabase } = await import('../../platform/postgres/embedded/index.ts');
  const copy = await openEmbeddedDatabase({
    folder,
    schema: database.schema,
    clock: systemClock,
    stuckAfterMs,
  });
  try {
    return await oneMoment(copy, work, signal);
  } finally {
    await copy.close();
  }
}

/** All of `work` sees the store as it was when it began. */
export function oneMoment<T>(
  database: Database,
  work: (transaction: Transaction) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  return database.transaction(
    async (transaction) => {
      await transaction.script('set transaction isolation level repeatable read, read only');
      return work(transaction);
    },
    { leaseMs: longestMs, signal },
  );
}
