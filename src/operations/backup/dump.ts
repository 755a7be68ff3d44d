// Writes every row of a store, and the files of the data folder, as lines of an archive.
import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { backup } from 'node:sqlite';
import { version } from '../../config/version.ts';
import { systemClock } from '../../core/index.ts';
import type { Database, Transaction } from '../../platform/postgres/index.ts';
import { identifier, joinSql, rawSql, readHistory, sql } from '../../platform/postgres/index.ts';
import { vaultsFolder } from '../../platform/data-folder/files.ts';
import { openSqlite, sqliteError } from '../../platform/sqlite/open-sqlite.ts';
import type { FileKind, LineSink, SequenceLine } from './archive.ts';
import { RowSum, archiveFormat, controlLine } from './archive.ts';
import type { StoreTable } from './store-tables.ts';
import { jobsVersion, lineOf, storeTables, tableOf } from './store-tables.ts';

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
