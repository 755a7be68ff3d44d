// Search over HTTP: the shape of the founding document, limits, and isolation between organizations.
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CoreError, silentLog } from '../../src/core/index.ts';
import { buildServer } from '../../src/http/index.ts';
import { offGraph } from '../../src/knowledge/graph/graph.ts';
import { LexicalIndex } from '../../src/knowledge/search/lexical-index.ts';
import { SearchStore } from '../../src/knowledge/search/results.ts';
import { Search } from '../../src/knowledge/search/search.ts';
import { VectorIndex } from '../../src/knowledge/vectors/vector-index.ts';
import { adminToken, organizationKeysOf, createTestDeps } from '../support/http-dependencies.ts';
import { emptyKnowledgeServices } from '../support/knowledge-services.ts';
import type { KnowledgeWorld } from '../support/knowledge-world.ts';
import { embeddersOf, knowledgeWorld } from '../support/knowledge-world.ts';
import { emptyTenantServices } from '../support/tenancy/tenant-services.ts';

describe('search over HTTP', () => {
  let world: KnowledgeWorld;
  let server: FastifyInstance;

  beforeAll(async () => {
    world = await knowledgeWorld();
    const [acme, other] = [await world.organization(), await world.organization()];
    for (const [owner, word] of [
      [acme, 'acme'],
      [other, 'other'],
      [null, 'server'],
    ] as const) {
      const space = await world.spaces.ensure(owner, 'default');
      await world.accept(space, { title: `Plan of ${word}`, text: `The secret harbor of ${word}.` });
    }
    const organizations = { acme, other };
    const { dependencies } = createTestDeps();
    server = await buildServer({
      ...dependencies,
      access: {
        ...dependencies.access,
        organizationKeys: organizationKeysOf({ 'acme-key': acme, 'other-key': other }),
      },
      tenants: {
        ...emptyTenantServices,
        organizations: {
          ...emptyTenantServices.organizations,
          find: (reference) => {
            const found = Object.entries(organizations).find((entry) => entry.includes(reference));
            if (!found) throw new CoreError('NOT_FOUND', 'There is no such organization.');
            return { id: found[1], name: found[0], createdAt: new Date(0) };
          },
        },
      },
      knowledge: {
        ...emptyKnowledgeServices,
        spaces: world.spaces,
        search: new Search({
          ...world,
          lexical: new LexicalIndex(world.database),
          embedders: embeddersOf(null),
          vectors: new VectorIndex(world.database),
          store: new SearchStore(world.database),
          graph: offGraph,
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
    readonly primary_results: readonly { readonly title: string; readonly text: string }[];
    readonly error: { readonly code: string; readonly message: string };
  }
  async function search(
    key: string,
    body: object,
    query = '',
  ): Promise<{ readonly status: number; readonly body: Answer }> {
    const answer = await server.inject({
      method: 'POST',
      url: `/api/v1/knowledge/search${query}`,
      headers: { authorization: `Bearer ${key}` },
      payload: body,
    });
    return { status: answer.statusCode, body: answer.json<Answer>() };
  }

  it('responds in the shape of the founding document, without unrequested parts and without a warning when complete', async () => {
    const { status, body } = await search('acme-key', { query: 'harbor' });
    expect(status).toBe(200);
    expect(body).toEqual({
      primary_results: [
        expect.objectContaining({
          title: 'Plan of acme',
          text: 'The secret harbor of acme.',
          source_system: 'test',
          start_char: 0,
          highlights: [{ start: 11, end: 17 }],
        }),
      ],
      related_context: null,
      entities: null,
      expand_options: expect.any(Array) as unknown[],
    });
  });

  it('reports what was omitted', async () => {
    const request = { query: 'harbor', graph_expand: true, include_entities: true };
    expect((await search('acme-key', request)).body).toMatchObject({
      related_context: [],
      entities: [],
      warning: 'Graph expansion unavailable: the graph is switched off (GRAPH_BACKEND=off).',
    });
  });

  it('returns to each key only results of its organization', async () => {
    const titles = async (key: string, more: object = {}) =>
      (await search(key, { query: 'secret harbor', limit: 50, ...more })).body.primary_results.map(
        ({ title }) => title,
      );
    expect(await titles('acme-key')).toEqual(['Plan of acme']);
    expect(await titles('other-key')).toEqual(['Plan of other']);
    expect(await titles(adminToken)).toEqual(['Plan of server']);
    expect(await titles(adminToken, { organization: 'acme' })).toEqual(['Plan of acme']);
    expect(await titles('acme-key', { query: 'server other' })).toEqual([]);
  });

  it('accepts the space as a query parameter and rejects unknown parameters', async () => {
    await world.accept(await world.spaces.ensure(null, 'elsewhere'), { text: 'A harbor elsewhere.' });
    const where = '?space=elsewhere';
    const { body } = await search(adminToken, { query: 'harbor' }, where);
    expect(body.primary_results).toMatchObject([{ text: 'A harbor elsewhere.' }]);
    const inBody = await search(adminToken, { query: 'harbor', space: 'default' }, where);
    expect(inBody.body.primary_results).toMatchObject([{ title: 'Plan of server' }]);
    expect((await search(adminToken, { query: 'harbor' }, '?color=red')).status).toBe(400);
  });

  it('accepts days as well as times, and includes the whole last day', async () => {
    const space = await world.spaces.ensure(null, 'days');
    const sourceTs = new Date('2026-03-01T18:00:00Z');
    await world.accept(space, { text: 'An evening at the harbor.', sourceTs });
    const found = async (filters: object) => {
      const { status, body } = await search(adminToken, { query: 'harbor', space: 'days', filters });
      return status === 200 ? body.primary_results.length : body.error.message;
    };
    expect(await found({ from: '2026-03-01', to: '2026-03-01' })).toBe(1);
    expect(await found({ to: '2026-02-28' })).toBe(0);
    expect(await found({ from: '2026-03-02' })).toBe(0);
    expect(await found({ to: '2026-03-01T00:00:00Z' })).toBe(0);
    expect(await found({ to: '2026-13-01' })).toContain('must be a day or a moment in UTC, like 2026-03-01');
  });

  it.each([
    ['another organization', { query: 'x', organization: 'other' }, 403],
    ['a space that is not there', { query: 'x', space: 'nowhere' }, 404],
    ['no query', {}, 400],
    ['an empty query', { query: '' }, 400],
    ['a query of blanks', { query: '  ' }, 400],
    ['a query that shows nothing', { query: '\u200b\u2060 \ufeff' }, 400],
    ['an unknown field', { query: 'x', color: 'red' }, 400],
    ['a limit of 51', { query: 'x', limit: 51 }, 400],
    ['an unknown filter', { query: 'x', filters: { color: 'red' } }, 400],
    ['an unknown category', { query: 'x', graph_filters: ['Gossip'] }, 400],
    [
      'times in the wrong order',
      { query: 'x', filters: { from: '2026-02-01T00:00:00Z', to: '2026-01-01T00:00:00Z' } },
      400,
    ],
    ['a day that is none', { query: 'x', filters: { to: '2026-02-30' } }, 400],
    ['a time that is none', { query: 'x', filters: { from: 'yesterday' } }, 400],
  ])('rejects %s', async (_, body, status) => {
    expect((await search('acme-key', body)).status).toBe(status);
  });
});
