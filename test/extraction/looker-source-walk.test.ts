import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/core/index.ts';
import { createUndiciTransport } from '../../src/platform/http-client/undici-transport.ts';
import { startLookerSimulator } from '../../src/simulators/looker/server.ts';
import { walkSource } from '../support/walk-source.ts';
import { createLooker } from './looker-source-world.ts';

const items = {
  dashboards: 25,
  lookml_dashboards: 12,
  looks: 23,
  lookml_models: 3,
  explores: 11,
  folders: 20,
  boards: 5,
  users: 9,
  groups: 4,
  roles: 3,
  permission_sets: 2,
  model_sets: 1,
  scheduled_plans: 10,
};

const expected = { ...items, dashboards: items.dashboards + items.lookml_dashboards };

async function walkLooker(options: { readonly hasTotal?: boolean; readonly pageLimit?: number }) {
  const simulator = await startLookerSimulator({ items, ...options });
  const transport = createUndiciTransport({});
  onTestFinished(async () => {
    await transport.close();
    await simulator.stop();
  });
  const { url: baseUrl, clientId, clientSecret } = simulator;
  const source = createLooker({ baseUrl, clientId, clientSecret, transport, clock: systemClock });
  return { walk: await walkSource(source, 10), stats: simulator.stats() };
}

describe('a simulated Looker, read as the pipeline reads it', () => {
  it.for([
    ['with totals', {}],
    ['without totals', { hasTotal: false }],
    ['with shorter pages than requested', { pageLimit: 4 }],
  ] as const)('returns all twelve types completely and exactly once, %s', async ([, options]) => {
    const { walk } = await walkLooker(options);
    const { lookml_dashboards: _, ...counts } = expected;
    expect(Object.fromEntries(Object.entries(walk.ids).map(([type, ids]) => [type, ids.length]))).toEqual(
      counts,
    );
    for (const ids of Object.values(walk.ids)) expect(new Set(ids).size).toBe(ids.length);
    for (const [type, all] of Object.entries(walk.items))
      expect(
        all.every(({ name }) => name !== null),
        type,
      ).toBe(true);
    expect(walk.rejected).toBe(0);
    expect(new Set(walk.requests.map(({ list, key }) => `${list.type} ${key}`)).size).toBe(
      walk.requests.length,
    );
  });

  it('keeps LookML dashboards apart by their ids, explores by their model, and looks with their query', async () => {
    const { walk } = await walkLooker({});
    expect(walk.ids['dashboards']?.filter((id) => /^\w+::\w+$/.test(id))).toHaveLength(12);
    expect(walk.ids['explores']?.every((id) => /^\w+::\w+$/.test(id))).toBe(true);
    const look = JSON.parse(Buffer.from(walk.items['looks']?.[0]?.raw ?? []).toString()) as object;
    expect(look).toHaveProperty('query.fields');
    expect(walk.items['looks']?.[0]).toMatchObject({
      owner: expect.any(String) as string,
      folder: expect.any(String) as string,
      createdAt: expect.any(Number) as number,
      updatedAt: expect.any(Number) as number,
    });
  });

  it('costs ceil(items / page) calls per list where totals are sent, and one per look and explore', async () => {
    const { stats } = await walkLooker({});
    expect(stats.calls).toMatchObject({
      'POST /login': 1,
      'GET /dashboards/search': 3,
      'GET /dashboards/lookml/search': 2,
      'GET /looks/search': 3,
      'GET /looks/{look_id}': 23,
      'GET /lookml_models': 1,
      'GET /folders/search': 2,
      'GET /users/search': 1,
      'GET /scheduled_plans/search': 2,
    });
    expect(stats.responded).toEqual({ 200: stats.total });
  });
});
