// Extraction: reads everything from a source with a rate limit into a vault.
export * from './errors.ts';
export * from './events.ts';
export { estimateExtraction, extract, openExtraction } from './open-extraction.ts';
export type { Extraction, ExtractionSummary, ExtractOptions } from './open-extraction.ts';
export type { Estimate } from './pipeline/estimate.ts';
export { RunService } from './runs/run-service.ts';
export { inputOf } from './vocabulary.ts';
export type { ExtractionSource, SourceChange, SourceInput } from './vocabulary.ts';
export { SourceService } from './runs/source-service.ts';
export { figuresOf, itemsOf as itemsOfRun, noFigures, totalOf as totalOfRun } from './runs/stores.ts';
export type { ExtractionRun, RunFigures } from './runs/stores.ts';
export type { SourceChoice } from './sources/resolve-source.ts';
export * from './types.ts';
export type { ItemRecord, VersionRecord } from './vault/reader.ts';
export type { VaultService } from './vault/vault-service.ts';
