import { describe, expect, it } from 'vitest';
import { parseQuery } from './query.ts';

describe('reading a query', () => {
  it('finds phrases in quotes of several kinds, and keeps their words among the others', () => {
    expect(parseQuery('who wrote "the plan" and “a second one”')).toEqual({
      words: 'who wrote  the plan  and  a second one ',
      phrases: ['the plan', 'a second one'],
      isExact: false,
      droppedPhrases: 0,
    });
    expect(parseQuery('„ein Plan“ «un plan»').phrases).toEqual(['ein Plan', 'un plan']);
  });

  it('insists on phrases only when nothing else is asked for', () => {
    expect(parseQuery(' "one" , "two"! ').isExact).toBe(true);
    expect(parseQuery('"one" two').isExact).toBe(false);
    expect(parseQuery('one two').isExact).toBe(false);
  });

  it('takes a quote without its partner, and empty quotes, as nothing', () => {
    expect(parseQuery('5" pipe')).toMatchObject({ words: '5  pipe', phrases: [], isExact: false });
    expect(parseQuery('"" " , "')).toMatchObject({ phrases: [], isExact: false });
  });

  it('cuts what is endless and drops what Postgres refuses', () => {
    const { words, phrases, droppedPhrases } = parseQuery(`a\0b \ud800 ${'"x" '.repeat(5_000)}`);
    expect(words.length).toBeLessThanOrEqual(10_000);
    expect(words.startsWith('a b \ufffd ')).toBe(true);
    expect(phrases).toHaveLength(8);
    expect(droppedPhrases).toBeGreaterThan(1_000);
  });
});
