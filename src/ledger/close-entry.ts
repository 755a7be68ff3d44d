// Closes a row because a person says that it is settled: for kinds nobody can repair, and for what was seen to by hand.
import type { Clock, Emitter, Redactor } from '../core/index.ts';
import { storable } from './degradation.ts';
import { LedgerError } from './errors.ts';
import type { LedgerEvents } from './events.ts';
import type { LedgerEntry, LedgerStore } from './ports.ts';

export interface CloseEntryParts {
  readonly store: LedgerStore;
  readonly clock: Clock;
  readonly redactor: Redactor;
  readonly events: Emitter<LedgerEvents>;
}

/**
 * The closed row. `how` is the person's sentence, kept with it. Fails with LEDGER_ENTRY_UNKNOWN, LEDGER_ENTRY_CLOSED,
 * or LEDGER_ENTRY_SEEN_AGAIN when it failed once more at the same moment.
 */
export async function closeEntry(parts: CloseEntryParts, id: string, how: string): Promise<LedgerEntry> {
  const { store, clock, redactor, events } = parts;
  const details = { id };
  const entry = await store.get(id);
  if (!entry) throw new LedgerError('LEDGER_ENTRY_UNKNOWN', `There is no ledger row ${id}.`, { details });
  if (entry.repairedAt)
    throw new LedgerError('LEDGER_ENTRY_CLOSED', `The ledger row ${id} is closed already.`, { details });
  const repairedAt = new Date(clock.now());
  const repairedHow = storable(redactor.text(how), 500);
  if (!(await store.markRepaired(id, repairedHow, repairedAt, entry.count)))
    throw new LedgerError(
      'LEDGER_ENTRY_SEEN_AGAIN',
      `The ledger row ${id} changed while it was being closed: look at it again.`,
      { details, isRetryable: true },
    );
  events.emit('ledger:repaired', { id, kind: entry.kind, subject: entry.subject, how: 'hand' });
  return { ...entry, repairedAt, repairedHow, nextRepairAt: null };
}
