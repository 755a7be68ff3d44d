import { describe, expect, it } from 'vitest';
import { rescoreByProximity, adjacentPairs, proximityBonus } from './proximity.ts';

const word = (term: string, positions: readonly number[], idf = 1) => ({ term, positions, idf });
const places = (given: Record<string, readonly number[]>) => new Map(Object.entries(given));

describe('adjacent terms', () => {
  const pairs = adjacentPairs([word('launch', [1], 4), word('date', [3], 1), word('bob', [4], 1)]);

  it('are paired in query order with their distance', () => {
    expect(pairs).toEqual([
      { first: 'launch', second: 'date', gap: 2, weight: 2 },
      { first: 'date', second: 'bob', gap: 1, weight: 1 },
    ]);
  });

  it('are not paired with themselves', () => {
    expect(adjacentPairs([word('the', [1, 2])])).toEqual([]);
  });

  it('count fully as close as in the query, in either order, and less the farther apart', () => {
    const bonus = (launch: readonly number[], date: readonly number[]): number =>
      proximityBonus(pairs, places({ launch, date }));
    expect(bonus([5], [7])).toBe(2);
    expect(bonus([7], [5])).toBe(2);
    expect(bonus([5], [6])).toBe(2);
    expect(bonus([5], [9])).toBeCloseTo(2 / 3);
    expect(bonus([1, 50, 90], [20, 88])).toBe(2);
    expect(bonus([5], [])).toBe(0);
  });
});

describe('rescoring', () => {
  it('adds the weight of title terms, more if more of the title is named', () => {
    const look = rescoreByProximity([word('neil', [1], 3), word('peart', [2], 5)], []);
    const whole = look({ places: places({ neil: [-20_000], peart: [-19_000] }), titleTerms: 2 });
    const half = look({ places: places({ peart: [-19_000] }), titleTerms: 2 });
    const none = look({ places: places({ peart: [4] }), titleTerms: 2 });
    expect(whole).toBeCloseTo(8, 2);
    expect(half).toBeCloseTo(2.5);
    expect(none).toBe(0);
    expect(look({ places: places({}), titleTerms: 0 })).toBe(0);
  });

  it('adds the weight of a phrase only where it occurs exactly', () => {
    const phrase = [
      { term: 'graph', offset: 0 },
      { term: 'rebuild', offset: 2 },
    ];
    const look = rescoreByProximity([word('graph', [], 2), word('rebuild', [], 3)], [phrase]);
    expect(look({ places: places({ graph: [1, 8], rebuild: [10] }), titleTerms: 0 })).toBe(5);
    expect(look({ places: places({ graph: [1, 9], rebuild: [10] }), titleTerms: 0 })).toBe(0);
    expect(look({ places: places({ graph: [1] }), titleTerms: 0 })).toBe(0);
  });
});
