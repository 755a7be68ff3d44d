import { describe, expect, it } from 'vitest';
import { pickFields } from './content.ts';
import { readListingQuery } from './requests.ts';
import type { SimulatedType } from './types.ts';

const read = (text: string, type: SimulatedType = 'dashboards') =>
  readListingQuery(type, new URLSearchParams(text));

describe('the query of a listing', () => {
  it.each([
    ['limit=20&offset=40', 20, 40],
    ['limit=20', 20, 0],
    ['page=3&per_page=20', 20, 40],
    ['limit=10&page=3&per_page=20', 10, 0],
    ['', null, 0],
  ])('%s means limit %s and offset %s', (text, limit, offset) => {
    expect(read(text)).toMatchObject({ query: { limit, offset } });
  });

  it('reads sorts in both notations', () => {
    expect(read('sorts=title desc,-id, created_at')).toMatchObject({
      query: {
        sorts: [
          { field: 'title', isDescending: true },
          { field: 'id', isDescending: true },
          { field: 'created_at', isDescending: false },
        ],
      },
    });
  });

  it('names every problem', () => {
    const parsed = read('limit=0&offset=-1&sorts=updated_at');
    expect('problems' in parsed && parsed.problems.map(({ field }) => field)).toEqual([
      'limit',
      'offset',
      'sorts',
    ]);
    expect(read('sorts=updated_at', 'looks')).toHaveProperty('query');
  });
});

describe('fields', () => {
  const item = { id: '1', title: 'T', folder: { id: '2', name: 'F' }, parts: [{ id: '3', text: 'x' }] };

  it.each([
    ['id', { id: '1' }],
    ['title, id', { id: '1', title: 'T' }],
    ['folder(name),parts(id)', { folder: { name: 'F' }, parts: [{ id: '3' }] }],
    ['nothing', {}],
  ])('selects %s', (fields, expected) => {
    expect(pickFields(item, fields)).toEqual(expected);
  });
});
