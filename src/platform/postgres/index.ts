// Postgres, whoever runs it. The adapters have doors of their own (embedded/, server/), so that a process loads
// only the one it uses.
export type * from './ports.ts';
export { hasSqlState, SqlError } from './sql-error.ts';
export { identifier, joinSql, json, rawSql, sql, Sql, type RawSql } from './sql.ts';
export * from './migrate.ts';
