// Search over HTTP: the founding document's shape, its limits, and nobody finds anything of another.
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CoreError, silentLog } from '../../src/core/index.ts';
import { buildServer } from '../../src/http/index.ts';
import { openSearch } from '../../src/knowledge/index.ts';
import { PostgresLexicalIndex } from '../../src/knowledge/postgres/postgres-lexical-index.ts';
import { PostgresSearchStore } from '../../src/knowledge/postgres/postgres-search-store.ts';
import { PostgresVectorIndex } from '../../src/knowledge/postgres/postgres-vector-index.ts';
import { Spaces } from '../../src/knowledge/spaces/spaces.ts';
import { adminToken, testHouse } from '../support/http-dependencies.ts';
import { emptyKnowledgeDesks } from '../support/knowledge-desks.ts';
import type { KnowledgeWorld } from '../support/knowledge-world.ts';
import { embeddersOf, knowledgeWorld } from '../support/knowledge-world.ts';
import { emptyTenantDesks } from '../support/tenant-desks.ts';

describe('search over HTTP', () => {
  let world: KnowledgeWorld;
  let server: FastifyInstance;

  beforeAll(async () => {
    world = await knowledgeWorld();
    const [acme, other] = [await world.organization(), await world.organization()];
    for (const [owner, word] of [
      [acme, 'acme'],
      [other, 'other'],
      [null, 'house'],
    ] as const) {
      const space = await world.spaces.ensure(owner, 'default');
      await world.accept(space, { title: `Plan of ${word}`, text: `The secret harbour of ${word}.` });
    }
    const organizations = { acme, other };
    const { dependencies } = testHouse();
    server = await buildServer({
      ...dependencies,
      access: {
        ...dependencies.access,
        organizationOf: (key) => ({ 'acme-key': acme, 'other-key': other })[key] ?? null,
      },
      tenants: {
        ...emptyTenantDesks,
        organizations: {
          ...emptyTenantDesks.organizations,
          find: (reference) => {
            const found = Object.entries(organizations).find((entry) => entry.includes(reference));
            if (!found) throw new CoreError('NOT_FOUND', 'There is no such organization.');
            return { id: found[1], name: found[0], createdAt: new Date(0) };
          },
        },
      },
      knowledge: {
        ...emptyKnowledgeDesks,
        spaces: new Spaces({ store: world.spaces, onRemoved: async () => undefined }),
        search: openSearch({
          ...world,
          lexical: new PostgresLexicalIndex(world.database),
          embedders: embeddersOf(null),
          vectors: new PostgresVectorIndex(world.database),
          store: new PostgresSearchStore(world.database),
          graph: { backend: 'off', expand: async () => [] },
          log: silentLog,
        }),
      },
    });
  });
  afterAll(async () => {
    await server.close();
    await world.dispose();
  });

  interface Answer {
    readonly primary_results: readonly { readonly title: string }[];
    readonly error: { readonly code: string };
  }
  async function search(
    key: string,
    body: object,
  ): Promise<{ readonly status: number; readonly body: Answer }> {
    const answer = await server.inject({
      method: 'POST',
      url: '/api/v1/knowledge/search',
      headers: { authorization: `Bearer ${key}` },
      payload: body,
    });
    return { status: answer.statusCode, body: answer.json<Answer>() };
  }

  it('answers in the document’s shape, with nothing that was not asked for, and no warning when nothing is missing', async () => {
    const { status, body } = await search('acme-key', { query: 'harbour' });
    expect(status).toBe(200);
    expect(body).toEqual({
      primary_results: [
        expect.objectContaining({
          title: 'Plan of acme',
          text: 'The secret harbour of acme.',
          source_system: 'test',
          start_char: 0,
          highlights: [{ start: 11, end: 18 }],
        }),
      ],
      related_context: null,
      entities: null,
      expand_options: expect.any(Array) as unknown[],
    });
  });

  it('says what was left out', async () => {
    const wish = { query: 'harbour', graph_expand: true, include_entities: true };
    expect((await search('acme-key', wish)).body).toMatchObject({
      related_context: [],
      entities: [],
      warning: 'Graph expansion unavailable: the graph is switched off (GRAPH_BACKEND=off).',
    });
  });

  it('finds for each key only what is its organization’s', async () => {
    const titles = async (key: string, more: object = {}) =>
      (await search(key, { query: 'secret harbour', limit: 50, ...more })).body.primary_results.map(
        ({ title }) => title,
      );
    expect(await titles('acme-key')).toEqual(['Plan of acme']);
    expect(await titles('other-key')).toEqual(['Plan of other']);
    expect(await titles(adminToken)).toEqual(['Plan of house']);
    expect(await titles(adminToken, { organization: 'acme' })).toEqual(['Plan of acme']);
    expect(await titles('acme-key', { query: 'house other' })).toEqual([]);
  });

  it.each([
    ['another organization', { query: 'x', organization: 'other' }, 403],
    ['a space that is not there', { query: 'x', space: 'nowhere' }, 404],
    ['no query', {}, 400],
    ['an empty query', { query: '' }, 400],
    ['a query of blanks', { query: '  ' }, 400],
    ['a limit of 51', { query: 'x', limit: 51 }, 400],
    ['a filter nobody knows', { query: 'x', filters: { color: 'red' } }, 400],
    ['a category nobody knows', { query: 'x', graph_filters: ['Gossip'] }, 400],
    [
      'times in the wrong order',
      { query: 'x', filters: { from: '2026-02-01T00:00:00Z', to: '2026-01-01T00:00:00Z' } },
      400,
    ],
  ])('refuses %s', async (_, body, status) => {
    expect((await search('acme-key', body)).status).toBe(status);
  });
});
