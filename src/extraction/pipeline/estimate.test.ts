import { describe, expect, it } from 'vitest';
import { parallelConfig } from '../parallel-config.ts';
import type { PageRequest, ContentType } from '../types.ts';
import type { EstimateOptions } from './estimate.ts';
import { estimate, minutesFor } from './estimate.ts';

const list = { items: { kind: 'list', path: [] }, id: [['id']] } as const;
const type = (name: string, more: Partial<ContentType> = {}): ContentType => ({
  name,
  number: null,
  pagination: 'offset',
  shape: list,
  ...more,
});
const body = new Uint8Array(Buffer.from('[]'));

/** `totals` by type and listing; each call is kept. */
async function estimated(
  types: readonly ContentType[],
  totals: Readonly<Record<string, number>>,
  options: EstimateOptions = {},
) {
  const calls: PageRequest[] = [];
  const result = await estimate(
    types,
    parallelConfig({ batchSize: 10 }),
    (request) => {
      calls.push(request);
      const total = totals[request.type + (request.listing ?? '')] ?? null;
      return Promise.resolve({ request, bytes: body, total, nextLink: null });
    },
    options,
  );
  return { result, calls };
}

describe('an estimate', () => {
  it('counts only what the vault does not have, and asks for nothing that it tells', async () => {
    const request = { type: 'users', key: 'offset:0+10', kind: 'offset', offset: 0, limit: 10 } as const;
    const page = { request, itemCount: 10, rejectedCount: 0, total: 41, next: null, children: [] };
    const progress = [
      { type: 'groups', status: 'completed', itemsSeen: 7, done: [], failed: [] },
      { type: 'users', status: 'running', itemsSeen: 10, done: [page], failed: [] },
      { type: 'roles', status: 'pending', itemsSeen: 0, done: [], failed: [] },
    ] as const;
    const types = [type('groups'), type('users'), type('roles')];
    const { result, calls } = await estimated(types, { roles: 11 }, { progress, maxCalls: 5 });
    expect(result.types).toEqual([
      { type: 'groups', items: 7, calls: 0, isAtLeast: false },
      { type: 'users', items: 41, calls: 4, isAtLeast: false },
      { type: 'roles', items: 11, calls: 2, isAtLeast: false },
    ]);
    expect(result).toMatchObject({ calls: 6, callsThisRun: 5 });
    expect(calls.map((call) => call.type)).toEqual(['roles']);
  });

  it('counts pages, members of listings, and single calls, with one small call per list', async () => {
    const types = [
      type('users'),
      type('none'),
      type('dashboards', { listings: [{ name: '' }, { name: 'lookml' }] }),
      type('looks', { parent: { from: 'self', key: ['id'] } }),
      type('settings', { pagination: 'whole' }),
    ];
    const totals = { users: 41, none: 0, dashboards: 10, dashboardslookml: 11, looks: 25 };
    const { result, calls } = await estimated(types, totals);
    expect(result.types.map((one) => one.calls)).toEqual([5, 1, 1 + 2, 3 + 25, 1]);
    expect(result).toMatchObject({ calls: 38, isAtLeast: false, probes: 5 });
    expect(calls.every((request) => request.kind === 'offset' && request.limit === 1)).toBe(true);
  });

  it('says "at least" where only reading tells: no total, members named inside, a list per folder', async () => {
    const folders = Array.from({ length: 5 }, (_, index) => ({ name: `folder-${index}` }));
    const types = [
      type('models'),
      type('explores', {
        pagination: 'whole',
        parent: { from: 'models', children: ['explores'], key: ['name'] },
      }),
      type('posts', { parent: { from: 'models', key: ['id'] } }),
      type('dashboards', { listings: folders }),
      type('feed', { pagination: 'cursor' }),
    ];
    const { result, calls } = await estimated(types, { models: 4 });
    expect(result.types.map((one) => [one.calls, one.isAtLeast])).toEqual([
      [1, false],
      [0, true],
      [4, true],
      [5, true],
      [1, true],
    ]);
    expect(calls).toHaveLength(2);
  });

  it('tells minutes by both windows', () => {
    const limits = { rateLimitPerMinute: 100, rateLimitPerSecond: 10 };
    expect(minutesFor(0, limits)).toBe(0);
    expect(minutesFor(1, limits)).toBe(0);
    expect(minutesFor(61, limits)).toBeCloseTo(6 / 60);
    expect(minutesFor(101, limits)).toBe(1);
    expect(minutesFor(1_001, limits)).toBe(10);
  });
});
