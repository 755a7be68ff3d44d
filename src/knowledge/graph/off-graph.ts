// GRAPH_BACKEND=off: a capability that is not wanted. Nothing is written, nothing is expanded, nothing is recorded.
import { KnowledgeError } from '../errors.ts';
import type { Graph } from '../ports.ts';

export const offGraph: Graph = {
  backend: 'off',
  isApart: false,
  availability: async () => ({ state: 'off' }),
  isEmpty: async () => false,
  missing: async () => 0,
  upsert: async () => [],
  remove: async () => undefined,
  prune: async () => undefined,
  expand: () => Promise.reject(graphIsOff()),
  rebuild: () => Promise.reject(graphIsOff()),
};

function graphIsOff(): KnowledgeError {
  return new KnowledgeError(
    'KNOWLEDGE_GRAPH_UNAVAILABLE',
    'The graph is switched off. Set GRAPH_BACKEND to sql or age and start again.',
  );
}
