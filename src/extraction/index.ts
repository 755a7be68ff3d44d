// Extraction: everything out of a source with a rate limit, into a vault.
export * from './errors.ts';
export * from './events.ts';
export { estimateExtraction, extract, openExtraction } from './open-extraction.ts';
export type { Extraction, ExtractionSummary, ExtractOptions } from './open-extraction.ts';
export { parallelConfig } from './parallel-config.ts';
export type { ParallelConfig } from './parallel-config.ts';
export type { Estimate } from './pipeline/estimate.ts';
export { runExtraction } from './pipeline/run-session.ts';
export type { ExtractionResult, ExtractionSpec } from './pipeline/run-session.ts';
export { WorkerPool } from './pipeline/worker-pool.ts';
export type { PageProcessor } from './pipeline/worker-pool.ts';
export { extractionRunHandler, extractionRunJob } from './runs/run-job.ts';
export type { ExtractSource } from './runs/run-job.ts';
export {
  figuresOf,
  itemsOf as itemsOfRun,
  noFigures,
  runEvents,
  totalOf as totalOfRun,
} from './runs/run-record.ts';
export type { RunEvents } from './runs/run-record.ts';
export { RunService } from './runs/run-service.ts';
export type { RunReport } from './runs/run-service.ts';
export { inputOf, sourceInput } from './runs/source-schema.ts';
export type { ExtractionSource, SourceChange, SourceInput } from './runs/source-schema.ts';
export { SourceService } from './runs/source-service.ts';
export type { ExtractionRun, RunFigures } from './runs/stores.ts';
export type { SourceChoice } from './sources/resolve-source.ts';
export { loadDescription } from './sources/description/load.ts';
export { createHttpSource } from './sources/http-source.ts';
export { lookerContentTypes } from './sources/looker/description.ts';
export * from './types.ts';
export type { ItemRecord, VersionRecord } from './vault/reader.ts';
export type { VaultService } from './vault/vault-service.ts';
