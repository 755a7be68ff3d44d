// Queries of the review: pairs, and details of each side.
import type { Query } from '../queries.ts';

/** Page size; more pairs are loaded when these are decided. */
export const mostPairs = 100;

/** Events shown for each side. */
export const fewEvents = 3;

/** The entity with its mentions, and its latest events. */
export const passagesOf = (id: string): readonly { readonly path: string; readonly query: Query }[] => [
  { path: `/entities/${id}`, query: {} },
  eventsOf(id),
];

export const eventsOf = (id: string): { readonly path: string; readonly query: Query } => ({
  path: '/events',
  query: { entity_id: id, limit: fewEvents },
});
