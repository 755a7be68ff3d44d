// SQLite files: open, migrate, write safely from several threads.
export { SqliteError, sqliteError } from './errors.ts';
export { immediate } from './open-sqlite.ts';
export { isCurrent } from './open-sqlite.ts';
export type { SqliteMigration } from './open-sqlite.ts';
export { openSqlite } from './open-sqlite.ts';
export type { OpenSqliteOptions } from './open-sqlite.ts';
