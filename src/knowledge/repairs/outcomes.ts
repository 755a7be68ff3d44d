// What repairs come to, and where their rows say to look.
import type { LedgerEntry, LedgerRecorder, RepairOutcome } from '../../ledger/index.ts';

export const repaired: RepairOutcome = { outcome: 'repaired' };
export const gone: RepairOutcome = { outcome: 'gone' };
export const stillBroken = (reason: string): RepairOutcome => ({ outcome: 'still-broken', reason });

/** For work that is repeated because of a row: its failure is the repair's outcome, not another row. */
export const silentLedger: LedgerRecorder = { record: async () => undefined };

/** The space that a row of knowledge is about; 0, which is none, when it does not say. */
export const spaceOf = ({ details }: Pick<LedgerEntry, 'details'>): number =>
  Number(details['space_id'] ?? 0);
