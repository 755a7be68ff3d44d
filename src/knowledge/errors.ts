// Error codes of knowledge, each with its consequence.
import type { ErrorCodes } from '../core/index.ts';
import { HeadworksError } from '../core/index.ts';

export const knowledgeErrorCodes = {
  KNOWLEDGE_LANGUAGE_UNKNOWN: {
    category: 'invalid_input',
    consequence: 'Postgres has no such text search configuration; the space was not created.',
  },
  KNOWLEDGE_DOCUMENT_UNREADABLE: {
    category: 'unprocessable',
    consequence: 'The document could not be parsed; nothing was ingested.',
  },
  KNOWLEDGE_EMBEDDING_FAILED: {
    category: 'temporary',
    consequence:
      'No vectors could be created; search continues without them, and new entities are flagged for review.',
  },
  KNOWLEDGE_READING_FAILED: {
    category: 'temporary',
    consequence: 'The model call failed; rules read the chunk, and a repair reads it again.',
  },
  KNOWLEDGE_CONFIRMATION_FAILED: {
    category: 'temporary',
    consequence:
      'No model confirmed whether two names are the same entity; they stay separate, and a repair tries again.',
  },
  KNOWLEDGE_GRAPH_UNAVAILABLE: {
    category: 'temporary',
    consequence: 'The graph is unavailable; writes to it are repaired later.',
  },
  KNOWLEDGE_MERGE_IMPOSSIBLE: {
    category: 'conflict',
    consequence: 'These entities cannot be merged or split; nothing was changed.',
  },
} as const satisfies ErrorCodes;

export type KnowledgeErrorCode = keyof typeof knowledgeErrorCodes;

export class KnowledgeError extends HeadworksError<KnowledgeErrorCode> {}
