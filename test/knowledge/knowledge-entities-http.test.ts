// Entities over HTTP on a real store: two organizations, neither of which sees anything of the other.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CoreError } from '../../src/core/index.ts';
import { buildServer } from '../../src/http/index.ts';
import type { Space } from '../../src/knowledge/index.ts';
import { sql } from '../../src/platform/postgres/index.ts';
import { entityWorld } from '../support/entity-world.ts';
import { asAdmin, organizationKey, createTestDeps } from '../support/http-dependencies.ts';
import { emptyKnowledgeServices } from '../support/knowledge-services.ts';
import type { KnowledgeWorld } from '../support/knowledge-world.ts';
import { knowledgeWorld } from '../support/knowledge-world.ts';

let world: KnowledgeWorld;
beforeAll(async () => {
  world = await knowledgeWorld();
});
afterAll(() => world.dispose());

const base = '/api/v1/knowledge';
const asTenant = { authorization: `Bearer ${organizationKey}` };

/** The organization's key reaches `own`, the admin token `app`. */
async function serverFor(own: Space, app: Space) {
  const at = entityWorld(world);
  const of = async (organizationId: string | null): Promise<Space> => {
    if (organizationId === null) return app;
    if (organizationId === 'organization-1') return own;
    throw new CoreError('NOT_FOUND', 'There is no such space.');
  };
  const { dependencies } = createTestDeps({
    knowledge: {
      ...emptyKnowledgeServices,
      entities: at.service,
      spaces: { ...emptyKnowledgeServices.spaces, resolve: of },
    },
  });
  const server = await buildServer(dependencies);
  const call = async (
    method: 'GET' | 'POST',
    path: string,
    headers: Record<string, string>,
    payload?: object,
  ) => {
    const answer = await server.inject({
      method,
      url: `${base}${path}`,
      headers,
      ...(payload ? { payload } : {}),
    });
    return {
      status: answer.statusCode,
      body: answer.json<Record<string, never>>() as Record<string, unknown>,
    };
  };
  return { at, call };
}

it('lists, gets, merges, unmerges, splits and decides entities of the organization only', async () => {
  const [own, app] = [await world.space(await world.organization()), await world.space()];
  const { at, call } = await serverFor(own, app);
  const { ids } = await at.read(own, ['Alice Chen', 'Bob Smith']);
  await at.read(own, ['Alice Chen']);
  await at.read(own, ['A. Chen']);
  await at.read(app, ['Zoe Young']);
  const [alice = '', bob = ''] = ids;

  const page = await call('GET', '/entities?limit=2', asTenant);
  expect(page).toMatchObject({
    status: 200,
    body: { entities: [{}, {}], next: expect.any(String) as string },
  });
  expect(
    (await call('GET', `/entities?limit=2&after=${String(page.body['next'])}`, asTenant)).body,
  ).toMatchObject({ next: null });
  expect((await call('GET', '/entities?name=alice&type=person', asTenant)).body).toMatchObject({
    entities: [{ id: alice }],
  });
  const { pairs } = (await call('GET', '/pairs', asTenant)).body as { pairs: { id: string }[] };
  const pairId = pairs[0]?.id ?? '';
  const shown = (await call('GET', `/entities/${alice}`, asTenant)).body as {
    mentions: { id: string }[];
  };
  const mention = shown.mentions[0]?.id ?? '';
  expect(shown.mentions[0]).toMatchObject({ relation: null });
  await world.database.query(
    sql`update entity_mention set relation = 'owner' where mention_id = ${mention}::uuid`,
  );
  expect((await call('GET', `/entities/${alice}`, asTenant)).body).toMatchObject({
    mentions: [{ id: mention, relation: 'owner' }, { relation: null }],
  });
  const merged = await call('POST', '/merges', asTenant, { winner_id: alice, loser_id: bob });
  expect(merged).toMatchObject({ status: 201, body: { decided_by: 'organization-1', loser_id: bob } });
  const mergeId = String(merged.body['id']);

  // The admin's own space has none of it.
  for (const [method, path, body] of [
    ['GET', `/entities/${alice}`],
    ['POST', '/merges', { winner_id: alice, loser_id: bob }],
    ['POST', `/merges/${mergeId}/undo`, {}],
    ['POST', `/entities/${alice}/split`, { mention_ids: [mention], name: 'X' }],
    ['POST', `/pairs/${pairId}/verdict`, { verdict: 'same' }],
  ] as const)
    expect((await call(method, path, asAdmin, body)).status, path).toBe(404);
  expect((await call('GET', '/pairs', asAdmin)).body).toEqual({ pairs: [] });
  expect((await call('GET', '/entities', asAdmin)).body).toMatchObject({
    entities: [{ canonical_name: 'Zoe Young' }],
  });

  expect(await call('POST', '/merges', asTenant, { winner_id: alice, loser_id: bob })).toMatchObject({
    status: 409,
  });
  expect(await call('POST', `/merges/${mergeId}/undo`, asTenant)).toMatchObject({
    status: 200,
    body: { loser_id: bob, later_mentions: { moved: 0, unclear: [] } },
  });
  const parted = await call('POST', `/entities/${alice}/split`, asTenant, {
    mention_ids: [mention],
    name: 'Alice Wong',
  });
  expect(parted).toMatchObject({ status: 201, body: { canonical_name: 'Alice Wong' } });
  expect(await call('POST', `/pairs/${pairId}/verdict`, asTenant, { verdict: 'different' })).toMatchObject({
    status: 200,
    body: { state: 'different', decided_by: 'organization-1' },
  });
  expect((await call('POST', '/merges', asTenant, { winner_id: 'x', loser_id: bob })).status).toBe(400);
});

