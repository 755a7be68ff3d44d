import { describe, expect, it } from 'vitest';
import { failure, holdTransaction, type Subject } from './subject.contract.ts';
import { sql } from '../../../src/platform/postgres/sql.ts';

export function describeClosing(subject: Subject): void {
  describe('closing', () => {
    it('finishes running and waiting work, rejects new work, and can be repeated', async () => {
      const { database } = subject();
      const states: string[] = [];
      database.onStateChange((state) => states.push(state));
      const held = await holdTransaction(database);
      const waiting = database.query(sql`select 1 as one`);
      const closed = database.close();
      expect(await failure(database.query(sql`select 1`))).toMatchObject({ code: 'SHUTTING_DOWN' });
      expect(await failure(database.transaction(async () => undefined))).toMatchObject({
        code: 'SHUTTING_DOWN',
      });
      await held.finish();
      expect((await waiting).rows).toEqual([{ one: 1 }]);
      await closed;
      await database.close();
      expect([database.state, states]).toEqual(['closed', ['closed']]);
    });
  });
}
