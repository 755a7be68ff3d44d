// Names of the session locks that servers and workers hold on a schema, so that a restore does not replace rows in use.

/** Held exclusively by a server that counts slots in memory, shared by the others. */
export const serverLockName = (schema: string): string => `headworks.admission.${schema}`;

/** Held shared by every worker. A lock of its own: a server without Redis holds the other one exclusively. */
export const workerLockName = (schema: string): string => `headworks.worker.${schema}`;
