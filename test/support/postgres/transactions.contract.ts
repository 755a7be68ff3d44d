import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { countRows, failure, freshTable, gate, holdTransaction, type Subject } from './subject.contract.ts';
import type { Transaction } from '../../../src/platform/postgres/ports.ts';
import { sql } from '../../../src/platform/postgres/sql.ts';

export function describeTransactions(subject: Subject): void {
  describe('transactions', () => {
    it('commits when the work resolves, and returns its result', async () => {
      const { database } = subject();
      const table = await freshTable(database, sql`id int`);
      const result = await database.transaction(async (transaction) => {
        await transaction.query(sql`insert into ${table} values (1)`);
        await transaction.script(`insert into ${table.compile().text} values (2)`);
        return 'done';
      });
      expect([result, await countRows(database, table)]).toEqual(['done', 2]);
    });

    it('rolls back when the work rejects, and passes its error on', async () => {
      const { database } = subject();
      const table = await freshTable(database, sql`id int`);
      const reason = new Error('changed my mind');
      const work = database.transaction(async (transaction) => {
        await transaction.query(sql`insert into ${table} values (1)`);
        throw reason;
      });
      expect(await failure(work)).toBe(reason);
      expect(await countRows(database, table)).toBe(0);
    });

    it('rolls back and fails when the work ignored a failed statement', async () => {
      const { database } = subject();
      const table = await freshTable(database, sql`id int`);
      const work = database.transaction(async (transaction) => {
        await transaction.query(sql`insert into ${table} values (1)`);
        await transaction.query(sql`select 1/0`).catch(() => undefined);
      });
      expect(await failure(work)).toMatchObject({ sqlState: '25P02', cause: { sqlState: '22012' } });
      expect(await countRows(database, table)).toBe(0);
    });

    it('survives a failure behind a savepoint', async () => {
      const { database } = subject();
      const table = await freshTable(database, sql`id int primary key`);
      await database.transaction(async (transaction) => {
        await transaction.query(sql`insert into ${table} values (1)`);
        await transaction.script('savepoint before');
        await failure(transaction.query(sql`insert into ${table} values (1)`));
        await transaction.script('rollback to savepoint before');
        await transaction.query(sql`insert into ${table} values (2)`);
      });
      expect(await countRows(database, table)).toBe(2);
    });

    it('passes on errors of the commit', async () => {
      const { database } = subject();
      const table = await freshTable(database, sql`id int unique deferrable initially deferred`);
      const work = database.transaction((transaction) =>
        transaction.query(sql`insert into ${table} values (1), (1)`),
      );
      expect(await failure(work)).toMatchObject({ sqlState: '23505' });
      expect(await countRows(database, table)).toBe(0);
    });

    it('runs concurrent statements one after the other', async () => {
      const { database } = subject();
      const table = await freshTable(database, sql`id serial, value int`);
      const values = Array.from({ length: 20 }, (_, index) => index);
      await database.transaction(async (transaction) => {
        await Promise.all(
          values.map((value) => transaction.query(sql`insert into ${table} (value) values (${value})`)),
        );
      });
      const { rows } = await database.query<{ value: number }>(sql`select value from ${table} order by id`);
      expect(rows.map((row) => row.value)).toEqual(values);
    });

    it('isolates transactions: a rollback affects only its own statements', async () => {
      const { database } = subject();
      const table = await freshTable(database, sql`id text`);
      const entered = gate();
      const release = gate();
      const transaction = database.transaction(async (inside) => {
        await inside.query(sql`insert into ${table} values ('inside')`);
        entered.open();
        await release.opened;
        throw new Error('rolled back');
      });
      await entered.opened;
      const outside = database.query(sql`insert into ${table} values ('outside')`);
      release.open();
      await failure(transaction);
      await outside;
      expect((await database.query(sql`select id from ${table}`)).rows).toEqual([{ id: 'outside' }]);
    });

    it('rejects a script that ends the transaction it runs in', async () => {
      const work = subject().database.transaction((transaction) => transaction.script('commit'));
      expect(await failure(work)).toMatchObject({ code: 'INTERNAL' });
    });

    it('rejects a query after its end', async () => {
      const { database } = subject();
      let kept: Transaction | undefined;
      await database.transaction(async (transaction) => {
        kept = transaction;
      });
      await expect(kept?.query(sql`select 1`)).rejects.toMatchObject({ code: 'INTERNAL' });
    });

    it('rejects the root database inside an open transaction, also across awaits', async () => {
      const { database } = subject();
      const errors = await database.transaction(async () => {
        await nextTurn();
        return Promise.all([
          failure(database.query(sql`select 1`)),
          failure(database.script('select 1')),
          failure(database.transaction(async () => undefined)),
          failure(database.notify('anywhere', '')),
          failure(database.listen('anywhere', () => undefined)),
          failure(database.ping()),
        ]);
      });
      expect(errors.map((error) => (error as { code: string }).code)).toEqual(
        Array.from({ length: 6 }, () => 'STATE_NESTED_QUERY'),
      );
    });

    it('allows detached work to use the root database once the transaction has ended', async () => {
      const { database } = subject();
      const ended = gate();
      let leftBehind: Promise<unknown> = Promise.resolve();
      await database.transaction(async () => {
        leftBehind = ended.opened.then(() => database.query(sql`select 1 as one`));
      });
      ended.open();
      await expect(leftBehind).resolves.toMatchObject({ rows: [{ one: 1 }] });
    });

    it('rolls back when the lease ends, and runs the next', async () => {
      const { database, clock } = subject();
      const table = await freshTable(database, sql`id int`);
      const inserted = gate();
      const late = gate();
      let afterwards: Promise<unknown> = Promise.resolve();
      const work = failure(
        database.transaction(
          async (transaction) => {
            await transaction.query(sql`insert into ${table} values (1)`);
            inserted.open();
            await late.opened;
            afterwards = failure(transaction.query(sql`insert into ${table} values (2)`));
            await afterwards;
          },
          { leaseMs: 5000 },
        ),
      );
      await inserted.opened;
      const next = countRows(database, table);
      await clock.advance(5000);
      expect(await work).toMatchObject({ code: 'STATE_LEASE_EXPIRED', isRetryable: true });
      expect(await next).toBe(0);
      late.open();
      await nextTurn();
      expect(await afterwards).toMatchObject({ code: 'STATE_LEASE_EXPIRED' });
      expect(await countRows(database, table)).toBe(0);
    });

    it('does not end before the lease does', async () => {
      const { database, clock } = subject();
      const held = await holdTransaction(database);
      await clock.advance(29_999);
      await expect(held.finish()).resolves.toBeUndefined();
    });
  });
}
