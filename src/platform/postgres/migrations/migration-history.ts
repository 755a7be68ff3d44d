// Which migrations a store has seen, and whether that fits the ones we know.
import { hasSchema } from '../missing-rights.ts';
import type { Queryable } from '../ports.ts';
import { identifier, sql, type Sql } from '../sql.ts';
import type { Migration } from './load-migrations.ts';
import { changedAfterwards, historyIncomplete, writtenByNewer } from './migration-errors.ts';

export interface AppliedMigration {
  readonly number: number;
  readonly name: string;
  readonly checksum: string;
}

export const table = (schema: string): Sql => sql`${identifier(schema)}.schema_migrations`;

/** What was applied, in order; nothing if the store is new. */
export async function readHistory(database: Queryable, schema: string): Promise<readonly AppliedMigration[]> {
  const { rows } = await database.query<{ exists: boolean }>(sql`
    select exists(select 1 from pg_tables where schemaname = ${schema} and tablename = 'schema_migrations')`);
  if (!rows[0]?.exists) return [];
  const history = await database.query<AppliedMigration>(
    sql`select number, name, checksum from ${table(schema)} order by number`,
  );
  return history.rows;
}

/** Fails with STATE_UNUSABLE if the store knows more than we do, lacks one in between, or has another under its number. */
export function checkHistory(history: readonly AppliedMigration[], known: readonly Migration[]): void {
  const newest = history.at(-1);
  if (newest && newest.number > known.length) throw writtenByNewer(newest.number, known.length);
  for (const [index, applied] of history.entries()) {
    const ours = known[index];
    if (ours && ours.number !== applied.number) throw historyIncomplete(ours);
    if (!ours || ours.checksum !== applied.checksum) throw changedAfterwards(applied);
  }
}

/** IF NOT EXISTS alone would ask for the right to create even where an administrator made the schema for us. */
export async function ensureSchema(database: Queryable, schema: string): Promise<void> {
  if (!(await hasSchema(database, schema))) await database.query(sql`create schema ${identifier(schema)}`);
}

export async function ensureTable(database: Queryable, schema: string): Promise<void> {
  await database.query(sql`
    create table if not exists ${table(schema)} (
      number int primary key,
      name text not null,
      checksum text not null,
      applied_at timestamptz not null
    )`);
}
