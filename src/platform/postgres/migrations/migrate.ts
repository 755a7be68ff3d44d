// Brings the schema up to date: forward only, each migration in its own transaction, one process at a time.
import type { Clock } from '../../../core/clock.ts';
import type { Database, Transaction } from '../ports.ts';
import { sql } from '../sql.ts';
import { withRights } from '../missing-rights.ts';
import { hasSqlState, SqlError } from '../sql-error.ts';
import type { Migration } from './load-migrations.ts';
import { migrationFailed } from './migration-errors.ts';
import {
  type AppliedMigration,
  checkHistory,
  ensureSchema,
  ensureTable,
  readHistory,
  table,
} from './migration-history.ts';

export interface MigrateOptions {
  readonly clock: Clock;
  /** How long one migration may take, waiting for another process included. Default 10 minutes. */
  readonly leaseMs?: number;
  readonly signal?: AbortSignal;
}

/**
 * Applies what is missing and returns it. Fails with STATE_UNUSABLE when the store is newer than we are, when a
 * migration was changed after it ran, or when rights are missing; a migration that fails is rolled back wholly.
 */
export async function migrate(
  database: Database,
  migrations: readonly Migration[],
  options: MigrateOptions,
): Promise<readonly Migration[]> {
  return withRights(database, () => applyMissing(database, migrations, options));
}

async function applyMissing(
  database: Database,
  migrations: readonly Migration[],
  options: MigrateOptions,
): Promise<readonly Migration[]> {
  // A store that has everything is only read: a warm start takes no lock.
  const before = await readHistory(database, database.schema);
  checkHistory(before, migrations);
  const done: Migration[] = [];
  for (const migration of migrations.slice(before.length)) {
    if (await applyOnce(database, migration, migrations, options)) done.push(migration);
  }
  return done;
}

/** False if another process was quicker. */
async function applyOnce(
  database: Database,
  migration: Migration,
  all: readonly Migration[],
  { clock, leaseMs = 600_000, signal }: MigrateOptions,
): Promise<boolean> {
  const { schema } = database;
  return database.transaction(
    async (transaction) => {
      const history = await begin(transaction, schema, all);
      if (history.some(({ number }) => number === migration.number)) return false;
      await apply(transaction, schema, migration, clock);
      return true;
    },
    { leaseMs, ...(signal ? { signal } : {}) },
  );
}

/** The same in a transaction of the caller's: all of them, or none. Fails as `migrate` does. */
export async function migrateWithin(
  transaction: Transaction,
  schema: string,
  migrations: readonly Migration[],
  clock: Clock,
): Promise<void> {
  const history = await begin(transaction, schema, migrations);
  for (const migration of migrations.slice(history.length))
    await apply(transaction, schema, migration, clock);
}

async function begin(
  transaction: Transaction,
  schema: string,
  all: readonly Migration[],
): Promise<readonly AppliedMigration[]> {
  await lock(transaction, schema);
  await ensureSchema(transaction, schema);
  await ensureTable(transaction, schema);
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
  await run(transaction, migration);
  await transaction.query(sql`
    insert into ${table(schema)} (number, name, checksum, applied_at)
    values (${migration.number}, ${migration.name}, ${migration.checksum}, ${new Date(clock.now())})`);
}

/** Held until the transaction ends. The key is the schema's, so that other schemas do not wait. */
async function lock(transaction: Transaction, schema: string): Promise<void> {
  await transaction.script('set local statement_timeout = 0');
  const key = `headworks.migrate.${schema}`;
  await transaction.query(sql`select pg_advisory_xact_lock(hashtextextended(${key}, 0))`);
}

async function run(transaction: Transaction, migration: Migration): Promise<void> {
  try {
    await transaction.script(migration.text);
  } catch (error) {
    const isOurs = error instanceof SqlError && !hasSqlState(error, '42501');
    throw isOurs ? migrationFailed(migration, error) : error;
  }
}
