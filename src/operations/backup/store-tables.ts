// The tables of a store, and how a row is written as text.
import type { Queryable, Sql, Transaction } from '../../platform/postgres/index.ts';
import { identifier, joinSql, rawSql, sql } from '../../platform/postgres/index.ts';
import { jobsSchemaOf } from '../../platform/postgres/missing-rights.ts';
import type { TableScope } from './archive.ts';

export interface StoreColumn {
  readonly name: string;
  /** As in a column definition. */
  readonly type: string;
}

export interface StoreTable {
  readonly scope: TableScope;
  readonly schema: string;
  readonly name: string;
  readonly columns: readonly StoreColumn[];
}

/** The migration history is in the header; pg-boss maintains its version and statistics itself. */
const excluded: Readonly<Record<TableScope, readonly string[]>> = {
  state: ['schema_migrations'],
  jobs: ['version', 'bam', 'warning', 'queue_stats'],
};

export const schemaOf = (scope: TableScope, schema: string): string =>
  scope === 'state' ? schema : jobsSchemaOf(schema);

export const tableOf = ({ schema, name }: Pick<StoreTable, 'schema' | 'name'>): Sql =>
  sql`${identifier(schema)}.${identifier(name)}`;

/** Partitions belong to their table. Generated columns are not listed. */
export async function storeTables(queryable: Queryable, schema: string): Promise<readonly StoreTable[]> {
  const tables: StoreTable[] = [];
  for (const scope of ['state', 'jobs'] as const) {
    const { rows } = await queryable.query<{ name: string; columns: StoreColumn[] }>(sql`
      select c.relname::text as name,
             json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod))
               order by a.attnum) as columns
      from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
      where n.nspname = ${schemaOf(scope, schema)} and c.relkind in ('r', 'p') and not c.relispartition
        and c.relname <> all(${excluded[scope]}::text[])
      group by c.relname order by c.relname`);
    tables.push(...rows.map((row) => ({ scope, schema: schemaOf(scope, schema), ...row })));
  }
  return tables;
}

/** The name of a table with rows, or null. Queues do not count: every start creates them. */
export async function tableWithRows(queryable: Queryable, schema: string): Promise<string | null> {
  for (const table of await storeTables(queryable, schema)) {
    if (table.scope === 'jobs' && table.name !== 'job') continue;
    const { rows } = await queryable.query(sql`select from ${tableOf(table)} limit 1`);
    if (rows.length > 0) return table.name;
  }
  return null;
}

/**
 * JSON columns are written as text. Inside the row's JSON, their null would be the same as no value, and a column
 * of type json may hold what Postgres stores but does not decode (`\u0000`).
 */
export const isWrittenAsText = ({ type }: StoreColumn): boolean => type === 'json' || type === 'jsonb';

/**
 * The row `t` as one line of JSON. Postgres writes and reads the values as text, so microseconds, large numbers and
 * floats keep their precision.
 */
export function lineOf(columns: readonly StoreColumn[]): Sql {
  const row = columns.map((column) => {
    const name = identifier(column.name);
    return isWrittenAsText(column) ? sql`t.${name}::text as ${name}` : sql`t.${name}`;
  });
  return sql`(select row_to_json(r) from (select ${joinSql(row, sql`, `)}) r)::text`;
}

/** The number of rows of a table, and their `RowSum`. */
export async function tableSum(
  queryable: Queryable,
  table: StoreTable,
  columns: readonly StoreColumn[],
): Promise<{ readonly rows: number; readonly sum: string }> {
  const { rows } = await queryable.query<{ rows: number; sum: string }>(sql`
    select count(*) as rows, coalesce(sum(
      ('x' || left(encode(sha256(convert_to(${lineOf(columns)}, 'UTF8')), 'hex'), 15))::bit(60)::bigint), 0)::text as sum
    from ${tableOf(table)} t`);
  return rows[0] ?? { rows: 0, sum: '0' };
}

/** Schema version of pg-boss; null when it has no tables. */
export async function jobsVersion(queryable: Queryable, schema: string): Promise<number | null> {
  const jobs = jobsSchemaOf(schema);
  const { rows } = await queryable.query<{ exists: boolean }>(
    sql`select to_regclass(format('%I.version', ${jobs}::text)) is not null as exists`,
  );
  if (!rows[0]?.exists) return null;
  const found = await queryable.query<{ version: number }>(
    sql`select version from ${identifier(jobs)}.version limit 1`,
  );
  return found.rows[0]?.version ?? null;
}

/**
 * Drops everything in the schemas but keeps them: the role may own their content without the right to create schemas.
 * Partitions, indexes and sequences of columns are dropped with their table.
 */
export async function emptySchemas(transaction: Transaction, schemas: readonly string[]): Promise<void> {
  const { rows } = await transaction.query<{ statement: string }>(sql`
    with scope as (select oid, nspname from pg_namespace where nspname = any(${schemas}::text[]))
    select statement from (
      select 1 as step, format('drop %s if exists %I.%I cascade',
               case c.relkind when 'v' then 'view' when 'm' then 'materialized view' else 'table' end,
               scope.nspname, c.relname) as statement
      from pg_class c join scope on scope.oid = c.relnamespace
      where c.relkind in ('r', 'p', 'v', 'm') and not c.relispartition
      union all
      select 2, format('drop %s if exists %s cascade', case p.prokind when 'p' then 'procedure' else 'function' end,
               p.oid::regprocedure)
      from pg_proc p join scope on scope.oid = p.pronamespace
      union all
      select 3, format('drop type if exists %I.%I cascade', scope.nspname, t.typname)
      from pg_type t join scope on scope.oid = t.typnamespace where t.typtype in ('e', 'd')
    ) as statements order by step`);
  // Postgres quoted the names. A view may have been dropped with its table.
  for (const { statement } of rows) await transaction.query(rawSql(statement));
}
