import { describe, expect, it } from 'vitest';
import { childList, pageOfList, resultOf, rootList } from '../../../test/support/extraction/pages.ts';
import type { PagePosition } from '../types.ts';
import { findGaps } from './verify.ts';

const page = (position: PagePosition, endpoint = '', next: string | null = null) =>
  resultOf(pageOfList(rootList('t', endpoint), position), 0, { next });
const offset = (from: number, limit: number, endpoint = '') =>
  page({ kind: 'offset', offset: from, limit }, endpoint);
const cursor = (index: number, next: string | null) =>
  page({ kind: 'cursor', cursor: null, index, limit: 10 }, '', next);

describe('findGaps', () => {
  it('finds none between contiguous pages, in any order and of any size', () => {
    expect(findGaps([])).toEqual([]);
    expect(findGaps([offset(10, 10), offset(0, 10), offset(15, 50)])).toEqual([]);
    expect(findGaps([1, 0].map((number) => page({ kind: 'page', page: number, limit: 5 })))).toEqual([]);
    expect(findGaps([cursor(1, null), cursor(0, 'b')])).toEqual([]);
    expect(findGaps([page({ kind: 'single' })])).toEqual([]);
  });

  it('finds gaps of each list', () => {
    expect(findGaps([offset(10, 10), offset(30, 10)])).toEqual([
      'items 0 to 9 were never requested',
      'items 20 to 29 were never requested',
    ]);
    expect(findGaps([offset(0, 10, 'lookml'), offset(20, 10, 'lookml'), offset(10, 10)])).toEqual([
      'lookml: items 10 to 19 were never requested',
      'items 0 to 9 were never requested',
    ]);
    const child = pageOfList(childList('t', { id: '7' }), { kind: 'offset', offset: 10, limit: 10 });
    expect(findGaps([resultOf(child, 0)])).toEqual(['@7: items 0 to 9 were never requested']);
    expect(findGaps([cursor(0, 'b'), cursor(2, null)])).toEqual(['page 1 of the chain is missing']);
    expect(findGaps([cursor(0, 'b')])).toEqual(['the last page names another that was never requested']);
  });
});
