// The tables of a store, and every row of them and the files of the data folder as lines of an archive.
import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { backup } from 'node:sqlite';
import { version } from '../../config/version.ts';
import { systemClock } from '../../core/index.ts';
import type { Database, Transaction, Queryable, Sql } from '../../platform/postgres/index.ts';
import { identifier, joinSql, rawSql, readHistory, sql } from '../../platform/postgres/index.ts';
import { vaultsFolder } from '../../platform/data-folder/files.ts';
import { openSqlite, sqliteError } from '../../platform/sqlite/open-sqlite.ts';
import type { FileKind, LineSink, SequenceLine, TableScope } from './archive.ts';
import { RowSum, archiveFormat, controlLine } from './archive.ts';
import { jobsSchemaOf } from '../../platform/postgres/migrate.ts';

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

/**
 * The migration history is in the header; pg-boss maintains its version and statistics itself; reports of servers that are
 * running are not data.
 */
const excluded: Readonly<Record<TableScope, readonly string[]>> = {
  state: ['schema_migrations', 'admission_servers'],
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

/** Text fetched at once, unless a single row is larger. */
const batchBytes = 4 * 1024 * 1024;
const maxRowsPerFetch = 2_000;
/** Postgres compresses long values; as text they are a few times larger. */
const textFactor = 4;

export interface DumpDeps {
  readonly transaction: Transaction;
  readonly schema: string;
  readonly store: 'embedded' | 'server';
  readonly postgres: string;
  readonly createdAt: Date;
  readonly write: LineSink;
}

interface MeasuredTable extends StoreTable {
  readonly rows: number;
  readonly widest: number;
}

/** Returns what was written, for the end line. Fails as the store and the sink do. */
export async function dumpStore(
  parts: DumpDeps,
): Promise<{ readonly tables: number; readonly rows: number }> {
  const { transaction, schema, write } = parts;
  // Counting a large table takes longer than the statement timeout of requests.
  await transaction.script('set local statement_timeout = 0');
  const tables: MeasuredTable[] = [];
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

/** The number of rows and the stored size of the largest: Postgres stores column sizes, so values are not read. */
async function measure(
  transaction: Transaction,
  table: StoreTable,
): Promise<{ readonly rows: number; readonly widest: number }> {
  const sizes = table.columns.map(({ name }) => sql`coalesce(pg_column_size(${identifier(name)}), 0)`);
  const { rows } = await transaction.query<{ rows: number; widest: number }>(sql`
    select count(*) as rows, coalesce(max(${joinSql(sizes, sql` + `)}), 0) as widest from ${tableOf(table)}`);
  return rows[0] ?? { rows: 0, widest: 0 };
}

async function dumpTable(transaction: Transaction, table: MeasuredTable, write: LineSink): Promise<void> {
  const { scope, name, columns } = table;
  const names = columns.map((column) => column.name);
  await write(controlLine({ headworks: 'table', scope, name, columns: names, rows: table.rows }));
  const fitting = Math.floor(batchBytes / (table.widest * textFactor + 1));
  const fetch = rawSql(`fetch ${Math.min(maxRowsPerFetch, Math.max(1, fitting))} from backup_rows`);
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
    // Postgres returned the name quoted, so it is safe in a statement.
    const { rows: found } = await transaction.query<{ last: string; isCalled: boolean }>(
      rawSql(`select last_value::text as last, is_called as "isCalled" from ${sequence}`),
    );
    const [state] = found;
    if (state) lines.push({ headworks: 'sequence', table, column, ...state });
  }
  return lines;
}

export interface SnapshotDeps {
  readonly database: Database;
  /** The files of the embedded store. */
  readonly storeFolder: string;
  /** For files of this backup; removed by its creator. */
  readonly scratch: string;
  readonly signal: AbortSignal;
}

/** A backup is as slow as its reader; a stalled one must not hold its snapshot forever. */
const maxSnapshotMs = 6 * 3_600_000;
/** One statement over a whole table, in a copy that nothing else waits for. */
const stuckAfterMs = 3_600_000;

/** Runs `work` on a consistent snapshot. Requests wait only while the files of an embedded store are copied. */
export async function withSnapshot<T>(
  parts: SnapshotDeps,
  work: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  const { database, storeFolder, scratch, signal } = parts;
  if (database.capabilities.kind === 'server') return inSnapshot(database, work, signal);
  const folder = join(scratch, 'state');
  await database.transaction(
    async (transaction) => {
      await transaction.script('checkpoint');
      await cp(storeFolder, folder, { recursive: true, mode: constants.COPYFILE_FICLONE });
    },
    { leaseMs: maxSnapshotMs, signal },
  );
  const { openEmbeddedDatabase } = await import('../../platform/postgres/embedded/embedded-store.ts');
  const copy = await openEmbeddedDatabase({
    folder,
    schema: database.schema,
    clock: systemClock,
    stuckAfterMs,
  });
  try {
    return await inSnapshot(copy, work, signal);
  } finally {
    await copy.close();
  }
}

/** Runs `work` in a read-only transaction that sees the store as it was at the start. */
export function inSnapshot<T>(
  database: Database,
  work: (transaction: Transaction) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  return database.transaction(
    async (transaction) => {
      await transaction.script('set transaction isolation level repeatable read, read only');
      return work(transaction);
    },
    { leaseMs: maxSnapshotMs, signal },
  );
}

/** Before base64 and compression. */
const pieceBytes = 384 * 1024;

export const isVaultName = (name: string): boolean => /^[^/\\\0]+\.(vault|db)$/.test(name);

/** File names; empty when the folder does not exist. */
export async function vaultNames(dataFolder: string): Promise<readonly string[]> {
  const names = await readdir(vaultsFolder(dataFolder)).catch(() => []);
  return names.filter(isVaultName).toSorted();
}

/** Writes a copy of the vault: an extraction may be writing to the original. */
export async function dumpVault(
  dataFolder: string,
  name: string,
  scratch: string,
  write: LineSink,
): Promise<void> {
  const path = join(vaultsFolder(dataFolder), name);
  const copy = join(scratch, 'vault');
  const db = openSqlite(path, { readOnly: true });
  try {
    await backup(db, copy, { rate: 10_000 });
  } catch (error) {
    throw sqliteError(error, path);
  } finally {
    db.close();
  }
  await dumpFile('vault', name, copy, write);
}

export async function dumpFile(kind: FileKind, name: string, path: string, write: LineSink): Promise<void> {
  await write(controlLine({ headworks: 'file', kind, name }));
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const piece of createReadStream(path, { highWaterMark: pieceBytes }) as AsyncIterable<Buffer>) {
    hash.update(piece);
    bytes += piece.length;
    await write(JSON.stringify(piece.toString('base64')));
  }
  await write(controlLine({ headworks: 'file-end', bytes, sha256: hash.digest('hex') }));
}
