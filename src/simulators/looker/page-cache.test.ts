import { expect, it } from 'vitest';
import { PageCache } from './page-cache.ts';

it('keeps what was made last, up to its size, and makes each once', () => {
  const made: string[] = [];
  const cache = new PageCache<string>((page) => page.length, 10);
  const get = (key: string) =>
    cache.get(key, () => {
      made.push(key);
      return 'four';
    });
  for (const key of ['a', 'b', 'a', 'c', 'b', 'a']) expect(get(key)).toBe('four');
  // The third page is one too many: the first one goes.
  expect(made).toEqual(['a', 'b', 'c', 'a']);
  cache.clear();
  get('a');
  expect(made).toHaveLength(5);
});
