// Extraction: everything out of a source that throttles, into a vault, within its limits.
export * from './content-types.ts';
export * from './errors.ts';
export * from './events.ts';
export * from './parallel-config.ts';
export type * from './ports.ts';
export { BusyRetryWindow, limiterKey, openSourceLimiter } from './rate-limiter.ts';
export { selectTypes } from './select-types.ts';
export { whenVaultIsFree } from './vault-patience.ts';
export { WorkerMetrics } from './worker-metrics.ts';
export type { WorkerMetricsSnapshot } from './worker-metrics.ts';
export type { DeadLetter, ItemRecord, TypeRecord, VersionRecord } from './vault/records.ts';
export { WorkItem } from './work-item.ts';
export type { WorkItemFields, WorkItemState } from './work-item.ts';
export { pageReadings } from './parsing/page-reading.ts';
export { estimate } from './pipeline/estimate.ts';
export type { Estimate, TypeEstimate } from './pipeline/estimate.ts';
export { PageThreads } from './pipeline/page-threads.ts';
export type { PageProcessor } from './pipeline/page-threads.ts';
export { tellWhyAnew } from './pipeline/tell-why-anew.ts';
export { runExtraction } from './pipeline/run-extraction.ts';
export type {
  ExtractionParts,
  ExtractionResult,
  ExtractionSpec,
  TypeResult,
} from './pipeline/run-extraction.ts';
export * from './runs/index.ts';
