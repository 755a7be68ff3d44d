import { describe, expect, it } from 'vitest';
import { parseQuery } from './query.ts';

describe('parseQuery', () => {
  it('finds phrases in quotes of several kinds, and keeps their words among the others', () => {
    expect(parseQuery('who wrote "the plan" and “a second one”')).toEqual({
      words: 'who wrote  the plan  and  a second one ',
      phrases: ['the plan', 'a second one'],
      isExact: false,
      droppedPhrases: 0,
    });
    expect(parseQuery('„ein Plan“ «un plan»').phrases).toEqual(['ein Plan', 'un plan']);
  });

  it('requires phrases only when the query has nothing else', () => {
    expect(parseQuery(' "one" , "two"! ').isExact).toBe(true);
    expect(parseQuery('"one" two').isExact).toBe(false);
    expect(parseQuery('one two').isExact).toBe(false);
  });

  it('ignores unbalanced and empty quotes', () => {
    expect(parseQuery('5" pipe')).toMatchObject({ words: '5  pipe', phrases: [], isExact: false });
    expect(parseQuery('"" " , "')).toMatchObject({ phrases: [], isExact: false });
  });

  it('cuts long queries and drops characters Postgres rejects', () => {
    const { words, phrases, droppedPhrases } = parseQuery(`a\0b \ud800 ${'"x" '.repeat(5_000)}`);
    expect(words.length).toBeLessThanOrEqual(10_000);
    expect(words.startsWith('a b \ufffd ')).toBe(true);
    expect(phrases).toHaveLength(8);
    expect(droppedPhrases).toBeGreaterThan(1_000);
  });
});
