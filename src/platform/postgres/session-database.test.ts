import { expect, it } from 'vitest';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { silentLog } from '../../core/telemetry.ts';
import { openSessionDatabase } from './session-database.ts';
import { sql, SqlError } from './sql.ts';
import type { Command, Session } from './store.ts';

/** A store whose statements with `insert` or `create` fail with `failure`, if set. */
async function databaseWith(clock: VirtualClock) {
  const world: { failure: SqlError | null } = { failure: null };
  let isInTransaction = false;
  const session: Session = {
    get isInTransaction() {
      return isInTransaction;
    },
    lostBy: undefined,
    run: async ({ text }: Command) => {
      if (world.failure && /insert|create/.test(text)) throw world.failure;
      if (text === 'begin') isInTransaction = true;
      if (/^(commit|rollback)$/.test(text)) isInTransaction = false;
      const row = { version: '18.0', installed: '1.0', isOnPath: true };
      return { rows: [row], affected: 0, tag: text === 'commit' ? 'COMMIT' : '' };
    },
    cancel: async () => undefined,
    release: async () => undefined,
  };
  const database = await openSessionDatabase(
    { kind: 'embedded', schema: 'test', clock, log: silentLog },
    () => ({
      size: 1,
      open: async () => session,
      connect: async () => undefined,
      listen: async () => undefined,
      close: async () => undefined,
    }),
  );
  return { world, database };
}

it.each([
  ['53100', 'disk', /embedded store has no disk space left\. Free some space/],
  ['53000', 'files', /embedded store cannot open more files\. Raise the limit of open files/],
] as const)(
  'is down with the cause after a write failed with %s, until it can write again (N6)',
  async (sqlState, shortage, message) => {
    const clock = new VirtualClock(0);
    const { world, database } = await databaseWith(clock);
    const seen: unknown[] = [];
    database.onShortage((each) => seen.push(each));
    const error = {
      code: 'STATE_UNAVAILABLE',
      isRetryable: true,
      message: expect.stringMatching(message) as string,
    };

    world.failure = new SqlError({ message: 'could not extend file', sqlState });
    const write = sql`insert into t values (1)`;
    await expect(database.query(write)).rejects.toMatchObject(error);
    await expect(database.transaction((transaction) => transaction.query(write))).rejects.toMatchObject(
      error,
    );
    expect([database.state, database.shortage]).toEqual(['down', shortage]);
    await expect(database.ping()).rejects.toMatchObject(error);
    expect((await database.query(sql`select 1`)).rows).toHaveLength(1);
    await clock.advance(10_000);
    expect([database.state, seen]).toEqual(['down', [shortage]]);

    world.failure = null;
    await clock.advance(4_000);
    await expect(database.ping()).rejects.toMatchObject(error);
    expect([database.state, database.shortage]).toEqual(['down', shortage]);
    // The probe works, but a request fails again.
    world.failure = new SqlError({ message: 'could not extend file', sqlState });
    await expect(database.query(write)).rejects.toMatchObject(error);
    world.failure = null;
    await clock.advance(6_000);
    expect([database.state, seen]).toEqual(['down', [shortage]]);
    await clock.advance(4_000);
    expect([database.state, database.shortage, seen]).toEqual(['up', null, [shortage, null]]);
    await database.ping();
    await database.close();
  },
);

it('rejects a value that is too long for an index as invalid input', async () => {
  const { world, database } = await databaseWith(new VirtualClock(0));
  world.failure = new SqlError({ message: 'index row size 9000 exceeds maximum 2704', sqlState: '54000' });
  await expect(database.query(sql`insert into t values (1)`)).rejects.toMatchObject({
    code: 'INPUT_INVALID',
  });
});

it('returns other failures of a statement unchanged', async () => {
  const { world, database } = await databaseWith(new VirtualClock(0));
  world.failure = new SqlError({ message: 'duplicate key', sqlState: '23505' });
  await expect(database.query(sql`insert into t values (1)`)).rejects.toBe(world.failure);
  expect([database.state, database.shortage]).toEqual(['up', null]);
});
