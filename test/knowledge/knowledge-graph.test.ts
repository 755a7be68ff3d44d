// The SQL backend: the graph contract on both kinds of Postgres.
import { afterAll, beforeAll, describe } from 'vitest';
import { SqlGraph } from '../../src/knowledge/graph/sql-graph.ts';
import { graphSubject } from '../support/graph-subject.ts';
import type { KnowledgeWorld } from '../support/knowledge-world.ts';
import { knowledgeWorld } from '../support/knowledge-world.ts';
import { graphContract } from '../support/knowledge/graph.contract.ts';

describe.each(['server', 'embedded'] as const)('plain SQL, %s', (kind) => {
  let world: KnowledgeWorld;
  beforeAll(async () => {
    world = await knowledgeWorld(kind);
  });
  afterAll(() => world.dispose());

  graphContract('sql', () => graphSubject(world, new SqlGraph(world.database)));
});
