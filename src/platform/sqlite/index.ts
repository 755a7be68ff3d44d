// SQLite files: open, migrate, write safely from several threads.
export { SqliteError, sqliteError } from './errors.ts';
export { immediate } from './immediate.ts';
export { isCurrent } from './migrations.ts';
export type { SqliteMigration } from './migrations.ts';
export { openSqlite } from './open-sqlite.ts';
export type { OpenSqliteOptions } from './open-sqlite.ts';
