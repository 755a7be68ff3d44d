import { describe, expect, it } from 'vitest';
import { typeOf } from '../../../test/support/extraction/pages.ts';
import { selectTypes } from './run-session.ts';

const type = (name: string, parent?: string) =>
  typeOf(name, 'single', parent === undefined ? {} : { parent: { type: parent, keys: { id: ['id'] } } });
const all = [type('models'), type('explores', 'models'), type('fields', 'explores'), type('looks', 'looks')];
const names = (named: readonly string[]) => selectTypes(all, named).map(({ name }) => name);

describe('selectTypes', () => {
  it('selects all when none is named, otherwise those named in the order of the source', () => {
    expect(names([])).toEqual(['models', 'explores', 'fields', 'looks']);
    expect(names(['looks', 'models'])).toEqual(['models', 'looks']);
  });

  it('adds their parents', () => {
    expect(names(['fields'])).toEqual(['models', 'explores', 'fields']);
    expect(names(['looks'])).toEqual(['looks']);
  });

  it('names unknown and known types', () => {
    expect(() => names(['dragons', 'looks'])).toThrow(
      /there is no type "dragons"; this source has models, explores, fields, looks/,
    );
  });
});
