// Knowledge: documents in, evidence out: events, entities, graph and search.
export * from './artifacts/types.ts';
export type { DocumentFile, DocumentReader } from './documents/parse-input.ts';
export type { EntityService } from './entities/entity-service.ts';
export type { EntityResolver } from './entities/resolve-mentions.ts';
export type * from './entities/types.ts';
export * from './errors.ts';
export type { EventFilter, EventStore, StoredEvent } from './events/event-store.ts';
export type {
  ClosedFolder,
  FolderFiles,
  FolderRequest,
  FolderResult,
  FoundFile,
  KnowledgeFolder,
} from './folders/folder-store.ts';
export type { GraphService } from './graph/graph-service.ts';
export * from './graph/graph.ts';
export type { KnowledgeAlert } from './maintenance/alerts.ts';
export type { AnswerSchema, LanguageModel } from './models/structured-output.ts';
export type { Knowledge, KnowledgeDeps, KnowledgeServices } from './open-knowledge.ts';
export { openKnowledge } from './open-knowledge.ts';
export type { KnowledgeOptions } from './options.ts';
export type { Reader, Readers, ReadingTask } from './reading/reader.ts';
export * from './reading/types.ts';
export type { Search } from './search/search.ts';
export * from './search/types.ts';
export type { Space, Spaces } from './spaces/spaces.ts';
export type { Blend, Embedder, Embedders, EmbedderState } from './vectors/embedder.ts';
export type { EmbeddingGateway } from './vectors/embedders.ts';
