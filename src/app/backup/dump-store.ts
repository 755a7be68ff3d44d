// Writes every row of a store as lines, out of one transaction that sees one moment.
import type { Transaction } from '../../platform/postgres/index.ts';
import { identifier, joinSql, rawSql, sql } from '../../platform/postgres/index.ts';
import { readHistory } from '../../platform/postgres/migrate.ts';
import { version } from '../version.ts';
import type { LineSink, SequenceLine } from './archive.ts';
import { archiveFormat, controlLine, RowSum } from './archive.ts';
import type { StoreTable } from './store-tables.ts';
import { jobsVersion, lineOf, storeTables, tableOf } from './store-tables.ts';

/** So much text comes out of the store at once, if rows are no larger each. */
const batchBytes = 4 * 1024 * 1024;
const mostRowsAtOnce = 2_000;
/** Postgres packs long values; unpacked and written as text they are larger by a few times. */
const unpackedFactor = 4;

export interface DumpParts {
  readonly transaction: Transaction;
  readonly schema: string;
  readonly store: 'embedded' | 'server';
  readonly postgres: string;
  readonly createdAt: Date;
  readonly write: LineSink;
}

interface Measured extends StoreTable {
  readonly rows: number;
  readonly widest: number;
}

/** What was written: for the end of the archive. Fails as the store and the sink do. */
export async function dumpStore(
  parts: DumpParts,
): Promise<{ readonly tables: number; readonly rows: number }> {
  const { transaction, schema, write } = parts;
  // A large table takes longer to count than a request may.
  await transaction.script('set local statement_timeout = 0');
  const tables: Measured[] = [];
  for (const table of await storeTables(transaction, schema))
    tables.push({ ...table, ...(await measure(transaction, table)) });
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  await write(
    controlLine({
      headworks: 'backup',
      format: archiveFormat,
      version,
      createdAt: parts.createdAt.toISOString(),
      store: parts.store,
      postgres: parts.postgres,
      migrations: await readHistory(transaction, schema),
      jobsVersion: await jobsVersion(transaction, schema),
      tables: tables.length,
      rows,
    }),
  );
  for (const table of tables) await dumpTable(transaction, table, write);
  for (const line of await sequences(transaction, schema)) await write(controlLine(line));
  return { tables: tables.length, rows };
}

/** How many rows, and how long the longest is inside the store: sizes of columns are known without reading them. */
async function measure(
  transaction: Transaction,
  table: StoreTable,
): Promise<{ readonly rows: number; readonly widest: number }> {
  const sizes = table.columns.map(({ name }) => sql`coalesce(pg_column_size(${identifier(name)}), 0)`);
  const { rows } = await transaction.query<{ rows: number; widest: number }>(sql`
    select count(*) as rows, coalesce(max(${joinSql(sizes, sql` + `)}), 0) as widest from ${tableOf(table)}`);
  return rows[0] ?? { rows: 0, widest: 0 };
}

async function dumpTable(transaction: Transaction, table: Measured, write: LineSink): Promise<void> {
  const { place, name, columns } = table;
  const names = columns.map((column) => column.name);
  await write(controlLine({ headworks: 'table', place, name, columns: names, rows: table.rows }));
  const atOnce = Math.floor(batchBytes / (table.widest * unpackedFactor + 1));
  const fetch = rawSql(`fetch ${Math.min(mostRowsAtOnce, Math.max(1, atOnce))} from backup_rows`);
  await transaction.query(
    sql`declare backup_rows no scroll cursor for select ${lineOf(columns)} as line from ${tableOf(table)} t`,
  );
  const sum = new RowSum();
  for (;;) {
    const { rows } = await transaction.query<{ line: string }>(fetch);
    if (rows.length === 0) break;
    for (const { line } of rows) {
      sum.add(line);
      await write(line);
    }
  }
  await transaction.script('close backup_rows');
  await write(controlLine({ headworks: 'table-end', rows: sum.rows, sum: sum.sum }));
}

async function sequences(transaction: Transaction, schema: string): Promise<readonly SequenceLine[]> {
  const { rows } = await transaction.query<{ table: string; column: string; sequence: string }>(sql`
    select c.relname::text as table, a.attname::text as column,
           pg_get_serial_sequence(format('%I.%I', n.nspname, c.relname), a.attname) as sequence
    from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${schema} and a.attidentity <> '' order by 1, 2`);
  const lines: SequenceLine[] = [];
  for (const { table, column, sequence } of rows) {
    // The name came quoted from Postgres, which is why it can stand in a statement.
    const { rows: found } = await transaction.query<{ last: string; isCalled: boolean }>(
      rawSql(`select last_value::text as last, is_called as "isCalled" from ${sequence}`),
    );
    const [state] = found;
    if (state) lines.push({ headworks: 'sequence', table, column, ...state });
  }
  return lines;
}
