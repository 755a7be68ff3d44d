import { describe, expect, it } from 'vitest';
import { selectiveTerms } from './lexical-index.ts';

const word = (df: number, weight: number) => ({ df, weight });

describe('selective terms', () => {
  it('are all terms in a small collection', () => {
    const { essential, frequent } = selectiveTerms([word(500, 1), word(400, 9)]);
    expect([essential.length, frequent.length]).toEqual([2, 0]);
  });

  it('exclude the most frequent, up to a quarter of the weight', () => {
    const words = [word(40_000, 1), word(20_000, 1.4), word(9_000, 2.4), word(2_000, 5)];
    const { essential, frequent } = selectiveTerms(words);
    expect(frequent.map(({ df }) => df)).toEqual([40_000, 20_000]);
    expect(essential.map(({ df }) => df)).toEqual([9_000, 2_000]);
  });

  it('include a frequent term when the others would find too little', () => {
    expect(selectiveTerms([word(40_000, 1), word(3, 9)]).frequent).toEqual([]);
    expect(selectiveTerms([word(40_000, 1)]).essential).toHaveLength(1);
  });
});
