// Schema migrations: numbered SQL files, applied forward only, each in its own transaction, one process at a time. Where the
// role lacks a privilege, the error has the statements with which an administrator grants it.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type { Clock } from '../../core/clock.ts';
import { CoreError } from '../../core/errors.ts';
import type { Database, Queryable, Transaction } from './ports.ts';
import type { Sql } from './sql.ts';
import { hasSqlState, identifier, sql, SqlError } from './sql.ts';

/** The schema of this version: 0001-baseline.sql and what later releases add. */
const migrationsFolder = new URL('./migrations/', import.meta.url);

export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly text: string;
  /** SHA-256 of the text without trailing blanks and differences in line ends. */
  readonly checksum: string;
}

/** A row of `schema_migrations`. */
export interface AppliedMigration {
  readonly number: number;
  readonly name: string;
  readonly checksum: string;
}

export interface MigrateOptions {
  readonly clock: Clock;
  /** How long one migration may take, including the wait for another process. Default: 10 minutes. */
  readonly leaseMs?: number;
  readonly signal?: AbortSignal;
}

/** All `.sql` files of the folder (default: this version's), in order. Fails on a gap, a duplicate or a malformed name. */
export async function loadMigrations(folder: URL = migrationsFolder): Promise<readonly Migration[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort();
  const base = folder.href.endsWith('/') ? folder : new URL(`${folder.href}/`);
  const migrations = await Promise.all(
    files.map(async (file) => defineMigration(file, await readFile(new URL(file, base), 'utf8'))),
  );
  migrations.forEach((migration, index) => {
    if (migration.number !== index + 1)
      throw new CoreError(
        'INTERNAL',
        `The migration ${label(migration)} should have the number ${index + 1}: numbers start at 1, without gaps or duplicates.`,
      );
  });
  return migrations;
}

/** A migration from its file name and text. */
export function defineMigration(file: string, text: string): Migration {
  const [, number, name] = /^(\d{4})-([a-z0-9-]+)\.sql$/.exec(file) ?? [];
  if (number === undefined || name === undefined)
    throw new CoreError('INTERNAL', `The migration file ${file} must be named like 0001-what-it-does.sql.`);
  return { number: Number(number), name, text, checksum: checksumOf(text) };
}

function checksumOf(text: string): string {
  const normal = text
    .replace(/^\u{FEFF}/u, '')
    .replaceAll('\r\n', '\n')
    .replaceAll(/[ \t]+$/gm, '')
    .trim();
  return createHash('sha256').update(normal).digest('hex');
}

const label = ({ number, name }: Pick<Migration, 'number' | 'name'>): string =>
  `${String(number).padStart(4, '0')}-${name}`;

/**
 * Applies the missing migrations and returns them. Fails with STATE_UNUSABLE when the store was made by 0.1.0 or by a
 * newer version, when a migration was changed after it ran, or when privileges are missing; a failing migration is rolled
 * back completely.
 */
export async function migrate(
  database: Database,
  migrations: readonly Migration[],
  options: MigrateOptions,
): Promise<readonly Migration[]> {
  return withRights(database, async () => {
    // An up-to-date store is only read: a warm start takes no lock.
    const history = await readHistory(database, database.schema);
    checkHistory(history, migrations);
    const applied: Migration[] = [];
    for (const migration of migrations.slice(history.length)) {
      if (await applyOnce(database, migration, migrations, options)) applied.push(migration);
    }
    return applied;
  });
}

/** The same within the caller's transaction: all of them or none. */
export async function migrateWithin(
  transaction: Transaction,
  schema: string,
  migrations: readonly Migration[],
  clock: Clock,
): Promise<void> {
  const history = await lockHistory(transaction, schema, migrations);
  for (const migration of migrations.slice(history.length))
    await apply(transaction, schema, migration, clock);
}

