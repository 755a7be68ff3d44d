// More families, orders and documents at a time than in test/knowledge/knowledge-order.test.ts.
import { afterAll, beforeAll, describe } from 'vitest';
import { testOrder } from '../support/knowledge/order.contract.ts';
import type { KnowledgeWorld } from '../support/knowledge-world.ts';
import { knowledgeWorld } from '../support/knowledge-world.ts';

describe.each([3, 14, 159])('entities of documents in any order and number at a time, seed %i', (seed) => {
  let world: KnowledgeWorld;
  beforeAll(async () => {
    world = await knowledgeWorld('server');
  });
  afterAll(() => world.dispose());

  testOrder(() => world, { families: 24, concurrencies: [1, 2, 4, 8, 16, 32], seed });
});
