import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fileNameOf } from './export.ts';

describe('fileNameOf', () => {
  it('is the id itself where that is safe, and readable where not', () => {
    expect(['42', 'sales-orders', 'a_b'].map(fileNameOf)).toEqual(['42', 'sales-orders', 'a_b']);
    expect(fileNameOf('Sales::Orders')).toMatch(/^sales-orders~[0-9a-f]{20}$/);
    for (const id of ['con', 'com1', '', '.', '..', 'a/b', 'A', 'x'.repeat(81), '-x', 'é'])
      expect(fileNameOf(id)).toMatch(/^[a-z0-9_-]*~[0-9a-f]{20}$/);
  });

  it('is short, made of safe characters, and different for different ids', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (one, other) => {
        expect(fileNameOf(one)).toMatch(/^[a-z0-9_~-]{1,80}$/);
        expect(fileNameOf(one) === fileNameOf(other)).toBe(one === other);
      }),
    );
  });
});
