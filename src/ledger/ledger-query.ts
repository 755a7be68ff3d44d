// What both stores understand a filter to mean.
import { CoreError, isUuid } from '../core/index.ts';
import type { LedgerFilter } from './ports.ts';

/** The filter with its defaults. A cursor that is not an id fails with INPUT_INVALID. */
export function completeFilter(filter: LedgerFilter): LedgerFilter & { state: string; limit: number } {
  if (filter.after !== undefined && !isUuid(filter.after))
    throw new CoreError(
      'INPUT_INVALID',
      `"${filter.after}" is not the id of a ledger row: continue after one that was listed.`,
    );
  return { ...filter, state: filter.state ?? 'open', limit: filter.limit ?? 100 };
}
