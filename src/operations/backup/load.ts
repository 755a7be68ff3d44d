// Puts the rows of a backup into a store, in one transaction: all of them, or the store is as it was.
import { existsSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { getConstructionPlans } from 'pg-boss';
import { vaultsFolder } from '../../app/vault.ts';
import { webhookSecretPath } from '../../app/webhook-secret.ts';
import { CoreError, systemClock } from '../../core/index.ts';
import { makeFolder } from '../../platform/data-folder/make-folder.ts';
import type { Database, Migration, Transaction } from '../../platform/postgres/index.ts';
import { Sql, identifier, joinSql, migrateWithin, sql } from '../../platform/postgres/index.ts';
import { hasSchema, jobsSchemaOf } from '../../platform/postgres/missing-rights.ts';
import type { ArchiveHeader, FileStart, SequenceLine, TableEnd, TableStart } from './archive.ts';
import { damaged } from './archive.ts';
import { makeScratch } from './disk-space.ts';
import { isVaultName } from './dump.ts';
import type { StoreColumn, StoreTable } from './store-tables.ts';
import {
  emptySchemas,
  jobsVersion,
  schemaOf,
  storeTables,
  tableOf,
  tableSum,
  travelsAsText,
} from './store-tables.ts';

/** Rows travel in batches of so many characters, or so many rows. */
const batchCharacters = 4 * 1024 * 1024;
const batchRows = 2_000;

export interface LoadParts {
  readonly transaction: Transaction;
  readonly database: Pick<Database, 'schema' | 'capabilities'>;
  /** All that this version knows. */
  readonly migrations: readonly Migration[];
}

interface Loading {
  readonly table: StoreTable;
  /** Those that both the backup and this version have. */
  readonly columns: readonly StoreColumn[];
  readonly isExact: boolean;
}

interface Loaded extends Loading {
  readonly end: TableEnd;
}

/** `prepare`, then tables with their rows, sequences, `finish`. Every step fails as the store does. */
export class StoreLoader {
  readonly #parts: LoadParts;
  readonly #loaded: Loaded[] = [];
  #tables: ReadonlyMap<string, StoreTable> = new Map();
  #foreignKeys: readonly ForeignKey[] = [];
  #current: Loading | null = null;
  #batch: string[] = [];
  #characters = 0;

  constructor(parts: LoadParts) {
    this.#parts = parts;
  }

  /** Empties both schemas and makes the tables as they were in the backup's version. */
  async prepare(header: ArchiveHeader): Promise<void> {
    const { transaction, database, migrations } = this.#parts;
    const { schema } = database;
    checkMigrations(header, migrations);
    await transaction.script('set local statement_timeout = 0');
    await emptySchemas(transaction, [schema, jobsSchemaOf(schema)]);
    await migrateWithin(transaction, schema, migrations.slice(0, header.migrations.length), systemClock);
    if (header.jobsVersion !== null) await this.#makeJobTables(header.jobsVersion);
    const tables = await storeTables(transaction, schema);
    this.#tables = new Map(tables.map((table) => [`${table.place} ${table.name}`, table]));
    // Rows come in the order of tables' names; what refers to what is checked once, when all are there.
    this.#foreignKeys = await foreignKeys(transaction, schema);
    for (const { table, name } of this.#foreignKeys)
      await transaction.query(sql`alter table ${table} drop constraint ${identifier(name)}`);
  }

  table({ place, name, columns }: TableStart): void {
    const table = this.#tables.get(`${place} ${name}`);
    const known = table?.columns.filter((column) => columns.includes(column.name)) ?? [];
    // pg-boss of another version may have other columns; ours are as the migrations made them.
    const isExact = known.length === columns.length && known.length === table?.columns.length;
    if (!table || (place === 'state' && !isExact))
      throw new CoreError(
        'INPUT_INVALID',
        `The backup's table ${name} does not fit the migrations that it names. Somebody changed the store that it was made of.`,
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
    const { transaction, database } = this.#parts;
    await transaction.query(sql`
      select setval(pg_get_serial_sequence(format('%I.%I', ${database.schema}::text, ${table}::text), ${column}),
        ${last}::bigint, ${isCalled})`);
  }

  /** Compares every table with the backup, then brings the tables up to this version. */
  async finish(): Promise<void> {
    const { transaction, database, migrations } = this.#parts;
    for (const { table, columns, isExact, end } of this.#loaded) {
      const found = await tableSum(transaction, table, columns);
      if (found.rows !== end.rows || (isExact && found.sum !== end.sum))
        throw new CoreError(
          'INTERNAL',
          `The table ${table.name} does not hold what the backup does (${found.rows} of ${end.rows} rows). Nothing was kept.`,
        );
    }
    for (const { table, name, definition } of this.#foreignKeys)
      // The definition is Postgres's own, of a constraint that it made a moment ago.
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
      const type = travelsAsText(column) ? 'text' : column.type;
      return sql`${identifier(column.name)} ${new Sql([type], [])}`;
    });
    const values = columns.map((column) => {
      const name = identifier(column.name);
      return travelsAsText(column) ? sql`${name}::${new Sql([column.type], [])}` : name;
    });
    await this.#parts.transaction.query(sql`
      insert into ${tableOf(table)} (${joinSql(names, sql`, `)}) overriding system value
      select ${joinSql(values, sql`, `)} from json_to_recordset(${rows}::json) as r(${joinSql(types, sql`, `)})`);
  }

  /** As this version's pg-boss makes them: rows of an older one fit in, its migrations only add. */
  async #makeJobTables(backupVersion: number): Promise<void> {
    const { transaction, database } = this.#parts;
    const schema = jobsSchemaOf(database.schema);
    if (!(await hasSchema(transaction, schema)))
      await transaction.query(sql`create schema ${identifier(schema)}`);
    const backend = database.capabilities.kind === 'server' ? 'postgres' : 'pglite';
    const plan = getConstructionPlans(schema, { createSchema: false, backend });
    await transaction.script(plan.replace(/^\s*begin;/i, '').replace(/commit;?\s*$/i, ''));
    const ours = await jobsVersion(transaction, database.schema);
    if (ours !== null && backupVersion > ours) throw newer(`version ${backupVersion} of the tables for jobs`);
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
  if (migrations.length > known.length)
    throw newer(`Headworks ${version}, migration ${migrations.length}; this version knows ${known.length}`);
  const strange = migrations.find(({ checksum }, index) => checksum !== known[index]?.checksum);
  if (strange)
    throw new CoreError(
      'INPUT_INVALID',
      `The backup was made with another migration ${strange.number} (${strange.name}) than this version has. Restore it with Headworks ${version}.`,
    );
}

function newer(what: string): CoreError {
  return new CoreError(
    'INPUT_INVALID',
    `The backup was written by a newer Headworks (${what}). Upgrade Headworks to restore it; nothing was changed.`,
  );
}

interface Staged {
  readonly draft: string;
  readonly path: string;
}

/** `file`, pieces, `fileEnd` for each; then `place`, or `discard`. */
export class FileLoader {
  readonly #dataFolder: string;
  readonly #mayReplace: boolean;
  readonly #staged: Staged[] = [];
  #scratch: string | undefined;
  #current: (Staged & { readonly handle: FileHandle }) | undefined;

  constructor(dataFolder: string, mayReplace: boolean) {
    this.#dataFolder = dataFolder;
    this.#mayReplace = mayReplace;
  }

  /** Fails with CONFLICT when something is in its place that may not be replaced. */
  async file(file: FileStart): Promise<void> {
    const path = this.#pathOf(file);
    if (existsSync(path) && !this.#mayReplace)
      throw new CoreError(
        'CONFLICT',
        `${path} is there already. Restore into another data folder, or give --replace to have it replaced; nothing was changed.`,
      );
    this.#scratch ??= await makeScratch(this.#dataFolder, 'restore');
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

  /** Each takes its place at once. A vault's log of writes belongs to the file that was there before. */
  async place(): Promise<void> {
    for (const { draft, path } of this.#staged) {
      for (const beside of ['-wal', '-shm']) await rm(path + beside, { force: true });
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
    // A backup comes from elsewhere: its names do not lead out of the folder.
    if (!isVaultName(name)) throw damaged('a vault has a name that no vault has');
    return join(vaultsFolder(this.#dataFolder), name);
  }
}

export async function prepareVaultsFolder(dataFolder: string): Promise<void> {
  await makeFolder(vaultsFolder(dataFolder));
}
