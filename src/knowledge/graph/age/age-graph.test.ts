import { describe, expect, it } from 'vitest';
import type { Database } from '../../../platform/postgres/ports.ts';
import type { Sql } from '../../../platform/postgres/sql.ts';
import { AgeSession } from './age-graph.ts';

/** Records its statements in order. */
function world() {
  const statements: string[] = [];
  const transaction = {
    query: async (statement: Sql) => {
      statements.push(statement.compile().text.replaceAll(/\s+/g, ' ').trim());
      return { rows: [], affected: 0 };
    },
    script: async (text: string) => void statements.push(text),
  };
  const database = { transaction: (work: (given: typeof transaction) => unknown) => work(transaction) };
  return { statements, session: new AgeSession(database as unknown as Database) };
}

describe('AgeSession', () => {
  it('acquires a shared lock and refreshes the catalog before any lookup', async () => {
    const { statements, session } = world();
    await session.run(async () => void statements.push('work'));
    expect(statements.map((text) => text.split('(')[0])).toEqual([
      'select pg_advisory_xact_lock_shared',
      "load 'age'",
      'select set_config',
      'work',
    ]);
    expect(statements[2]).toContain('from ag_catalog.ag_graph');
  });

  it('acquires an exclusive lock to drop a graph, because AGE crashes the server on concurrent lookups', async () => {
    const { statements, session } = world();
    await session.run(async () => undefined, undefined, { isExclusive: true });
    expect(statements[0]).toMatch(/^select pg_advisory_xact_lock\(/);
  });
});
