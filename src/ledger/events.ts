// Events of the ledger.
import { event } from '../core/index.ts';

export const ledgerEvents = {
  'ledger:recorded': event<{ kind: string; subject: string; cause: string; count: number }>({
    level: 'warn',
    message: 'recorded a degradation',
    counter: {
      name: 'headworks_ledger_recorded_total',
      help: 'Degradations recorded in the ledger.',
      labels: ['kind'],
      by: 'count',
    },
  }),
  'ledger:resolved': event<{ id: string; kind: string; subject: string; resolution: string }>({
    level: 'info',
    message: 'resolved a degradation',
    counter: {
      name: 'headworks_ledger_resolved_total',
      help: 'Resolved ledger entries.',
      labels: ['kind'],
    },
  }),
  'ledger:repair-failed': event<{
    id: string;
    kind: string;
    subject: string;
    cause: string;
    attempts: number;
    nextRepairAt: string;
  }>({
    level: 'warn',
    message: 'could not repair a degradation yet',
    counter: {
      name: 'headworks_ledger_repair_failures_total',
      help: 'Repairs that failed.',
      labels: ['kind'],
    },
  }),
  'ledger:store-failed': event<{ cause: string; waiting: number; retryInMs: number }>({
    level: 'error',
    message: 'the ledger cannot be written; its rows are kept in memory',
    counter: { name: 'headworks_ledger_store_failures_total', help: 'Failed writes to the ledger.' },
  }),
  // The next two have no label, so that their series exist from the start: `increase` of Prometheus misses the first
  // event of a new series. The log has the kind.
  'ledger:overflowed': event<{ kind: string; count: number }>({
    level: 'error',
    message: 'too many ledger rows are waiting to be stored; these are only counted by kind',
    counter: {
      name: 'headworks_ledger_overflowed_total',
      help: 'Degradations that were only counted per kind because too many were waiting.',
      by: 'count',
    },
  }),
  'ledger:lost': event<{ kind: string; subject: string; cause: string; count: number }>({
    level: 'error',
    message: 'the process ended before this ledger row was stored',
    counter: {
      name: 'headworks_ledger_lost_total',
      help: 'Degradations that could not be stored and are only in the log.',
      by: 'count',
    },
  }),
} as const;

export type LedgerEvents = typeof ledgerEvents;
