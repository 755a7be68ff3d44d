// Settings of the ledger.
import { defineOptions, numberOption } from '../core/index.ts';
import type { OptionValues } from '../core/index.ts';

const dayMs = 86_400_000;

export const ledgerOptions = defineOptions({
  section: 'ledger',
  describe: 'What fell back, and how it is repaired.',
  fields: {
    flushIntervalMs: numberOption({
      describe: 'How long rows are gathered before they are written together.',
      env: 'HEADWORKS_LEDGER_FLUSH_INTERVAL_MS',
      default: 20,
      min: 0,
      max: 10_000,
    }),
    flushBatch: numberOption({
      describe: 'The most rows written at once.',
      env: 'HEADWORKS_LEDGER_FLUSH_BATCH',
      default: 500,
      min: 1,
      max: 10_000,
    }),
    maxWaiting: numberOption({
      describe:
        'The most rows kept in memory while the store is away; what comes after that is counted by kind.',
      env: 'HEADWORKS_LEDGER_MAX_WAITING',
      default: 10_000,
      min: 1,
      max: 1_000_000,
    }),
    repairEveryMinutes: numberOption({
      describe: 'How often due repairs run in the background; 0 turns that off.',
      env: 'HEADWORKS_LEDGER_REPAIR_EVERY_MINUTES',
      default: 5,
      min: 0,
      max: 59,
    }),
    repairBatch: numberOption({
      describe: 'Rows read from the store at once while repairing.',
      env: 'HEADWORKS_LEDGER_REPAIR_BATCH',
      default: 100,
      min: 1,
      max: 10_000,
    }),
    repairConcurrency: numberOption({
      describe: 'Repairs that run at the same time.',
      env: 'HEADWORKS_LEDGER_REPAIR_CONCURRENCY',
      default: 4,
      min: 1,
      max: 100,
    }),
    repairTimeoutMs: numberOption({
      describe: 'The longest one repair may take.',
      env: 'HEADWORKS_LEDGER_REPAIR_TIMEOUT_MS',
      default: 60_000,
      min: 100,
      max: 3_600_000,
    }),
    repairBackoffMs: numberOption({
      describe: 'The wait after a first failed repair; it doubles with each further one.',
      env: 'HEADWORKS_LEDGER_REPAIR_BACKOFF_MS',
      default: 60_000,
      min: 100,
      max: dayMs,
    }),
    repairBackoffMaxMs: numberOption({
      describe: 'The longest wait between two repairs of one row.',
      env: 'HEADWORKS_LEDGER_REPAIR_BACKOFF_MAX_MS',
      default: 6 * 3_600_000,
      min: 100,
      max: 30 * dayMs,
    }),
  },
  check: (values) =>
    values.repairBackoffMaxMs < values.repairBackoffMs
      ? [{ field: 'repairBackoffMaxMs', problem: 'must not be smaller than ledger.repairBackoffMs' }]
      : [],
});

export type LedgerOptions = OptionValues<typeof ledgerOptions.fields>;
