// Postgres on a server.
export { openServerDatabase, type ServerDatabaseOptions } from './open-server-database.ts';
export { takeSessionLock, type SessionLock, type SessionLockState } from './session-lock.ts';
