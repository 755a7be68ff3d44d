import { expect, it } from 'vitest';
import { standingAlone } from './standing-alone.ts';

it('finds what has nothing on either side', () => {
  expect(standingAlone([1])).toEqual([0]);
  expect(standingAlone([1, null, 0, null, 2, 3, null, 4])).toEqual([0, 2, 7]);
});

it('finds nothing on a line', () => expect(standingAlone([null, 1, 2, null])).toEqual([]));