/** False if another process has applied it. */
async function applyOnce(
  database: Database,
  migration: Migration,
  all: readonly Migration[],
  { clock, leaseMs = 600_000, signal }: MigrateOptions,
): Promise<boolean> {
  const { schema } = database;
  return database.transaction(
    async (transaction) => {
      const history = await lockHistory(transaction, schema, all);
      if (history.some(({ number }) => number === migration.number)) return false;
      await apply(transaction, schema, migration, clock);
      return true;
    },
    { leaseMs, signal },
  );
}

/** The lock ends with the transaction. Its key contains the schema, so that other schemas do not wait. */
async function lockHistory(
  transaction: Transaction,
  schema: string,
  all: readonly Migration[],
): Promise<readonly AppliedMigration[]> {
  await transaction.script('set local statement_timeout = 0');
  const key = `headworks.migrate.${schema}`;
  await transaction.query(sql`select pg_advisory_xact_lock(hashtextextended(${key}, 0))`);
  await ensureSchema(transaction, schema);
  await transaction.query(sql`
    create table if not exists ${table(schema)} (
      number int primary key,
      name text not null,
      checksum text not null,
      applied_at timestamptz not null
    )`);
  const history = await readHistory(transaction, schema);
  checkHistory(history, all);
  return history;
}

async function apply(
  transaction: Transaction,
  schema: string,
  migration: Migration,
  clock: Clock,
): Promise<void> {
  try {
    await transaction.script(migration.text);
  } catch (error) {
    const isOurs = error instanceof SqlError && !hasSqlState(error, '42501');
    throw isOurs
      ? unusable(
          `The migration ${label(migration)} failed: ${error.message}. It was rolled back and the store is unchanged; remove the cause and start again.`,
          error,
        )
      : error;
  }
  await transaction.query(sql`
    insert into ${table(schema)} (number, name, checksum, applied_at)
    values (${migration.number}, ${migration.name}, ${migration.checksum}, ${new Date(clock.now())})`);
}

const table = (schema: string): Sql => sql`${identifier(schema)}.schema_migrations`;

/** The applied migrations in order; empty for a new store. */
export async function readHistory(database: Queryable, schema: string): Promise<readonly AppliedMigration[]> {
  const { rows } = await database.query<{ exists: boolean }>(sql`
    select exists(select 1 from pg_tables where schemaname = ${schema} and tablename = 'schema_migrations')`);
  if (!rows[0]?.exists) return [];
  const history = await database.query<AppliedMigration>(
    sql`select number, name, checksum from ${table(schema)} order by number`,
  );
  return history.rows;
}

/**
 * Fails with STATE_UNUSABLE if the store was made by 0.1.0, has a migration that this version does not, lacks one in
 * between, or has applied another text under the same number.
 */
export function checkHistory(history: readonly AppliedMigration[], known: readonly Migration[]): void {
  if (isFrom010(history))
    throw unusable(
      'This state store was created by Headworks 0.1.0, which this version cannot upgrade: start with an empty data folder or another database schema, or keep using 0.1.0 with this one.',
    );
  const newest = history.at(-1);
  if (newest && newest.number > known.length)
    throw unusable(
      `The store was written by a newer Headworks (migration ${newest.number}; this version has ${known.length}). Upgrade Headworks, or use another database or schema.`,
    );
  for (const [index, applied] of history.entries()) {
    const ours = known[index];
    if (ours && ours.number !== applied.number)
      throw unusable(
        `The store lacks the migration ${label(ours)} but has later ones: its list (schema_migrations) was changed. Restore the store from a backup.`,
      );
    if (!ours || ours.checksum !== applied.checksum)
      throw unusable(
        `The migration ${label(applied)} was changed after it ran on this store. Undo the change and put it into a new migration.`,
      );
  }
}

/** The first migration of 0.1.0 was 0001-ledger; from 0.2.0 on it is 0001-baseline. */
export const isFrom010 = ([first]: readonly AppliedMigration[]): boolean =>
  first?.number === 1 && first.name === 'ledger';

