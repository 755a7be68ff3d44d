// What can go wrong with knowledge, each with its consequence.
import type { ErrorCodes } from '../core/index.ts';
import { HeadworksError } from '../core/index.ts';

export const knowledgeErrorCodes = {
  KNOWLEDGE_LANGUAGE_UNKNOWN: {
    category: 'invalid_input',
    consequence: 'Postgres has no such text search configuration; the space was not made.',
  },
  KNOWLEDGE_DOCUMENT_UNREADABLE: {
    category: 'unprocessable',
    consequence: 'The document could not be read; nothing was taken in.',
  },
  KNOWLEDGE_EMBEDDING_FAILED: {
    category: 'temporary',
    consequence: 'No vectors could be made; search goes on without, entities are made without and flagged.',
  },
  KNOWLEDGE_READING_FAILED: {
    category: 'temporary',
    consequence: 'A model did not read the chunk; rules read it, and it is read again later.',
  },
  KNOWLEDGE_CONFIRMATION_FAILED: {
    category: 'temporary',
    consequence:
      'A model could not say whether two names mean the same; they are kept apart, and it is asked again later.',
  },
  KNOWLEDGE_GRAPH_UNAVAILABLE: {
    category: 'temporary',
    consequence: 'The graph cannot be used now; what would be written to it waits.',
  },
  KNOWLEDGE_MERGE_IMPOSSIBLE: {
    category: 'conflict',
    consequence: 'These entities cannot be merged or parted; nothing was changed.',
  },
} as const satisfies ErrorCodes;

export type KnowledgeErrorCode = keyof typeof knowledgeErrorCodes;

export class KnowledgeError extends HeadworksError<KnowledgeErrorCode> {}
