// What repairs come to, and where their rows say to look.
import type { Clock } from '../../core/index.ts';
import { abortable, messageOf } from '../../core/index.ts';
import type { LedgerEntry, LedgerRecorder, RepairOutcome } from '../../ledger/index.ts';
import { withDeadline } from '../../resilience/index.ts';

export const repaired: RepairOutcome = { outcome: 'repaired' };
export const gone: RepairOutcome = { outcome: 'gone' };
export const stillBroken = (reason: string): RepairOutcome => ({ outcome: 'still-broken', reason });

/** For work that is repeated because of a row: its failure is the repair's outcome, not another row. */
export const noopLedger: LedgerRecorder = { record: async () => undefined };

/** The space that a row of knowledge is about; 0, which is none, when it does not say. */
export const spaceOf = ({ details }: Pick<LedgerEntry, 'details'>): number =>
  Number(details['space_id'] ?? 0);

/** Repaired if `work` is done within the time that a search allows it. Fails only when `signal` is aborted. */
export async function inTime(
  timeoutMs: number,
  clock: Clock,
  budget: string,
  signal: AbortSignal,
  work: (within: AbortSignal) => Promise<unknown>,
): Promise<RepairOutcome> {
  const deadline = withDeadline(signal, timeoutMs, clock, budget);
  try {
    await abortable(work(deadline.signal), deadline.signal);
    return repaired;
  } catch (error) {
    signal.throwIfAborted();
    return stillBroken(messageOf(error));
  } finally {
    deadline.dispose();
  }
}
