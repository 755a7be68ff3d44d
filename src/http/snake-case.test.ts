import { describe, expect, it } from 'vitest';
import { snakeCase } from './snake-case.ts';

describe('snakeCase', () => {
  it('renames our names at every depth and leaves values alone', () => {
    const at = new Date(0);
    expect(snakeCase({ retryAfterMs: 1, deep: [{ innerName: 'camelCase', at }], plain: null })).toEqual({
      retry_after_ms: 1,
      deep: [{ inner_name: 'camelCase', at }],
      plain: null,
    });
  });

  it('leaves names alone that are not ours', () => {
    const theirs = { 'X-Header': 1, SCREAMING: 2, 'a b': 3, 'kebab-Case': 4, __proto: 5 };
    expect(snakeCase(theirs)).toEqual(theirs);
  });
});
