import { describe, expect, it } from 'vitest';
import { countRows, failure, freshTable, gate, holdAllSessions, type Subject } from './subject.contract.ts';
import { sql } from '../../../src/platform/postgres/sql.ts';

const reason = new Error('no longer interested');

export function describeAborting(subject: Subject): void {
  describe('aborting', () => {
    it('sends nothing when the signal has aborted before', async () => {
      const { database } = subject();
      const table = await freshTable(database, sql`id int`);
      const signal = AbortSignal.abort(reason);
      expect(await failure(database.query(sql`insert into ${table} values (1)`, { signal }))).toBe(reason);
      expect(await failure(database.transaction(async () => 'never', { signal }))).toBe(reason);
      expect(await countRows(database, table)).toBe(0);
    });

    it('removes a waiting unit from the queue', async () => {
      const { database } = subject();
      const table = await freshTable(database, sql`id int`);
      const release = await holdAllSessions(subject());
      const controller = new AbortController();
      const { signal } = controller;
      const waiting = [
        failure(database.query(sql`insert into ${table} values (1)`, { signal })),
        failure(
          database.transaction((transaction) => transaction.query(sql`insert into ${table} values (2)`), {
            signal,
          }),
        ),
      ];
      const remaining = database.query(sql`insert into ${table} values (3)`);
      controller.abort(reason);
      expect(await Promise.all(waiting)).toEqual([reason, reason]);
      await release();
      await remaining;
      expect((await database.query(sql`select id from ${table}`)).rows).toEqual([{ id: 3 }]);
    });

    it('rejects the caller of a running statement, and the next statement works', async () => {
      const { database } = subject();
      const controller = new AbortController();
      const running = failure(database.query(sql`select pg_sleep(0.5)`, { signal: controller.signal }));
      await new Promise((resolve) => setTimeout(resolve, 50));
      controller.abort(reason);
      expect(await running).toBe(reason);
      expect((await database.query(sql`select 1 as one`)).rows).toEqual([{ one: 1 }]);
    });

    it.each(['the transaction', 'one of its statements'])(
      'rolls a transaction back when the signal of %s aborts',
      async (whose) => {
        const { database } = subject();
        const table = await freshTable(database, sql`id int`);
        const controller = new AbortController();
        const { signal } = controller;
        const inserted = gate();
        const work = failure(
          database.transaction(
            async (transaction) => {
              await transaction.query(sql`insert into ${table} values (1)`);
              inserted.open();
              await transaction.query(
                sql`select pg_sleep(0.3)`,
                whose === 'the transaction' ? {} : { signal },
              );
            },
            whose === 'the transaction' ? { signal } : {},
          ),
        );
        await inserted.opened;
        controller.abort(reason);
        expect(await work).toBe(reason);
        expect(await countRows(database, table)).toBe(0);
      },
    );
  });
}
