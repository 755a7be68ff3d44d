import { describe, expect, it } from 'vitest';
import { readQuery } from './query.ts';

describe('reading a query', () => {
  it('finds phrases in quotes of several kinds, and keeps their words among the others', () => {
    expect(readQuery('who wrote "the plan" and “a second one”')).toEqual({
      words: 'who wrote  the plan  and  a second one ',
      phrases: ['the plan', 'a second one'],
      isExact: false,
      phrasesLeftOut: 0,
    });
    expect(readQuery('„ein Plan“ «un plan»').phrases).toEqual(['ein Plan', 'un plan']);
  });

  it('insists on phrases only when nothing else is asked for', () => {
    expect(readQuery(' "one" , "two"! ').isExact).toBe(true);
    expect(readQuery('"one" two').isExact).toBe(false);
    expect(readQuery('one two').isExact).toBe(false);
  });

  it('takes a quote without its partner, and empty quotes, as nothing', () => {
    expect(readQuery('5" pipe')).toMatchObject({ words: '5  pipe', phrases: [], isExact: false });
    expect(readQuery('"" " , "')).toMatchObject({ phrases: [], isExact: false });
  });

  it('cuts what is endless and drops what Postgres refuses', () => {
    const { words, phrases, phrasesLeftOut } = readQuery(`a\0b \ud800 ${'"x" '.repeat(5_000)}`);
    expect(words.length).toBeLessThanOrEqual(10_000);
    expect(words.startsWith('a b \ufffd ')).toBe(true);
    expect(phrases).toHaveLength(8);
    expect(phrasesLeftOut).toBeGreaterThan(1_000);
  });
});
