// The ledger: every degradation, its cause and its repair.
export { ledgerErrorCodes } from './errors.ts';
export { ledgerEvents, type LedgerEvents } from './events.ts';
export { BatchingLedgerRecorder } from './recorder.ts';
export * from './repairs.ts';
export { openRowsGauge, PostgresLedgerStore } from './store.ts';
export type { Degradation, LedgerEntry, LedgerRecorder, LedgerStore, RepairOutcome } from './store.ts';
