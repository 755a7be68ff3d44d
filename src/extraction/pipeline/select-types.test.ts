import { describe, expect, it } from 'vitest';
import type { ContentType } from '../types.ts';
import { selectTypes } from './run-session.ts';

const type = (name: string, from?: string): ContentType => ({
  name,
  number: null,
  pagination: 'whole',
  shape: { items: { kind: 'single' }, id: [['id']] },
  ...(from === undefined ? {} : { parent: { from, key: ['id'] } }),
});
const all = [type('models'), type('explores', 'models'), type('fields', 'explores'), type('looks', 'self')];
const names = (named: readonly string[]) => selectTypes(all, named).map(({ name }) => name);

describe('choosing types', () => {
  it('takes all when none is named, and otherwise those named in the order of the source', () => {
    expect(names([])).toEqual(['models', 'explores', 'fields', 'looks']);
    expect(names(['looks', 'models'])).toEqual(['models', 'looks']);
  });

  it('adds what they hang on', () => {
    expect(names(['fields'])).toEqual(['models', 'explores', 'fields']);
    expect(names(['looks'])).toEqual(['looks']);
  });

  it('names what there is not, and what there is', () => {
    expect(() => names(['dragons', 'looks'])).toThrow(/"dragons" must be .*models, explores, fields, looks/);
  });
});
