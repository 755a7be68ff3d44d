// Loads the rows and files of an archive. Rows are loaded in one transaction: all of them, or none.
import { existsSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { getConstructionPlans } from 'pg-boss';
import { CoreError, systemClock } from '../../core/index.ts';
import { makeFolder, vaultsFolder, webhookSecretPath } from '../../platform/data-folder/files.ts';
import type { Database, Migration, Transaction } from '../../platform/postgres/index.ts';
import { Sql, identifier, isFrom010, joinSql, migrateWithin, sql } from '../../platform/postgres/index.ts';
import { ensureSchema, jobsSchemaOf } from '../../platform/postgres/migrate.ts';
import type { ArchiveHeader, FileStart, SequenceLine, TableEnd, TableStart } from './archive.ts';
import { damaged } from './archive.ts';
import { createScratch } from './disk-space.ts';
import type { StoreColumn, StoreTable } from './dump.ts';
import {
  isVaultName,
  emptySchemas,
  jobsVersion,
  schemaOf,
  storeTables,
  tableOf,
  tableSum,
  isWrittenAsText,
} from './dump.ts';

/** A batch is inserted when it reaches either limit. */
const batchCharacters = 4 * 1024 * 1024;
const batchRows = 2_000;

export interface LoadDeps {
  readonly transaction: Transaction;
  readonly database: Pick<Database, 'schema' | 'capabilities'>;
  /** The migrations of this version. */
  readonly migrations: readonly Migration[];
}

interface TableLoad {
  readonly table: StoreTable;
  /** Columns that both the backup and this version have. */
  readonly columns: readonly StoreColumn[];
  readonly isExact: boolean;
}

interface LoadedTable extends TableLoad {
  readonly end: TableEnd;
}

/** Call `prepare`, then tables with their rows, sequences, `finish`. Every step fails as the store does. */
export class StoreLoader {
  readonly #deps: LoadDeps;
  readonly #loaded: LoadedTable[] = [];
  #tables: ReadonlyMap<string, StoreTable> = new Map();
  #foreignKeys: readonly ForeignKey[] = [];
  #current: TableLoad | null = null;
  #batch: string[] = [];
  #characters = 0;

  constructor(deps: LoadDeps) {
    this.#deps = deps;
  }

  /** Empties both schemas and creates the tables of the backup's version. */
  async prepare(header: ArchiveHeader): Promise<void> {
    const { transaction, database, migrations } = this.#deps;
    const { schema } = database;
    checkMigrations(header, migrations);
    await transaction.script('set local statement_timeout = 0');
    await emptySchemas(transaction, [schema, jobsSchemaOf(schema)]);
    await migrateWithin(transaction, schema, migrations.slice(0, header.migrations.length), systemClock);
    if (header.jobsVersion !== null) await this.#createJobTables(header.jobsVersion);
    const tables = await storeTables(transaction, schema);
    this.#tables = new Map(tables.map((table) => [`${table.scope} ${table.name}`, table]));
    // Rows arrive in the order of table names; foreign keys are checked once, at the end.
    this.#foreignKeys = await foreignKeys(transaction, schema);
    for (const { table, name } of this.#foreignKeys)
      await transaction.query(sql`alter table ${table} drop constraint ${identifier(name)}`);
  }

  table({ scope, name, columns }: TableStart): void {
    const table = this.#tables.get(`${scope} ${name}`);
    const known = table?.columns.filter((column) => columns.includes(column.name)) ?? [];
    // Another version of pg-boss may have other columns; our own must match the migrations.
    const isExact = known.length === columns.length && known.length === table?.columns.length;
    if (!table || (scope === 'state' && !isExact))
      throw new CoreError(
        'INPUT_INVALID',
        `The backup's table ${name} does not match its migrations: the schema of the original store was changed by hand.`,
      );
    this.#current = { table, columns: known, isExact };
  }

  async row(line: string): Promise<void> {
    this.#batch.push(line);
    this.#characters += line.length;
    if (this.#characters >= batchCharacters || this.#batch.length >= batchRows) await this.#flush();
  }

  async tableEnd(end: TableEnd): Promise<void> {
    await this.#flush();
    if (this.#current) this.#loaded.push({ ...this.#current, end });
    this.#current = null;
  }

  async sequence({ table, column, last, isCalled }: SequenceLine): Promise<void> {
    const { transaction, database } = this.#deps;
    await transaction.query(sql`
      select setval(pg_get_serial_sequence(format('%I.%I', ${database.schema}::text, ${table}::text), ${column}),
        ${last}::bigint, ${isCalled})`);
  }

  /** Compares every table with the backup, then applies the migrations of this version. */
  async finish(): Promise<void> {
    const { transaction, database, migrations } = this.#deps;
    for (const { table, columns, isExact, end } of this.#loaded) {
      const found = await tableSum(transaction, table, columns);
      if (found.rows !== end.rows || (isExact && found.sum !== end.sum))
        throw new CoreError(
          'INTERNAL',
          `The loaded table ${table.name} differs from the backup (${found.rows} of ${end.rows} rows). Nothing was kept.`,
        );
    }
    for (const { table, name, definition } of this.#foreignKeys)
      // The definition comes from Postgres itself.
      await transaction.query(sql`alter table ${table} add constraint ${identifier(name)} ${definition}`);
    await migrateWithin(transaction, database.schema, migrations, systemClock);
  }

  async #flush(): Promise<void> {
    if (!this.#current || this.#batch.length === 0) return;
    const { table, columns } = this.#current;
    const rows = `[${this.#batch.join(',')}]`;
    this.#batch = [];
    this.#characters = 0;
    const names = columns.map(({ name }) => identifier(name));
    const types = columns.map((column) => {
      const type = isWrittenAsText(column) ? 'text' : column.type;
      return sql`${identifier(column.name)} ${new Sql([type], [])}`;
    });
    const values = columns.map((column) => {
      const name = identifier(column.name);
      return isWrittenAsText(column) ? sql`${name}::${new Sql([column.type], [])}` : name;
    });
    await this.#deps.transaction.query(sql`
      insert into ${tableOf(table)} (${joinSql(names, sql`, `)}) overriding system value
      select ${joinSql(values, sql`, `)} from json_to_recordset(${rows}::json) as r(${joinSql(types, sql`, `)})`);
  }

  /**
   * Creates the tables in the version of this pg-boss: its migrations only add columns, so rows of an older version
   * fit.
   */
  async #createJobTables(backupVersion: number): Promise<void> {
    const { transaction, database } = this.#deps;
    const schema = jobsSchemaOf(database.schema);
    await ensureSchema(transaction, schema);
    const backend = database.capabilities.kind === 'server' ? 'postgres' : 'pglite';
    const plan = getConstructionPlans(schema, { createSchema: false, backend });
    await transaction.script(plan.replace(/^\s*begin;/i, '').replace(/commit;?\s*$/i, ''));
    const current = await jobsVersion(transaction, database.schema);
    if (current !== null && backupVersion > current)
      throw newerVersion(`version ${backupVersion} of the tables for jobs`);
  }
}

interface ForeignKey {
  readonly table: Sql;
  readonly name: string;
  readonly definition: Sql;
}

async function foreignKeys(transaction: Transaction, schema: string): Promise<readonly ForeignKey[]> {
  const schemas = [schemaOf('state', schema), schemaOf('jobs', schema)];
  const { rows } = await transaction.query<{ schema: string; table: string; name: string; text: string }>(sql`
    select n.nspname::text as schema, c.relname::text as table, k.conname::text as name,
           pg_get_constraintdef(k.oid) as text
    from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_namespace n on n.oid = c.relnamespace
    where k.contype = 'f' and k.conparentid = 0 and n.nspname = any(${schemas}::text[])`);
  return rows.map(({ schema: of, table, name, text }) => ({
    table: tableOf({ schema: of, name: table }),
    name,
    definition: new Sql([text], []),
  }));
}

function checkMigrations({ migrations, version }: ArchiveHeader, known: readonly Migration[]): void {
  if (isFrom010(migrations))
    throw new CoreError(
      'INPUT_INVALID',
      `The backup was created by Headworks ${version}, which this version cannot restore: restore it with Headworks ${version}.`,
    );
  if (migrations.length > known.length)
    throw newerVersion(
      `Headworks ${version}, migration ${migrations.length}; this version has ${known.length}`,
    );
  const unknown = migrations.find(({ checksum }, index) => checksum !== known[index]?.checksum);
  if (unknown)
    throw new CoreError(
      'INPUT_INVALID',
      `The backup has another migration ${unknown.number} (${unknown.name}) than this version has. Restore it with Headworks ${version}.`,
    );
}

function newerVersion(what: string): CoreError {
  return new CoreError(
    'INPUT_INVALID',
    `The backup was written by a newer Headworks (${what}). Upgrade Headworks to restore it; nothing was changed.`,
  );
}

interface StagedFile {
  readonly draft: string;
  readonly path: string;
}

/** Writes files to a scratch folder first: `file`, pieces, `fileEnd` for each; then `commit`, or `discard`. */
export class FileLoader {
  readonly #dataFolder: string;
  readonly #canReplace: boolean;
  readonly #staged: StagedFile[] = [];
  #scratch: string | undefined;
  #current: (StagedFile & { readonly handle: FileHandle }) | undefined;

  constructor(dataFolder: string, canReplace: boolean) {
    this.#dataFolder = dataFolder;
    this.#canReplace = canReplace;
  }

  /** Fails with CONFLICT when the file exists and must not be replaced. */
  async file(file: FileStart): Promise<void> {
    const path = this.#pathOf(file);
    if (existsSync(path) && !this.#canReplace)
      throw new CoreError(
        'CONFLICT',
        `${path} already exists. Restore into another data folder, or give --replace to replace it; nothing was changed.`,
      );
    this.#scratch ??= await createScratch(this.#dataFolder, 'restore');
    const draft = join(this.#scratch, String(this.#staged.length));
    this.#current = { draft, path, handle: await open(draft, 'wx', 0o600) };
  }

  async piece(bytes: Uint8Array): Promise<void> {
    await this.#current?.handle.writeFile(bytes);
  }

  async fileEnd(): Promise<void> {
    if (!this.#current) return;
    const { draft, path, handle } = this.#current;
    await handle.sync();
    await handle.close();
    this.#current = undefined;
    this.#staged.push({ draft, path });
  }

  /** Renames each file into place. The write-ahead log of a replaced vault belongs to the old file. */
  async commit(): Promise<void> {
    for (const { draft, path } of this.#staged) {
      for (const suffix of ['-wal', '-shm']) await rm(path + suffix, { force: true });
      await rename(draft, path);
    }
    await this.discard();
  }

  async discard(): Promise<void> {
    await this.#current?.handle.close();
    if (this.#scratch !== undefined) await rm(this.#scratch, { recursive: true, force: true });
  }

  #pathOf({ kind, name }: FileStart): string {
    if (kind === 'webhook-secret') return webhookSecretPath(this.#dataFolder);
    // The archive is untrusted: its names must not lead out of the folder.
    if (!isVaultName(name)) throw damaged('the name of a vault is invalid');
    return join(vaultsFolder(this.#dataFolder), name);
  }
}

export async function prepareVaultsFolder(dataFolder: string): Promise<void> {
  await makeFolder(vaultsFolder(dataFolder));
}
