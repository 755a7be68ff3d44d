// Registered sources and their runs.
export { runEvents } from './events.ts';
export type { RunEvents } from './events.ts';
export type * from './stores.ts';
export type { ExtractionSource, SourceDraft, SourceSettings } from './source-schema.ts';
export { RunService } from './run-service.ts';
export type { RunServiceDeps, RunReport } from './run-service.ts';
export { extractionRunHandler } from './run-job.ts';
export type { ExtractSource, RunHandlerDeps } from './run-job.ts';
export { extractionRunJob } from './run-job.ts';
export { figuresOf, itemsOf as itemsOfRun, noFigures, totalOf as totalOfRun } from './run-record.ts';
export { SourceService } from './source-service.ts';
export type { SourceServiceDeps } from './source-service.ts';
export { effectiveOptions, optionProblems } from './source-schema.ts';
export type { SourceOptions } from './source-schema.ts';
export { inputOf, sourceChange, sourceInput } from './source-schema.ts';
export type { SourceChange, SourceInput } from './source-schema.ts';
