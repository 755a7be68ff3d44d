import { randomBytes } from 'node:crypto';
import type { Database } from '../../../src/platform/postgres/ports.ts';
import { identifier, sql, type Sql } from '../../../src/platform/postgres/sql.ts';
import type { VirtualClock } from '../core/virtual-clock.ts';

/** A database with a new schema, and its properties. */
export interface DatabaseUnderTest {
  readonly database: Database;
  readonly clock: VirtualClock;
  /** How many units it runs at once. */
  readonly sessions: number;
  /** Removes what the suite left behind. The database is closed by then. */
  cleanUp(): Promise<void>;
}

export type Subject = () => DatabaseUnderTest;

/** A table of the test's own. */
export async function freshTable(database: Database, columns: Sql): Promise<Sql> {
  const table = identifier(`t_${randomBytes(6).toString('hex')}`);
  await database.query(sql`create table ${table} (${columns})`);
  return table;
}

export async function countRows(database: Database, table: Sql): Promise<number> {
  const { rows } = await database.query<{ count: number }>(sql`select count(*) as count from ${table}`);
  return rows[0]?.count ?? -1;
}

/** A promise, and the function that resolves it. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

export function gate(): Gate {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

/** A transaction that is open until `finish` is called. */
export async function holdTransaction(
  database: Database,
): Promise<{ finish(): Promise<void>; readonly done: Promise<void> }> {
  const entered = gate();
  const release = gate();
  const done = database.transaction(async () => {
    entered.open();
    await release.opened;
  });
  done.catch(() => undefined);
  await Promise.race([entered.opened, done]);
  return {
    done,
    finish: () => {
      release.open();
      return done;
    },
  };
}

/** Occupies every session; the returned function releases them. */
export async function holdAllSessions({
  database,
  sessions,
}: DatabaseUnderTest): Promise<() => Promise<void>> {
  const held = await Promise.all(Array.from({ length: sessions }, () => holdTransaction(database)));
  return async () => {
    await Promise.all(held.map((one) => one.finish()));
  };
}

/** The error that a promise ends in. */
export async function failure(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => {
      throw new Error('It was expected to fail, and did not.');
    },
    (error: unknown) => error,
  );
}
