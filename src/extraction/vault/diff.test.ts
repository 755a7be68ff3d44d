import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, parseJson } from './canonical-json.ts';
import { compareJson } from './diff.ts';

describe('compareJson', () => {
  it('names every field that is different', () => {
    const from = { title: 'a', query: { fields: ['x', 'y'], limit: 5 }, old: true, kind: { a: 1 } };
    const to = { title: 'b', query: { fields: ['x', 'z', 'w'], limit: 5 }, new: 1, kind: [1] };
    expect(compareJson(from, to)).toEqual([
      { path: 'kind', kind: 'changed', from: '{"a":1}', to: '[1]' },
      { path: 'new', kind: 'added', from: null, to: '1' },
      { path: 'old', kind: 'removed', from: 'true', to: null },
      { path: 'query.fields[1]', kind: 'changed', from: '"y"', to: '"z"' },
      { path: 'query.fields[2]', kind: 'added', from: null, to: '"w"' },
      { path: 'title', kind: 'changed', from: '"a"', to: '"b"' },
    ]);
  });

  it('finds nothing exactly when nothing differs', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        expect(compareJson(one, one)).toEqual([]);
        expect(compareJson(one, other).length === 0).toBe(canonicalJson(one) === canonicalJson(other));
      }),
    );
  });

  it('compares long numbers exactly, truncates long values, and stops at the limit', () => {
    expect(
      compareJson(parseJson('{"n":12345678901234567890}'), parseJson('{"n":12345678901234567891}')),
    ).toEqual([{ path: 'n', kind: 'changed', from: '12345678901234567890', to: '12345678901234567891' }]);
    expect(compareJson({ a: 'x'.repeat(500) }, { a: 1 })[0]?.from).toHaveLength(200);
    expect(compareJson([1, 2, 3], [4, 5, 6], 2)).toHaveLength(2);
  });
});
