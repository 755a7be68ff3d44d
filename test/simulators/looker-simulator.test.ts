// The simulated Looker over real HTTP: login, listings, single items, changes, counts.
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../support/core/virtual-clock.ts';
import type { LookerSimulator, LookerSimulatorOptions } from '../../src/simulators/looker/server.ts';
import { simulatedTypes, startLookerSimulator } from '../../src/simulators/looker/server.ts';
import { listings, SimulatorClient } from './looker-simulator-client.ts';
import { schemaProblems } from './looker-simulator-schema.ts';

const running: LookerSimulator[] = [];
const everything = Object.fromEntries(simulatedTypes.map((type) => [type, 23]));

async function start(options: LookerSimulatorOptions = {}) {
  const simulator = await startLookerSimulator({ items: everything, ...options });
  running.push(simulator);
  const client = new SimulatorClient(simulator);
  await client.login();
  return { simulator, client };
}

afterEach(async () => {
  await Promise.all(running.splice(0).map((simulator) => simulator.stop()));
});

describe('login', () => {
  it('returns a token that works in both header forms until logout', async () => {
    const { client } = await start();
    expect((await client.get('/user')).status).toBe(200);
    expect((await client.get('/user', 'Bearer')).status).toBe(200);
    expect((await client.call('DELETE', '/logout')).status).toBe(204);
    const refused = await client.get('/user');
    expect(refused.status).toBe(401);
    expect(refused.body).toEqual({ message: expect.any(String), documentation_url: expect.any(String) });
  });

  it('rejects wrong credentials', async () => {
    const { client } = await start();
    expect((await client.login('wrong')).status).toBe(404);
    expect((await client.get('/looks/search')).status).toBe(401);
  });

  it('expires after its lifetime', async () => {
    const clock = new VirtualClock();
    const { client, simulator } = await start({ clock, tokenLifetimeMs: 60_000 });
    const { body } = await client.login();
    expect(body).toMatchObject({ token_type: 'Bearer', expires_in: 60 });
    await clock.advance(59_999);
    expect((await client.get('/user')).status).toBe(200);
    await clock.advance(1);
    expect((await client.get('/user')).status).toBe(401);
    await client.login();
    simulator.expireTokens();
    expect((await client.get('/user')).status).toBe(401);
  });
});

describe('a listing', () => {
  it.each(listings)('of %s returns every item once, page by page, with the total', async (_type, path) => {
    const { client } = await start();
    const ids = await client.allIds(path);
    expect(ids).toHaveLength(23);
    expect(new Set(ids).size).toBe(23);
    const page = await client.get(`${path}${path.includes('?') ? '&' : '?'}limit=10&offset=10`);
    expect(page.headers.get('x-total-count')).toBe('23');
    expect(page.headers.get('link')).toMatch(/offset=20[^,]*>; rel="next"/);
    const last = await client.get(`${path}${path.includes('?') ? '&' : '?'}limit=3&offset=20`);
    expect(last.headers.get('link')).not.toContain('rel="next"');
  });

  it('has a random order in every call without a sort', async () => {
    const { client } = await start();
    const orders = await Promise.all(Array.from({ length: 6 }, () => client.ids('/users/search?limit=10')));
    expect(new Set(orders.map((ids) => ids.join())).size).toBeGreaterThan(1);
  });

  it('sorts, filters and picks fields', async () => {
    const { client } = await start();
    const { body } = await client.get(
      '/looks/search?sorts=title desc,id&fields=id,title,folder(id)&folder_id=3',
    );
    const looks = body as { title: string; folder: object }[];
    const titles = looks.map(({ title }) => title);
    expect(titles.length).toBeGreaterThan(0);
    expect(titles).toEqual([...titles].sort((a, b) => (a < b ? 1 : -1)));
    for (const look of looks)
      expect(look).toEqual({ id: expect.any(String), title: look.title, folder: { id: '3' } });
    expect(await client.ids('/users/search?sorts=id desc&limit=2')).toEqual(['23', '22']);
    expect((await client.ids('/folders/1/children')).toSorted()).toEqual(['2', '3', '4', '5']);
  });

  it('returns at most the page limit, and no total when totals are off', async () => {
    const { client } = await start({ pageLimit: 5, hasTotal: false });
    const { body, headers } = await client.get('/users/search?limit=20&sorts=id');
    expect(body).toHaveLength(5);
    expect(headers.get('x-total-count')).toBeNull();
    expect(headers.get('link')).toContain('limit=5&sorts=id&offset=5>; rel="next"');
  });

  it('lists only scheduled plans of the caller, of which there are none, unless all are requested', async () => {
    const { client } = await start();
    expect(await client.ids('/scheduled_plans')).toEqual([]);
    expect(await client.ids('/scheduled_plans?all_users=true')).toHaveLength(23);
    const { body } = await client.get('/scheduled_plans/3');
    const { user_id: owner } = body as { user_id: string };
    expect(await client.ids(`/scheduled_plans/search?user_id=${owner}`)).toContain('3');
  });

  it('is empty past the end', async () => {
    const { client } = await start();
    expect(await client.ids('/dashboards/search?sorts=id&limit=10&offset=30')).toEqual([]);
    expect(await client.ids('/dashboards/search?limit=10&offset=30')).toEqual([]);
  });

  it('explains what is wrong with a query', async () => {
    const { client } = await start();
    const { status, body } = await client.get('/scheduled_plans/search?limit=many');
    expect(status).toBe(422);
    expect(body).toMatchObject({
      message: 'Validation Failed',
      errors: [{ field: 'limit', code: 'invalid' }],
    });
  });
});

