// Postgres, whoever runs it. The adapters have doors of their own (embedded/, server/), so that a process loads
// only the one it uses.
export type * from './ports.ts';
export { hasSqlState, SqlError } from './sql-error.ts';
export { identifier, joinSql, json, rawSql, sql, Sql, type RawSql } from './sql.ts';
export { defineMigration, loadMigrations, type Migration } from './migrations/load-migrations.ts';
export { migrate, migrateWithin, type MigrateOptions } from './migrations/migrate.ts';
