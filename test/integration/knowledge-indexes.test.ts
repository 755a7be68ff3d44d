// What search stands on: the lexical index and the vectors, on both kinds of Postgres.
import { afterAll, beforeAll, describe } from 'vitest';
import type { KnowledgeWorld } from '../support/knowledge-world.ts';
import { knowledgeWorld } from '../support/knowledge-world.ts';
import { lexicalSuite } from './knowledge-lexical-suite.ts';
import { vectorsSuite } from './knowledge-vectors-suite.ts';

describe.each(['server', 'embedded'] as const)('on Postgres (%s)', (kind) => {
  let world: KnowledgeWorld;
  beforeAll(async () => {
    world = await knowledgeWorld(kind);
  });
  afterAll(() => world.dispose());

  describe('the lexical index', () => lexicalSuite(() => world));
  describe('vectors', () => vectorsSuite(() => world));
});
