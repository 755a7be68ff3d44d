// The ledger: every degradation, its cause, its repair.
export { BatchingLedgerRecorder, overflowKind } from './batching-recorder.ts';
export type { BatchingRecorderParts } from './batching-recorder.ts';
export { closeEntry } from './close-entry.ts';
export type { CloseEntryParts } from './close-entry.ts';
export { LedgerError, ledgerErrorCodes } from './errors.ts';
export type { LedgerErrorCode } from './errors.ts';
export { ledgerEvents } from './events.ts';
export type { LedgerEvents } from './events.ts';
export { MemoryLedgerStore } from './memory-ledger-store.ts';
export { openRowsGauge } from './open-rows-gauge.ts';
export { ledgerOptions } from './options.ts';
export type { LedgerOptions } from './options.ts';
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
} from './ports.ts';
export { dueRepairs, ledgerRepairHandler, ledgerRepairJob, repairCron } from './repair-job.ts';
export { RepairRegistry } from './repair-registry.ts';
export type { RegisteredRepair } from './repair-registry.ts';
export { RepairRunner } from './repair-runner.ts';
export type { RepairReport, RepairRequest, RepairRunContext, RepairRunnerParts } from './repair-runner.ts';
