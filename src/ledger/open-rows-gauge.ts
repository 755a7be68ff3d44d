// The metric operators alert on: how much is open, by kind.
import type { LedgerStore } from './ports.ts';

/** Ready to be handed to the metrics' `gauge`: name, help, labels, and what to ask at each scrape. */
export function openRowsGauge(store: Pick<LedgerStore, 'counts'>) {
  return {
    name: 'headworks_ledger_open_rows',
    help: 'Open rows of the ledger.',
    labels: ['kind'],
    collect: async () => (await store.counts()).map(({ kind, open }) => ({ labels: { kind }, value: open })),
  } as const;
}
