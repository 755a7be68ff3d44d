import { describe, expect, it } from 'vitest';
import type { PageRequest, PageResult } from '../types.ts';
import { findGaps } from './verify.ts';

const outcome = (request: PageRequest, next: string | null = null): PageResult => ({
  request,
  itemCount: 0,
  rejectedCount: 0,
  total: null,
  next,
  children: [],
});
const offset = (from: number, limit: number, listing?: string) =>
  outcome({
    type: 't',
    key: `${from}`,
    kind: 'offset',
    offset: from,
    limit,
    ...(listing === undefined ? {} : { listing }),
  });
const cursor = (index: number, next: string | null) =>
  outcome({ type: 't', key: `${index}`, kind: 'cursor', cursor: null, index, limit: 10 }, next);

describe('findGaps', () => {
  it('finds none where pages follow each other, in any order and of any size', () => {
    expect(findGaps([])).toEqual([]);
    expect(findGaps([offset(10, 10), offset(0, 10), offset(15, 50)])).toEqual([]);
    expect(
      findGaps([1, 0].map((page) => outcome({ type: 't', key: '', kind: 'page', page, limit: 5 }))),
    ).toEqual([]);
    expect(findGaps([cursor(1, null), cursor(0, 'b')])).toEqual([]);
    expect(findGaps([outcome({ type: 't', key: '', kind: 'whole' })])).toEqual([]);
  });

  it('finds what was never asked for, list by list', () => {
    expect(findGaps([offset(10, 10), offset(30, 10)])).toEqual([
      'items 0 to 9 were never asked for',
      'items 20 to 29 were never asked for',
    ]);
    expect(findGaps([offset(0, 10, 'lookml'), offset(20, 10, 'lookml'), offset(10, 10)])).toEqual([
      'lookml: items 10 to 19 were never asked for',
      'items 0 to 9 were never asked for',
    ]);
    expect(findGaps([cursor(0, 'b'), cursor(2, null)])).toEqual(['page 1 of the chain is missing']);
    expect(findGaps([cursor(0, 'b')])).toEqual(['the last page names another that was never asked for']);
  });
});
