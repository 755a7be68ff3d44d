// Repairs requested in this window: their result is shown even if there was nothing to repair.

/** Job ids. */
export const requestedRepairs = new Set<string>();
