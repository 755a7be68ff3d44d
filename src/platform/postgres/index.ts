// PostgreSQL, embedded or server. The drivers are imported by their files (embedded/, server/), so that a process loads only
// the one it uses.
export type * from './ports.ts';
export { hasSqlState, identifier, joinSql, json, rawSql, sql, Sql } from './sql.ts';
export * from './migrate.ts';
