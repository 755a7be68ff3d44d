// Brings the schema up to date: forward only, each migration in its own transaction, one process at a time.
import type { Clock } from '../../../core/clock.ts';
import type { Database, Transaction } from '../ports.ts';
import { sql } from '../sql.ts';
import { SqlError } from '../sql-error.ts';
import type { Migration } from './load-migrations.ts';
import { migrationFailed, missingRights, type Identity } from './migration-errors.ts';
import { checkHistory, ensureSchema, ensureTable, readHistory, table } from './migration-history.ts';

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
      const identity = await lock(transaction, schema);
      await withRights('database', identity, schema, () => ensureSchema(transaction, schema));
      await withRights('schema', identity, schema, () => ensureTable(transaction, schema));
      const history = await readHistory(transaction, schema);
      checkHistory(history, all);
      if (history.some(({ number }) => number === migration.number)) return false;
      await run(transaction, migration, identity, schema);
      await transaction.query(sql`
        insert into ${table(schema)} (number, name, checksum, applied_at)
        values (${migration.number}, ${migration.name}, ${migration.checksum}, ${new Date(clock.now())})`);
      return true;
    },
    { leaseMs, ...(signal ? { signal } : {}) },
  );
}

/** Held until the transaction ends. The key is the schema's, so that other schemas do not wait. */
async function lock(transaction: Transaction, schema: string): Promise<Identity> {
  await transaction.script('set local statement_timeout = 0');
  const key = `headworks.migrate.${schema}`;
  const { rows } = await transaction.query<Identity>(sql`
    select current_user::text as role, current_database()::text as database
    from pg_advisory_xact_lock(hashtextextended(${key}, 0))`);
  return rows[0] ?? { role: 'unknown', database: 'unknown' };
}

async function run(
  transaction: Transaction,
  migration: Migration,
  identity: Identity,
  schema: string,
): Promise<void> {
  try {
    await withRights('schema', identity, schema, () => transaction.script(migration.text));
  } catch (error) {
    throw error instanceof SqlError ? migrationFailed(migration, error) : error;
  }
}

async function withRights(
  on: 'database' | 'schema',
  identity: Identity,
  schema: string,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    throw error instanceof SqlError && error.sqlState === '42501'
      ? missingRights(on, identity, schema, error)
      : error;
  }
}
