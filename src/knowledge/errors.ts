// What can go wrong with knowledge, each with its consequence.
import { HeadworksError } from '../core/index.ts';

export const knowledgeErrorCodes = {
  KNOWLEDGE_LANGUAGE_UNKNOWN: 'Postgres has no such text search configuration; the space was not made.',
  KNOWLEDGE_DOCUMENT_UNREADABLE: 'The document could not be read; nothing was taken in.',
  KNOWLEDGE_EMBEDDING_FAILED:
    'No vectors could be made; search goes on without, entities are made without and flagged.',
  KNOWLEDGE_READING_FAILED: 'A model did not read the chunk; rules read it, and it is read again later.',
  KNOWLEDGE_CONFIRMATION_FAILED:
    'A model could not say whether two names mean the same; they are kept apart, and it is asked again later.',
  KNOWLEDGE_GRAPH_UNAVAILABLE: 'The graph cannot be used now; what would be written to it waits.',
  KNOWLEDGE_MERGE_IMPOSSIBLE: 'These entities cannot be merged or parted; nothing was changed.',
} as const;

export type KnowledgeErrorCode = keyof typeof knowledgeErrorCodes;

export class KnowledgeError extends HeadworksError<KnowledgeErrorCode> {}
