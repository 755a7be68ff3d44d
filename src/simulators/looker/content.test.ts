import { describe, expect, it } from 'vitest';
import { PageCache, TypeContent } from './content.ts';

it('caches the last generated items up to its size, and generates each once', () => {
  const made: string[] = [];
  const cache = new PageCache<string>((page) => page.length, 10);
  const get = (key: string) =>
    cache.get(key, () => {
      made.push(key);
      return 'four';
    });
  for (const key of ['a', 'b', 'a', 'c', 'b', 'a']) expect(get(key)).toBe('four');
  // The third page exceeds the cache: the first one is dropped.
  expect(made).toEqual(['a', 'b', 'c', 'a']);
  cache.clear();
  get('a');
  expect(made).toHaveLength(5);
});

const make = () => new TypeContent(10, (index) => `id${index}`);

describe('content of a type', () => {
  it('changes, deletes and adds the named items, and returns their ids', () => {
    const content = make();
    const changed = content.apply({ type: 'looks', change: ['id1'], delete: ['id2', 'id3'], add: 2 });
    expect(changed).toEqual({
      changed: ['id1'],
      rewritten: [],
      deleted: ['id2', 'id3'],
      added: ['id10', 'id11'],
    });
    expect(content.live).toEqual([0, 1, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect([content.version(0), content.version(1)]).toEqual([0, 1]);
    expect([content.find('id2'), content.find('id11')]).toEqual([undefined, 11]);
  });

  it('selects a number of items evenly, each once', () => {
    expect(make().apply({ type: 'looks', change: 5 }).changed).toEqual(['id0', 'id2', 'id4', 'id6', 'id8']);
    expect(make().apply({ type: 'looks', delete: 10 }).deleted).toHaveLength(10);
  });

  it('never reuses the id of a deleted item', () => {
    const content = make();
    content.apply({ type: 'looks', delete: ['id9'] });
    expect(content.apply({ type: 'looks', add: 1 }).added).toEqual(['id10']);
  });

  it('rejects missing items, and then changes nothing', () => {
    const content = make();
    expect(() => content.apply({ type: 'looks', change: ['id1'], delete: ['id77'] })).toThrow(
      'There is no item with the id "id77".',
    );
    expect(() => content.apply({ type: 'looks', change: ['id1'], write: { id78: {} } })).toThrow('"id78"');
    expect(() => content.apply({ type: 'looks', change: 11 })).toThrow('There are 10 items, not 11.');
    expect(content.version(1)).toBe(0);
  });

  it('changes the bytes of an item without changing its content, and back', () => {
    const content = make();
    content.apply({ type: 'looks', rewrite: ['id1'] });
    expect(content.isRewritten(1)).toBe(true);
    content.apply({ type: 'looks', rewrite: ['id1'] });
    expect(content.isRewritten(1)).toBe(false);
  });
});