it('accepts the space as a query parameter on every route and rejects unknown parameters', async () => {
  const space = await world.space();
  const at = entityWorld(world);
  const named: (string | undefined)[] = [];
  const { dependencies } = createTestDeps({
    knowledge: {
      ...emptyKnowledgeServices,
      entities: at.service,
      spaces: {
        ...emptyKnowledgeServices.spaces,
        resolve: async (_, name) => {
          named.push(name);
          return space;
        },
      },
    },
  });
  const server = await buildServer(dependencies);
  const { ids } = await at.read(space, ['Alice Chen', 'Bob Smith']);
  const [winner, loser] = ids;
  const inject = async (method: 'GET' | 'POST' | 'DELETE', path: string, payload?: object) => {
    const answer = await server.inject({
      method,
      url: base + path,
      headers: asTenant,
      ...(payload ? { payload } : {}),
    });
    return { status: answer.statusCode, message: answer.body };
  };
  const unknown = world.ids.uuid();
  const wrong = { status: 400, message: expect.stringContaining('is not known here') as string };
  for (const [method, path, body] of [
    ['GET', '/entities'],
    ['GET', `/entities/${winner}`],
    ['GET', '/pairs'],
    ['POST', '/merges', { winner_id: winner, loser_id: loser }],
    ['POST', `/merges/${unknown}/undo`, {}],
    ['POST', `/entities/${winner}/split`, { mention_ids: [unknown], name: 'X' }],
    ['POST', `/pairs/${unknown}/verdict`, { verdict: 'same' }],
  ] as const) {
    expect((await inject(method, `${path}?space=hr`, body)).status, path).not.toBe(403);
    expect(named.at(-1), path).toBe('hr');
    expect(await inject(method, `${path}?sapce=hr`, body), path).toMatchObject(wrong);
    if (body) expect(await inject(method, path, { ...body, space: 'hr' }), path).toMatchObject(wrong);
  }
  // A route without parameters rejects parameters too.
  expect(await inject('POST', '/search?sapce=hr', { query: 'x' })).toMatchObject(wrong);
  expect(await inject('POST', '/artifacts?sapce=hr', { text: 'x' })).toMatchObject(wrong);
  expect(await inject('DELETE', `/artifacts/${unknown}`, { space: 'hr' })).toMatchObject(wrong);
});
