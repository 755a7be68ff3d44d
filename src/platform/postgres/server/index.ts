// Postgres on a server.
export { openServerDatabase, type ServerDatabaseOptions } from './open-server-database.ts';
