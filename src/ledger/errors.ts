// Errors of the ledger.
import type { ErrorCodes } from '../core/index.ts';
import { HeadworksError } from '../core/index.ts';

/** Each code with its consequence. */
export const ledgerErrorCodes = {
  LEDGER_ENTRY_UNKNOWN: {
    category: 'not_found',
    consequence: 'There is no row with this id; nothing was changed.',
  },
  LEDGER_ENTRY_RESOLVED: {
    category: 'conflict',
    consequence: 'The entry is already resolved; nothing was changed.',
  },
  LEDGER_ENTRY_SEEN_AGAIN: {
    category: 'conflict',
    consequence: 'It failed again in the meantime; the row stays open.',
  },
  LEDGER_KIND_UNKNOWN: {
    category: 'not_found',
    consequence: 'No row and no repair has this kind; nothing was done.',
  },
  LEDGER_REPAIR_UNKNOWN: {
    category: 'conflict',
    consequence: 'No repair is registered for this kind; the row stays open until a person closes it.',
  },
  LEDGER_REPAIR_TAKEN: {
    category: 'internal',
    consequence: 'A bug: two repairs were registered for one kind; the process does not start.',
  },
  LEDGER_OVERFLOW: {
    category: 'temporary',
    consequence:
      'Too many rows are waiting to be stored; this one is only counted, in a summary row of its kind.',
  },
  LEDGER_CLOSED: {
    category: 'temporary',
    consequence: 'The recorder is closed; rows that were not stored by then are only in the log.',
  },
} as const satisfies ErrorCodes;

export type LedgerErrorCode = keyof typeof ledgerErrorCodes;

export class LedgerError extends HeadworksError<LedgerErrorCode> {}
