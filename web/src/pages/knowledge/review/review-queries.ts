// What is read for the review: pairs, and of each side of a pair.
import type { Query } from '../ask.ts';

/** Pairs that are read at once; more come when these are answered. */
export const mostPairs = 100;

/** Events that are shown of each. */
export const fewEvents = 3;

/** The entity with its mentions, and the last events it took part in. */
export const passagesOf = (id: string): readonly { readonly path: string; readonly query: Query }[] => [
  { path: `/entities/${id}`, query: {} },
  eventsOf(id),
];

export const eventsOf = (id: string): { readonly path: string; readonly query: Query } => ({
  path: '/events',
  query: { entity_id: id, limit: fewEvents },
});
