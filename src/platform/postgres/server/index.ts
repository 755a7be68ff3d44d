// Postgres on a server.
export { openServerDatabase, type ServerDatabaseOptions } from './server-store.ts';
export { takeSessionLock, type SessionLock, type SessionLockState } from './session-lock.ts';
