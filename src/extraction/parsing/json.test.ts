import { describe, expect, it } from 'vitest';
import { countOf, instantOf, textOf, valueAt } from './json.ts';

describe('an instant', () => {
  it.each<[unknown, number | null]>([
    ['2024-03-01T12:30:00Z', Date.UTC(2024, 2, 1, 12, 30)],
    ['2024-03-01T12:30:00.250+02:00', Date.UTC(2024, 2, 1, 10, 30, 0, 250)],
    ['2024-03-01 12:30:00 +0200', Date.UTC(2024, 2, 1, 10, 30)],
    ['2024-03-01T12:30', Date.UTC(2024, 2, 1, 12, 30)],
    ['2024-03-01', Date.UTC(2024, 2, 1)],
    [1_709_296_200, 1_709_296_200_000],
    [1_709_296_200_123, 1_709_296_200_123],
    ['2024-02-30', null],
    ['2024-03-01T25:00Z', null],
    ['1709296200', null],
    ['March 1, 2024', null],
    ['', null],
    [0, null],
    [true, null],
    [null, null],
  ])('of %j is %j', (value, expected) => expect(instantOf(value)).toBe(expected));
});

describe('text and counts', () => {
  it('are read from text and numbers only', () => {
    expect(['a', 5, '', null, {}, false].map(textOf)).toEqual(['a', '5', null, null, null, null]);
    expect([7, '7', -1, 1.5, 'x', null].map(countOf)).toEqual([7, 7, null, null, null, null]);
  });

  it('are not read from inherited properties', () => {
    expect(valueAt({}, ['constructor', 'name'])).toBeUndefined();
  });
});