const unusable = (message: string, cause?: Error): CoreError =>
  new CoreError('STATE_UNUSABLE', message, { cause });

/** The schema of the job tables: pg-boss needs its own. */
export const jobsSchemaOf = (schema: string): string => `${schema}_jobs`;

/** Runs `work`; an insufficient_privilege error becomes STATE_UNUSABLE with the remedy for both schemas. */
export async function withRights<T>(database: Database, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof Error && hasSqlState(error, '42501')
      ? await missingRights(database, error)
      : error;
  }
}

/**
 * Creates the schema unless it exists. Not with IF NOT EXISTS: that needs the right to create even where an
 * administrator has created the schema, and fails when two sessions run it at once.
 */
export async function ensureSchema(transaction: Transaction, schema: string): Promise<void> {
  await transaction.query(
    sql`select pg_advisory_xact_lock(hashtextextended(${`headworks.schema.${schema}`}, 0))`,
  );
  const { rows } = await transaction.query(sql`select from pg_namespace where nspname = ${schema}`);
  if (rows.length === 0) await transaction.query(sql`create schema ${identifier(schema)}`);
}

async function missingRights(database: Database, cause: Error): Promise<CoreError> {
  const { schema } = database;
  const seen = await readSchemas(database, [schema, jobsSchemaOf(schema)]);
  return new CoreError(
    'STATE_UNUSABLE',
    `The role ${seen[0]?.role} lacks a privilege to set up the schemas ${schema} and ${jobsSchemaOf(schema)}: ${cause.message}. ${remedy(seen)}`,
    { cause },
  );
}

interface SeenSchema {
  readonly role: string;
  readonly database: string;
  readonly mayCreate: boolean;
  readonly schema: string;
  /** `null` when there is no such schema. */
  readonly owner: string | null;
  readonly isOurs: boolean;
  readonly hasTables: boolean;
}

async function readSchemas(database: Queryable, schemas: readonly string[]): Promise<readonly SeenSchema[]> {
  const { rows } = await database.query<SeenSchema>(sql`
    select current_user::text as role, current_database()::text as database,
           has_database_privilege(current_database(), 'create') as "mayCreate",
           wanted.schema, pg_get_userbyid(n.nspowner)::text as owner,
           coalesce(pg_has_role(n.nspowner, 'usage'), false) as "isOurs",
           exists(select from pg_class where relnamespace = n.oid) as "hasTables"
    from unnest(${schemas}::text[]) with ordinality as wanted (schema, place)
    left join pg_namespace as n on n.nspname = wanted.schema
    order by wanted.place`);
  return rows;
}

function remedy(seen: readonly SeenSchema[]): string {
  const absent = seen.filter(({ owner, mayCreate }) => owner === null && !mayCreate);
  const [first] = absent;
  const onDatabase = `GRANT CREATE ON DATABASE "${first?.database}" TO "${first?.role}";`;
  const created = absent.map(({ schema, role }) => `CREATE SCHEMA "${schema}" AUTHORIZATION "${role}";`);
  const granted = seen.filter(({ owner, isOurs }) => owner !== null && !isOurs).map(grant);
  const statements = [...granted, ...(first ? [onDatabase] : [])];
  if (statements.length === 0) return 'Grant the privilege as an administrator, then start again.';
  const instead = first ? ` (instead of CREATE ON DATABASE also: ${created.join(' ')})` : '';
  return `As an administrator: ${[...new Set(statements)].join(' ')}${instead}`;
}

/** Only the owner of a table can alter it: where tables exist, membership in the owning role is needed. */
function grant({ schema, role, owner, hasTables }: SeenSchema): string {
  return hasTables
    ? `GRANT "${owner}" TO "${role}";`
    : `GRANT USAGE, CREATE ON SCHEMA "${schema}" TO "${role}";`;
}
