// A state store that cannot write, because the disk is full or too many files are open: recorded as soon as it can again.
import type { JobQueue, Shortage } from '../core/index.ts';
import { shortageTexts } from '../core/index.ts';
import type { LedgerRecorder, RegisteredRepair } from '../ledger/index.ts';
import { requestRepairs } from '../ledger/index.ts';
import type { Database } from '../platform/postgres/index.ts';

const shortageKind = 'state-store.cannot-write';

const causes: Readonly<Record<Shortage, string>> = {
  disk: 'DISK_FULL',
  files: 'TOO_MANY_OPEN_FILES',
  io: 'IO_ERROR',
};

export interface StoreShortageDeps {
  readonly database: Pick<Database, 'onShortage' | 'ping'>;
  readonly ledger: LedgerRecorder;
  readonly jobs: Pick<JobQueue, 'enqueue'>;
}

/** The returned function stops recording. */
export function recordShortages({ database, ledger, jobs }: StoreShortageDeps): () => void {
  return database.onShortage((shortage) => {
    if (shortage === null) return requestRepairs(jobs, [shortageKind]);
    const { problem, remedy } = shortageTexts[shortage];
    // The recorder keeps it until the store accepts it.
    void ledger.record({
      kind: shortageKind,
      subject: shortage,
      cause: causes[shortage],
      message: `The state store ${problem}; requests that write got 503. ${remedy}`,
    });
  });
}

export function shortageRepair({ database }: Pick<StoreShortageDeps, 'database'>): RegisteredRepair {
  return {
    kind: shortageKind,
    describe: 'Check that the state store can write.',
    repair: async (_, signal) => {
      await database.ping(signal);
      return { outcome: 'repaired' };
    },
  };
}
