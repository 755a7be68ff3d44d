// Takes everything out of schemas, which stay: the role may own what is in them without being allowed to make them.
import type { Transaction } from '../../platform/postgres/index.ts';
import { rawSql, sql } from '../../platform/postgres/index.ts';

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
