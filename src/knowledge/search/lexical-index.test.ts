import { describe, expect, it } from 'vitest';
import { selectiveTerms, rescoreByProximity, adjacentPairs, proximityBonus } from './lexical-index.ts';
import { LexicalIndex } from './lexical-index.ts';
import type { Database } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';

const term = (df: number, weight: number) => ({ df, weight });

describe('selective terms', () => {
  it('are all terms in a small collection', () => {
    const { essential, frequent } = selectiveTerms([term(500, 1), term(400, 9)]);
    expect([essential.length, frequent.length]).toEqual([2, 0]);
  });

  it('exclude the most frequent, up to a quarter of the weight', () => {
    const words = [term(40_000, 1), term(20_000, 1.4), term(9_000, 2.4), term(2_000, 5)];
    const { essential, frequent } = selectiveTerms(words);
    expect(frequent.map(({ df }) => df)).toEqual([40_000, 20_000]);
    expect(essential.map(({ df }) => df)).toEqual([9_000, 2_000]);
  });

  it('include a frequent term when the others would find too little', () => {
    expect(selectiveTerms([term(40_000, 1), term(3, 9)]).frequent).toEqual([]);
    expect(selectiveTerms([term(40_000, 1)]).essential).toHaveLength(1);
  });
});

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

describe('the scoring statement', () => {
  it('keeps lookups by term apart (OFFSET 0): as one join they take 30 times as long', async () => {
    const statements: string[] = [];
    const row = { textNo: 1, term: 'boat', positions: [1], df: 1, chunkCount: 3, totalLength: 9 };
    const database = {
      query: async (statement: Sql) => {
        statements.push(statement.compile().text);
        return { rows: statements.length === 1 ? [row] : [], affected: 0 };
      },
    };
    const index = new LexicalIndex(database as unknown as Database);
    await index.search({ spaceId: 1, language: 'english' }, 'boat', 5, {}, new AbortController().signal);
    expect(statements[1]?.match(/offset 0/g)).toHaveLength(3);
  });
});
