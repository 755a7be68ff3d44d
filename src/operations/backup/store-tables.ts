// Which tables a store has, and how a row of them looks as text.
import type { Queryable, Sql, Transaction } from '../../platform/postgres/index.ts';
import { identifier, joinSql, rawSql, sql } from '../../platform/postgres/index.ts';
import { jobsSchemaOf } from '../../platform/postgres/missing-rights.ts';
import type { TablePlace } from './archive.ts';

export interface StoreColumn {
  readonly name: string;
  /** As Postgres writes it in a definition. */
  readonly type: string;
}

export interface StoreTable {
  readonly place: TablePlace;
  readonly schema: string;
  readonly name: string;
  readonly columns: readonly StoreColumn[];
}

/** Our list of migrations is in the header. Of pg-boss's tables, its version and its statistics are its own affair. */
const leftOut: Readonly<Record<TablePlace, readonly string[]>> = {
  state: ['schema_migrations'],
  jobs: ['version', 'bam', 'warning', 'queue_stats'],
};

export const schemaOf = (place: TablePlace, schema: string): string =>
  place === 'state' ? schema : jobsSchemaOf(schema);

export const tableOf = ({ schema, name }: Pick<StoreTable, 'schema' | 'name'>): Sql =>
  sql`${identifier(schema)}.${identifier(name)}`;

/** Partitions go with the table that they are part of. Columns that Postgres computes are not listed. */
export async function storeTables(queryable: Queryable, schema: string): Promise<readonly StoreTable[]> {
  const tables: StoreTable[] = [];
  for (const place of ['state', 'jobs'] as const) {
    const { rows } = await queryable.query<{ name: string; columns: StoreColumn[] }>(sql`
      select c.relname::text as name,
             json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod))
               order by a.attnum) as columns
      from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
      where n.nspname = ${schemaOf(place, schema)} and c.relkind in ('r', 'p') and not c.relispartition
        and c.relname <> all(${leftOut[place]}::text[])
      group by c.relname order by c.relname`);
    tables.push(...rows.map((row) => ({ place, schema: schemaOf(place, schema), ...row })));
  }
  return tables;
}

/** One that has a row; null when none has. Kinds of job are made by every start, and are no content. */
export async function tableWithRows(queryable: Queryable, schema: string): Promise<string | null> {
  for (const table of await storeTables(queryable, schema)) {
    if (table.place === 'jobs' && table.name !== 'job') continue;
    const { rows } = await queryable.query(sql`select from ${tableOf(table)} limit 1`);
    if (rows.length > 0) return table.name;
  }
  return null;
}

/**
 * JSON travels as a text in its own right. Inside the row's JSON its null could not be told from no value, and a column
 * of type json could not be read again where it holds what Postgres keeps but does not decode (`\u0000`).
 */
export const travelsAsText = ({ type }: StoreColumn): boolean => type === 'json' || type === 'jsonb';

/**
 * One row, `t`, as one line of JSON. Values are text that Postgres made and Postgres reads again: microseconds, large
 * numbers and floats arrive as they were.
 */
export function lineOf(columns: readonly StoreColumn[]): Sql {
  const row = columns.map((column) => {
    const name = identifier(column.name);
    return travelsAsText(column) ? sql`t.${name}::text as ${name}` : sql`t.${name}`;
  });
  return sql`(select row_to_json(r) from (select ${joinSql(row, sql`, `)}) r)::text`;
}

/** Rows of a table, and what `RowSum` makes of them. */
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

/** Of pg-boss; null when its tables are not there. */
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

/** In the order in which they can go; a partition goes with its table, an index and a sequence of a column likewise. */
export async function emptySchemas(transaction: Transaction, schemas: readonly string[]): Promise<void> {
  const { rows } = await transaction.query<{ statement: string }>(sql`
    with place as (select oid, nspname from pg_namespace where nspname = any(${schemas}::text[]))
    select statement from (
      select 1 as turn, format('drop %s if exists %I.%I cascade',
               case c.relkind when 'v' then 'view' when 'm' then 'materialized view' else 'table' end,
               place.nspname, c.relname) as statement
      from pg_class c join place on place.oid = c.relnamespace
      where c.relkind in ('r', 'p', 'v', 'm') and not c.relispartition
      union all
      select 2, format('drop %s if exists %s cascade', case p.prokind when 'p' then 'procedure' else 'function' end,
               p.oid::regprocedure)
      from pg_proc p join place on place.oid = p.pronamespace
      union all
      select 3, format('drop type if exists %I.%I cascade', place.nspname, t.typname)
      from pg_type t join place on place.oid = t.typnamespace where t.typtype in ('e', 'd')
    ) as all_of_them order by turn`);
  // Postgres quoted the names itself. A view may have gone with its table.
  for (const { statement } of rows) await transaction.query(rawSql(statement));
}
