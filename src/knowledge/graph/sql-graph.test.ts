import { expect, it } from 'vitest';
import type { Database } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { SqlGraph } from './sql-graph.ts';

it('keeps the lookups of events a nested loop (OFFSET 0): a plain join takes six times as long', async () => {
  const statements: string[] = [];
  const database = {
    query: async (statement: Sql) => {
      statements.push(statement.compile().text);
      return { rows: [], affected: 0 };
    },
  };
  const request = { spaceId: 1, seedEventIds: ['00000000-0000-7000-8000-000000000000'], budget: 5 };
  await new SqlGraph(database as unknown as Database).expand(request, new AbortController().signal);
  expect(statements).toHaveLength(1);
  expect(statements[0]?.match(/offset 0/g)).toHaveLength(2);
});
