// Sizes of the queries of the review.

/** Page size; more pairs are loaded when these are decided. */
export const maxPairs = 100;

/** Latest events of an entity, shown for each side. */
export const eventsOf = (id: string) => ({ query: { entity_id: id, limit: 3 } });
