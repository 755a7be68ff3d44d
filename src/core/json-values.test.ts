import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { hasMoreValues } from './json-values.ts';

/** Commas, and opening brackets and braces, outside of strings. */
function countOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const inner = Object.values(value);
  return 1 + Math.max(0, inner.length - 1) + inner.reduce<number>((sum, each) => sum + countOf(each), 0);
}

it('counts the values of any JSON, whatever its strings contain', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const json = JSON.stringify(value);
      expect(hasMoreValues(json, countOf(value))).toBe(false);
      if (countOf(value) > 0) expect(hasMoreValues(json, countOf(value) - 1)).toBe(true);
    }),
  );
});

it.each(['"', '"\\', '"\\\\"', '[', ''])('ends with text that is not JSON (%s)', (text) => {
  expect(hasMoreValues(text, 5)).toBe(false);
});
