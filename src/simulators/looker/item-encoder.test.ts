import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ItemState } from './item-encoder.ts';
import { ItemEncoder } from './item-encoder.ts';
import type { World } from './item-parts.ts';
import { itemGenerators } from './items.ts';
import type { SimulatedType } from './types.ts';
import { simulatedTypes } from './types.ts';

const world = Object.fromEntries(simulatedTypes.map((type) => [type, 50])) as World;
const plain: ItemState = { index: 0, version: 0, isRewritten: false, isWhole: false, joined: {} };

function encode(
  type: SimulatedType,
  state: Partial<ItemState> = {},
  settings = { seed: 1, itemBytes: 0 },
): Buffer {
  return Buffer.concat(new ItemEncoder({ world, ...settings }).encode(type, { ...plain, ...state }));
}

const parsed = (bytes: Buffer) => JSON.parse(bytes.toString()) as Record<string, unknown>;

describe('an item', () => {
  it.each(simulatedTypes)('of %s has the same bytes for the same seed, and others for another', (type) => {
    const bytes = encode(type, { index: 7 });
    expect(encode(type, { index: 7 })).toEqual(bytes);
    expect(encode(type, { index: 8 })).not.toEqual(bytes);
    expect(encode('dashboards', {}, { seed: 2, itemBytes: 0 })).not.toEqual(encode('dashboards'));
  });

  it('is filled up to exactly the configured size, with any characters', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...simulatedTypes),
        fc.integer({ min: 0, max: 49 }),
        fc.integer({ min: 4_000, max: 30_000 }),
        (type, index, itemBytes) => {
          const bytes = encode(type, { index, isWhole: true }, { seed: 1, itemBytes });
          expect(bytes).toHaveLength(itemBytes);
          expect(() => parsed(bytes)).not.toThrow();
        },
      ),
      { numRuns: 60 },
    );
  });

  it.each(simulatedTypes)('of %s shows a change, and a later time if it has one', (type) => {
    const [before, after] = [0, 1].map((version) => parsed(encode(type, { version })));
    expect(after).not.toEqual(before);
    const time = (item: typeof before) => Date.parse(String(item?.['updated_at']));
    if (before?.['updated_at'] !== undefined) expect(time(after)).toBeGreaterThan(time(before));
  });

  it('that is rewritten has the same content in other bytes', () => {
    const [one, other] = [encode('users'), encode('users', { isRewritten: true })];
    expect(other).not.toEqual(one);
    expect(parsed(other)).toEqual(parsed(one));
  });

  it('has its query only when it is requested alone', () => {
    expect(parsed(encode('looks'))).not.toHaveProperty('query');
    expect(parsed(encode('looks', { isWhole: true }))).toHaveProperty('query.model');
  });

  it.each(['users', 'groups', 'roles', 'permission_sets', 'model_sets', 'folders'] as const)(
    'of %s has no modification time',
    (type) => {
      expect(parsed(encode(type))).not.toHaveProperty('updated_at');
    },
  );
});

describe('an item that is written', () => {
  const time = '2026-10-01T09:00:00.000+00:00';
  const written = {
    dashboards: [
      {
        title: 'Revenue',
        description: 'Net of returns.',
        updated_at: time,
        dashboard_elements: [{ title: 'By month' }],
        unheard_of: 1,
      },
    ],
    looks: [{ query: { model: 'finance' } }],
  };
  const item = (type: SimulatedType, state: Partial<ItemState> = {}) =>
    parsed(
      Buffer.concat(
        new ItemEncoder({ world, seed: 1, itemBytes: 0, written }).encode(type, { ...plain, ...state }),
      ),
    );

  it('has written fields first, generated values for the others, and no fields that Looker lacks', () => {
    const dashboard = item('dashboards');
    const generated = parsed(encode('dashboards'));
    expect(Object.keys(dashboard).slice(0, 2)).toEqual(['title', 'description']);
    expect(Object.keys(dashboard).toSorted()).toEqual(Object.keys(generated).toSorted());
    const { unheard_of: _, ...known } = written.dashboards[0] ?? {};
    expect(dashboard).toMatchObject({ ...known, id: generated['id'], slug: generated['slug'] });
    expect(item('dashboards', { index: 1 })).toEqual(parsed(encode('dashboards', { index: 1 })));
  });

  it('has all fields only when it is requested alone', () => {
    expect(item('looks')).not.toHaveProperty('query');
    expect(item('looks', { isWhole: true })).toMatchObject({ query: { model: 'finance' } });
  });

  it('shows a change, and a later time', () => {
    const changed = item('dashboards', { version: 2 });
    expect(changed).toMatchObject({
      description: 'Net of returns. (revision 2)',
      updated_at: '2026-10-03T09:00:00.000+00:00',
    });
  });
});

describe('an item that is written again', () => {
  it('has the new fields and keeps the others, however often the same is written', () => {
    const written = { dashboards: [{ title: 'Revenue', user_name: 'jonas' }] };
    const encoder = new ItemEncoder({ world, seed: 1, itemBytes: 0, written });
    const item = (index: number) => parsed(Buffer.concat(encoder.encode('dashboards', { ...plain, index })));
    const other = item(1);
    for (let time = 0; time < 2; time++) encoder.write('dashboards', 0, { user_name: 'priya' });
    expect(item(0)).toMatchObject({ title: 'Revenue', user_name: 'priya' });
    expect(item(1)).toEqual(other);
    encoder.write('dashboards', 1, { title: 'Returns' });
    expect(item(1)).toMatchObject({ title: 'Returns', id: other['id'] });
  });
});

describe('ids', () => {
  it.each(simulatedTypes)('of %s are texts, each once', (type) => {
    const ids = Array.from({ length: 50 }, (_, index) =>
      itemGenerators[type].id(index, { ...world, lookml_models: 4 }),
    );
    expect(new Set(ids).size).toBe(50);
  });
});
