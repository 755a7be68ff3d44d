// Knowledge: documents in, evidence out: events, entities, graph and search, each going on when another is away.
export type * from './desk-ports.ts';
export * from './errors.ts';
export * from './ports.ts';
export type { KnowledgeParts, OpenKnowledge } from './open-knowledge.ts';
export { openKnowledge } from './open-knowledge.ts';
export type { GraphStep, Readers, StepParts } from './ingest/step-ports.ts';
export { noGraph } from './ingest/step-ports.ts';
export type { ClosedFolder, FolderFiles, FoundFile } from './folders/folder-ports.ts';
export type { DocumentFile, DocumentReader } from './documents/read-wish.ts';
export type { KnowledgeOptions } from './options.ts';
export { createReaders, estimateReading } from './reading/create-readers.ts';
export { openSearch } from './search/search.ts';
export type { SearchDeps } from './search/search.ts';
export type { GuardedEmbedder } from './vectors/embedder.ts';
export { guardEmbedder } from './vectors/embedder.ts';
export { reembedCron, reembedHandler, reembedJob, reembedKey } from './vectors/embed-again.ts';
export type { KnowledgeAlert } from './maintenance/alerts.ts';
export { blendOf } from './vectors/embedder.ts';
