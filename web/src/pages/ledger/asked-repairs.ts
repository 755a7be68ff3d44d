// Repairs that were asked for in this window: of those, a person wants to know even that there was nothing to do.

/** Ids of jobs. */
export const askedRepairs = new Set<string>();
