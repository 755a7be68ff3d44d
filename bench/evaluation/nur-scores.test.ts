import { describe, expect, it } from 'vitest';
import { matchAll, nameLikeness, quoteOverlap, scoreOf, textLikeness, together } from './nur-scores.ts';

describe('textLikeness', () => {
  it.each([
    ['abcd', 'bcde', 0.75],
    ['Ann Lee', 'ann  lee!', 1],
    ['', '', 1],
    ['abc', '', 0],
    ['abc', 'xyz', 0],
  ])('%j and %j have the similarity %d', (a, b, expected) =>
    expect(textLikeness(a, b)).toBeCloseTo(expected),
  );
});

describe('matchAll', () => {
  it('assigns each true item once, to the most similar found item', () => {
    const score = matchAll(['Ann Lee', 'Anne Lee', 'Boat'], ['Anne Lee', 'Carl'], nameLikeness);
    expect(score).toMatchObject({ matched: 1, found: 3, expected: 2, precision: 1 / 3, recall: 1 / 2 });
    expect(score.f1).toBeCloseTo(0.4);
  });

  it('totals documents and counts an empty result as 0', () => {
    expect(together([scoreOf(1, 1, 2), scoreOf(0, 1, 0)])).toMatchObject({
      precision: 0.5,
      recall: 0.5,
      f1: 0.5,
    });
    expect(together([])).toMatchObject({ f1: 0 });
  });
});

describe('quoteOverlap', () => {
  it('is the share of the shorter one, and 0 below a half', () => {
    expect(quoteOverlap('Ann decided it', 'On Monday Ann decided it, after all')).toBe(1);
    expect(quoteOverlap('Ann decided it today', 'Ben denied it')).toBe(0);
    expect(quoteOverlap('', 'x')).toBe(0);
  });
});
