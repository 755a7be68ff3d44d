// Knowledge: documents in, evidence out: events, entities, graph and search.
export * from './artifacts/types.ts';
export type * from './entities/types.ts';
export * from './errors.ts';
export type { StoredEvent } from './events/event-store.ts';
export type { FolderResult, KnowledgeFolder } from './folders/folder-store.ts';
export type { GraphService } from './graph/graph-service.ts';
export * from './graph/graph.ts';
export type { Knowledge, KnowledgeServices } from './open-knowledge.ts';
export { openKnowledge } from './open-knowledge.ts';
export * from './reading/types.ts';
export * from './search/types.ts';
export type { Space, Spaces } from './spaces/spaces.ts';
