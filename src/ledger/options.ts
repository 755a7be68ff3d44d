// Options of the ledger.
import { defineOptions, numberOption } from '../core/index.ts';
import type { OptionValues } from '../core/index.ts';

const dayMs = 86_400_000;

export const ledgerOptions = defineOptions({
  section: 'ledger',
  describe: 'The ledger of degradations and their repair.',
  fields: {
    flushIntervalMs: numberOption({
      describe: 'Collect rows for this long before writing them in one batch.',
      env: 'HEADWORKS_LEDGER_FLUSH_INTERVAL_MS',
      default: 20,
      min: 0,
      max: 10_000,
    }),
    flushBatch: numberOption({
      describe: 'Write at most this many rows in one batch.',
      env: 'HEADWORKS_LEDGER_FLUSH_BATCH',
      default: 500,
      min: 1,
      max: 10_000,
    }),
    maxPending: numberOption({
      describe:
        'Keep at most this many rows in memory while the store is unavailable; further ones are only counted per kind.',
      env: 'HEADWORKS_LEDGER_MAX_PENDING',
      default: 10_000,
      min: 1,
      max: 1_000_000,
    }),
    repairIntervalMinutes: numberOption({
      describe: 'Run due repairs in the background at this interval in minutes; 0 disables it.',
      env: 'HEADWORKS_LEDGER_REPAIR_INTERVAL_MINUTES',
      default: 5,
      min: 0,
      max: 59,
    }),
    repairBatch: numberOption({
      describe: 'Read this many rows at a time while repairing.',
      env: 'HEADWORKS_LEDGER_REPAIR_BATCH',
      default: 100,
      min: 1,
      max: 10_000,
    }),
    repairConcurrency: numberOption({
      describe: 'Run at most this many repairs at the same time.',
      env: 'HEADWORKS_LEDGER_REPAIR_CONCURRENCY',
      default: 4,
      min: 1,
      max: 100,
    }),
    repairTimeoutMs: numberOption({
      describe: 'Abort a repair that takes longer.',
      env: 'HEADWORKS_LEDGER_REPAIR_TIMEOUT_MS',
      default: 60_000,
      min: 100,
      max: 3_600_000,
    }),
    repairBackoffMs: numberOption({
      describe:
        'Wait this long after the first failed repair of a row; the delay doubles with each further one.',
      env: 'HEADWORKS_LEDGER_REPAIR_BACKOFF_MS',
      default: 60_000,
      min: 100,
      max: dayMs,
    }),
    repairBackoffMaxMs: numberOption({
      describe: 'Limit the delay between two repairs of one row.',
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
