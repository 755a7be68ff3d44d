import { describe, expect, it } from 'vitest';
import type { Database } from '../../../platform/postgres/ports.ts';
import type { Sql } from '../../../platform/postgres/sql.ts';
import { AgeSession } from './age-session.ts';

/** Records its statements in order. */
function world() {
  const said: string[] = [];
  const transaction = {
    query: async (statement: Sql) => {
      said.push(statement.compile().text.replaceAll(/\s+/g, ' ').trim());
      return { rows: [], affected: 0 };
    },
    script: async (text: string) => void said.push(text),
  };
  const database = { transaction: (work: (given: typeof transaction) => unknown) => work(transaction) };
  return { said, session: new AgeSession(database as unknown as Database) };
}

describe('AgeSession', () => {
  it('takes a shared lock and refreshes the catalog before any lookup', async () => {
    const { said, session } = world();
    await session.run(async () => void said.push('work'));
    expect(said.map((text) => text.split('(')[0])).toEqual([
      'select pg_advisory_xact_lock_shared',
      "load 'age'",
      'select set_config',
      'work',
    ]);
    expect(said[2]).toContain('from ag_catalog.ag_graph');
  });

  it('takes an exclusive lock to drop a graph, because AGE crashes the server on concurrent lookups', async () => {
    const { said, session } = world();
    await session.run(async () => undefined, undefined, { isExclusive: true });
    expect(said[0]).toMatch(/^select pg_advisory_xact_lock\(/);
  });
});
