// Extraction: everything out of a source with a rate limit, into a vault.
export * from './errors.ts';
export * from './events.ts';
export { estimateExtraction, extract, openExtraction } from './open-extraction.ts';
export type {
  Extraction,
  ExtractionDeps,
  ExtractionSettings,
  ExtractionSummary,
  ExtractOptions,
} from './open-extraction.ts';
export * from './parallel-config.ts';
export { estimate } from './pipeline/estimate.ts';
export type { Estimate, TypeEstimate } from './pipeline/estimate.ts';
export { runExtraction, selectTypes } from './pipeline/run-session.ts';
export type { ExtractionResult, ExtractionSpec, RunDeps, TypeResult } from './pipeline/run-session.ts';
export { WorkerPool } from './pipeline/worker-pool.ts';
export type { PageProcessor } from './pipeline/worker-pool.ts';
export { limiterKey } from './rate-limiter.ts';
export * from './runs/index.ts';
export type { SourceChoice } from './sources/create-source.ts';
export { loadDescription } from './sources/description/load.ts';
export type { SourceDescription } from './sources/description/types.ts';
export { createHttpSource } from './sources/http-source.ts';
export type { HttpSourceOptions } from './sources/http-source.ts';
export { lookerContentTypes, lookerDescription } from './sources/looker/description.ts';
export type { LookerContentType } from './sources/looker/description.ts';
export * from './types.ts';
export type { DeadLetter, ItemRecord, TypeRecord, VersionRecord } from './vault/reader.ts';
export type { VaultService } from './vault/vault-service.ts';
export { WorkItem } from './work-item.ts';
export type { WorkItemFields, WorkItemState } from './work-item.ts';
export { WorkerMetrics } from './worker-metrics.ts';
export type { WorkerMetricsSnapshot } from './worker-metrics.ts';
