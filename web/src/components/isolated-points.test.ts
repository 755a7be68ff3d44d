import { expect, it } from 'vitest';
import { isolatedPoints } from './isolated-points.ts';

it('finds points without neighbors', () => {
  expect(isolatedPoints([1])).toEqual([0]);
  expect(isolatedPoints([1, null, 0, null, 2, 3, null, 4])).toEqual([0, 2, 7]);
});

it('finds none on a line', () => expect(isolatedPoints([null, 1, 2, null])).toEqual([]));
