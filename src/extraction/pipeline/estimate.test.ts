import { describe, expect, it } from 'vitest';
import { parallelConfig } from '../../../test/support/extraction/parallel-config.ts';
import { listShape, offsetPage, resultOf, typeOf as type } from '../../../test/support/extraction/pages.ts';
import type { ContentType, PageRequest } from '../types.ts';
import type { EstimateOptions } from './estimate.ts';
import { estimate, minutesFor } from './estimate.ts';

const byOffset = (name: string) => ({ name, pagination: 'offset' as const });
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
      const total = totals[request.list.type + request.list.endpoint] ?? null;
      return Promise.resolve({ request, bytes: body, total, nextLink: null });
    },
    options,
  );
  return { result, calls };
}

describe('an estimate', () => {
  it('counts only what the vault does not have, and makes no call for the rest', async () => {
    const page = resultOf(offsetPage('users', 0, 10), 10, { total: 41 });
    const progress = [
      { type: 'groups', state: 'completed', itemsSeen: 7, done: [], failed: [] },
      { type: 'users', state: 'running', itemsSeen: 10, done: [page], failed: [] },
      { type: 'roles', state: 'queued', itemsSeen: 0, done: [], failed: [] },
    ] as const;
    const types = [type('groups'), type('users'), type('roles')];
    const { result, calls } = await estimated(types, { roles: 11 }, { progress, maxCalls: 5 });
    expect(result.types).toEqual([
      { type: 'groups', items: 7, calls: 0, isAtLeast: false },
      { type: 'users', items: 41, calls: 4, isAtLeast: false },
      { type: 'roles', items: 11, calls: 2, isAtLeast: false },
    ]);
    expect(result).toMatchObject({ calls: 6, callsThisRun: 5 });
    expect(calls.map((call) => call.list.type)).toEqual(['roles']);
  });

  it('counts pages, items requested one by one, and single calls, with one small call per list', async () => {
    const types = [
      type('users'),
      type('none'),
      type('dashboards', 'offset', { endpoints: ['', 'lookml'].map(byOffset) }),
      type('looks', 'offset', {
        endpoints: [
          { name: '', pagination: 'offset', shape: listShape, isListingOnly: true },
          { name: 'look', pagination: 'single' },
        ],
        parent: { type: 'looks', keys: { id: ['id'] } },
      }),
      type('settings', 'single'),
    ];
    const totals = { users: 41, none: 0, dashboards: 10, dashboardslookml: 11, looks: 25 };
    const { result, calls } = await estimated(types, totals);
    expect(result.types.map((one) => one.calls)).toEqual([5, 1, 1 + 2, 3 + 25, 1]);
    expect(result).toMatchObject({ calls: 38, isAtLeast: false, probes: 5 });
    expect(calls.map(({ position }) => position)).toEqual(
      calls.map(() => ({ kind: 'offset', offset: 0, limit: 1 })),
    );
  });

  it('is a lower bound without a total, for lists named inside items, and for many lists', async () => {
    const folders = Array.from({ length: 5 }, (_, index) => byOffset(`folder-${index}`));
    const types = [
      type('models'),
      type('explores', 'single', {
        parent: { type: 'models', itemsAt: ['explores'], keys: { name: ['name'] } },
      }),
      type('posts', 'offset', { parent: { type: 'models', keys: { id: ['id'] } } }),
      type('dashboards', 'offset', { endpoints: folders }),
      type('feed', 'cursor'),
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

  it('computes minutes from both rate limits', () => {
    const limits = { perMinute: 100, perSecond: 10, pauseMs: 0 };
    expect(minutesFor(0, limits)).toBe(0);
    expect(minutesFor(1, limits)).toBe(0);
    expect(minutesFor(61, limits)).toBeCloseTo(6 / 60);
    expect(minutesFor(101, limits)).toBe(1);
    expect(minutesFor(1_001, limits)).toBe(10);
    expect(minutesFor(1_001, { ...limits, pauseMs: 30_000 })).toBe(10.5);
  });
});