describe('a single item', () => {
  it('is found at the ids in listings and models', async () => {
    const { client } = await start();
    for (const id of await client.ids('/looks/search?limit=3'))
      expect((await client.get(`/looks/${id}`)).body).toMatchObject({
        id,
        query: { model: expect.any(String) },
      });
    const { body } = await client.get('/lookml_models');
    const paths = (body as { name: string; explores: { name: string }[] }[]).flatMap(({ name, explores }) =>
      explores.map((explore) => `/lookml_models/${name}/explores/${explore.name}`),
    );
    expect(paths).toHaveLength(23);
    const found = await Promise.all(paths.map((path) => client.get(path)));
    expect(new Set(found.map(({ body }) => (body as { id: string }).id)).size).toBe(23);
  });

  it.each(['/looks/999', '/lookml_models/none/explores/orders', '/nothing', '/looks/1/2/3', '/users/%E0'])(
    'that does not exist is not found: %s',
    async (path) => {
      const { client } = await start();
      expect((await client.get(path)).status).toBe(404);
    },
  );
});

describe('content', () => {
  it('is the same for the same seed', async () => {
    const path = '/dashboards/search?sorts=id&limit=20';
    const [one, same, other] = await Promise.all([7, 7, 8].map((seed) => start({ seed })));
    const body = async (world: typeof one) => (await world?.client.get(path))?.body;
    expect(await body(same)).toEqual(await body(one));
    expect(await body(other)).not.toEqual(await body(one));
  });

  it('changes its content by HTTP between two reads', async () => {
    const { client, simulator } = await start();
    const read = async () => (await client.get('/groups/search?sorts=id&limit=50')).body as { id: string }[];
    const before = await read();
    const response = await fetch(`${simulator.url}/__content`, {
      method: 'POST',
      body: JSON.stringify({ type: 'groups', change: ['2'], delete: ['3'], add: 1 }),
    });
    expect(await response.json()).toEqual({ changed: ['2'], rewritten: [], deleted: ['3'], added: ['24'] });
    const after = await read();
    const byId = new Map(before.map((group) => [group.id, group]));
    expect(
      after
        .filter((group) => JSON.stringify(byId.get(group.id)) !== JSON.stringify(group))
        .map(({ id }) => id),
    ).toEqual(['2', '24']);
    expect(after.map(({ id }) => id)).not.toContain('3');
  });

  it('rejects an invalid change by name', async () => {
    const { simulator } = await start();
    const post = (path: string, body: unknown) =>
      fetch(`${simulator.url}${path}`, { method: 'POST', body: JSON.stringify(body) });
    const response = await post('/__content', { type: 'cats', add: -1 });
    expect(response.status).toBe(400);
    expect(((await response.json()) as { message: string }).message).toMatch(/type: .*; add: /);
    expect((await post('/__configure', { latency: 5 })).status).toBe(400);
    expect((await fetch(`${simulator.url}/__nothing`)).status).toBe(404);
  });
});

describe('stats', () => {
  it('count every call of the API and nothing else', async () => {
    const { client, simulator } = await start();
    await client.get('/looks/search?limit=1');
    await client.get('/looks/1');
    await client.get('/looks/2');
    await client.get('/nothing');
    const response = await fetch(`${simulator.url}/__stats`);
    expect(await response.json()).toEqual({
      calls: { 'GET (unknown)': 1, 'GET /looks/search': 1, 'GET /looks/{look_id}': 2, 'POST /login': 1 },
      total: 5,
      maxPerSecond: 3,
      maxPerMinute: 3,
      responded: { '200': 4, '404': 1 },
    });
    await fetch(`${simulator.url}/__reset`, { method: 'POST' });
    expect(simulator.stats()).toEqual({
      calls: {},
      total: 0,
      maxPerSecond: 0,
      maxPerMinute: 0,
      responded: {},
    });
  });
});

// Runs only where Looker's own OpenAPI document is available.
const openApiFile = process.env['LOOKER_OPENAPI'];
if (openApiFile !== undefined)
  describe("Looker's OpenAPI document", () => {
    const paths = [
      ...listings.map(([, path]) => path),
      '/dashboards', '/looks', '/folders', '/boards', '/users', '/groups', '/roles', '/permission_sets', '/model_sets',
      '/scheduled_plans?all_users=true', '/versions', '/user', '/dashboards/3', '/looks/3', '/lookml_models/finance',
      '/lookml_models/finance/explores/orders', '/folders/1/children', '/folders/3', '/boards/3', '/users/3',
      '/groups/3', '/roles/3', '/permission_sets/3', '/model_sets/3', '/scheduled_plans/3',
    ]; // oxfmt-ignore

    it.each(paths)('matches the response of %s', async (path) => {
      const document = JSON.parse(readFileSync(openApiFile, 'utf8')) as object;
      const { client, simulator } = await start();
      simulator.reset();
      const { status, body } = await client.get(path);
      expect(status).toBe(200);
      const endpoint = Object.keys(simulator.stats().calls)[0] ?? '';
      expect(schemaProblems(document, endpoint, body)).toEqual([]);
    });
  });
