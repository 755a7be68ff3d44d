// Registered sources and runs: when extractions happen, and what became of them.
export { runEvents } from './events.ts';
export type { RunEvents } from './events.ts';
export { MemoryRunStore, MemorySourceStore } from './memory-stores.ts';
export type * from './ports.ts';
export { RunDesk } from './run-desk.ts';
export type { RunDeskParts, RunReport } from './run-desk.ts';
export { extractionRunHandler } from './run-handler.ts';
export type { ExtractSource, RunHandlerParts } from './run-handler.ts';
export { extractionRunJob } from './run-job.ts';
export { figuresOf, itemsOf as itemsOfRun, noFigures, totalOf as totalOfRun } from './run-record.ts';
export { SourceDesk } from './source-desk.ts';
export type { SourceDeskParts } from './source-desk.ts';
export { effectiveOptions, optionProblems } from './source-options.ts';
export type { SourceOptions } from './source-options.ts';
export { inputOf, sourceChange, sourceInput } from './source-schema.ts';
export type { SourceChange, SourceInput } from './source-schema.ts';
