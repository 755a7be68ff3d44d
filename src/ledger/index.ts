// The ledger: every degradation, its cause and its repair.
export { LedgerError, ledgerErrorCodes, type LedgerErrorCode } from './errors.ts';
export { ledgerEvents, type LedgerEvents } from './events.ts';
export { ledgerOptions, type LedgerOptions } from './options.ts';
export { BatchingLedgerRecorder, overflowKind, type LedgerRecorderDeps } from './recorder.ts';
export {
  RepairRegistry,
  RepairRunner,
  type RegisteredRepair,
  type RepairReport,
  type RepairRequest,
  type RepairRunContext,
  type RepairRunnerDeps,
} from './repair-runner.ts';
export {
  closeEntry,
  dueRepairs,
  ledgerRepairHandler,
  ledgerRepairJob,
  repairCron,
  requestRepairs,
  type CloseEntryDeps,
} from './repairs.ts';
export { openRowsGauge, PostgresLedgerStore } from './store.ts';
export type {
  Degradation,
  LedgerCount,
  LedgerEntry,
  LedgerFilter,
  LedgerRecorder,
  LedgerStore,
  Repair,
  RepairOutcome,
  SeenDegradation,
} from './types.ts';
