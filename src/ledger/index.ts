// The ledger: every degradation, its cause and its repair.
export { ledgerErrorCodes } from './errors.ts';
export { ledgerEvents, type LedgerEvents } from './events.ts';
export { BatchingLedgerRecorder } from './recorder.ts';
export { RepairRegistry, RepairRunner, type RegisteredRepair } from './repair-runner.ts';
export {
  closeEntry,
  dueRepairs,
  ledgerRepairHandler,
  ledgerRepairJob,
  repairCron,
  requestRepairs,
} from './repairs.ts';
export { openRowsGauge, PostgresLedgerStore } from './store.ts';
export type { Degradation, LedgerEntry, LedgerRecorder, LedgerStore, RepairOutcome } from './types.ts';
