import { expect, it } from 'vitest';
import type { TypeFigures } from '../../extraction/events.ts';
import { TypePaces } from './extract-progress.ts';

const looks = (
  items: number,
  status: TypeFigures['state'],
  more: Partial<TypeFigures> = {},
): TypeFigures => ({
  type: 'looks',
  items,
  itemsThisRun: items,
  total: 100,
  state: status,
  ...more,
});

it('counts a type from its own beginning, however long others took before it', () => {
  const paces = new TypePaces(0);
  for (let now = 0; now <= 60_000; now += 250) paces.of(looks(0, 'queued'), now);
  expect(paces.of(looks(20, 'running'), 62_000)).toEqual({ itemsPerSecond: 10, leftMs: 8_000 });
});

it('keeps the pace of a type that has ended, and has nothing left to wait for', () => {
  const paces = new TypePaces(0);
  paces.of(looks(50, 'running'), 5_000);
  expect(paces.of(looks(100, 'completed'), 10_000)).toEqual({ itemsPerSecond: 10, leftMs: null });
  expect(paces.of(looks(100, 'completed'), 100_000)).toEqual({ itemsPerSecond: 10, leftMs: null });
});

it('does not count items of earlier runs, and estimates no end without a total', () => {
  const paces = new TypePaces(1_000);
  const resumed = looks(70, 'running', { itemsThisRun: 10, total: null });
  expect(paces.of(resumed, 2_000)).toEqual({ itemsPerSecond: 10, leftMs: null });
});
