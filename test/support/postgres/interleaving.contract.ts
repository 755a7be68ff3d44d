import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { freshTable, type Subject } from './subject.contract.ts';
import type { Database } from '../../../src/platform/postgres/ports.ts';
import { sql, type Sql } from '../../../src/platform/postgres/sql.ts';

const accounts = 4;
const total = accounts * 100;

interface Step {
  readonly kind: 'statement' | 'transaction' | 'failing transaction' | 'failing statement' | 'sum';
  readonly from: number;
  readonly to: number;
  readonly amount: number;
}

const account = fc.integer({ min: 1, max: accounts });
const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('statement', 'transaction', 'failing transaction', 'failing statement', 'sum'),
  from: account,
  to: account,
  amount: fc.integer({ min: 1, max: 50 }),
});

async function sum(database: Database, table: Sql): Promise<number> {
  const { rows } = await database.query<{ sum: number }>(sql`select sum(balance)::int8 as sum from ${table}`);
  return rows[0]?.sum ?? -1;
}

/** Reads, then writes what it computed: wrong if another statement writes in between. */
async function transfer(database: Database, table: Sql, { kind, from, to, amount }: Step): Promise<void> {
  await database.transaction(async (transaction) => {
    const { rows } = await transaction.query<{ id: number; balance: number }>(
      sql`select id, balance from ${table} where id = any(${[from, to]}) order by id for update`,
    );
    const balances = new Map(rows.map((row) => [row.id, row.balance]));
    balances.set(from, (balances.get(from) ?? 0) - amount);
    await transaction.query(sql`update ${table} set balance = ${balances.get(from)} where id = ${from}`);
    if (kind === 'failing transaction') throw new Error('half way');
    balances.set(to, (balances.get(to) ?? 0) + amount);
    await transaction.query(sql`update ${table} set balance = ${balances.get(to)} where id = ${to}`);
  });
}

async function take(database: Database, table: Sql, next: Step): Promise<void> {
  const { kind, from, to, amount } = next;
  const change = sql`case id when ${from}::int then -${amount}::int else 0 end + case id when ${to}::int then ${amount}::int else 0 end`;
  if (kind === 'sum') expect(await sum(database, table)).toBe(total);
  else if (kind === 'failing statement')
    await expect(database.query(sql`update ${table} set balance = balance / 0`)).rejects.toThrow('zero');
  else if (kind === 'failing transaction')
    await expect(transfer(database, table, next)).rejects.toThrow('half way');
  else if (kind === 'transaction') await transfer(database, table, next);
  else
    await database.query(sql`
    with locked as (select id as locked_id from ${table} order by id for update)
    update ${table} set balance = balance + ${change} from locked where id = locked_id`);
}

export function describeInterleaving(subject: Subject): void {
  describe('interleaving', () => {
    it('keeps the balance through any mix of concurrent statements and transactions', async () => {
      const { database } = subject();
      const table = await freshTable(database, sql`id int primary key, balance int not null`);
      await database.query(
        sql`insert into ${table} select n, 100 from generate_series(1, ${accounts}::int) n`,
      );
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
          await Promise.all(steps.map((next) => take(database, table, next)));
          expect(await sum(database, table)).toBe(total);
        }),
        { numRuns: 15 },
      );
    });
  });
}
