import { describe, expect, it } from 'vitest';
import { highlightsIn, joined, marks, occurrencesOf } from './results.ts';

const mark = (text: string): string => text.replaceAll('[', marks.start).replaceAll(']', marks.end);
const wordsOf = (text: string, marked: string): readonly string[] =>
  highlightsIn(text, mark(marked)).map(({ start, end }) => text.slice(start, end));

describe('highlights', () => {
  it('are the positions of marked words, in UTF-16 units', () => {
    expect(wordsOf('The 🦊 jumps over foxes', 'The 🦊 [jumps] over [foxes]')).toEqual(['jumps', 'foxes']);
  });

  it('end where the copy differs from the text', () => {
    expect(wordsOf('one two three', '[one] TWO [three]')).toEqual(['one']);
  });

  it('survive a text that contains the marks itself', () => {
    const text = `a${marks.start}b word`;
    expect(wordsOf(text, `a${marks.start}b [word]`)).toEqual(['word']);
  });

  it('are none without marks', () => {
    expect(highlightsIn('nothing', 'nothing')).toEqual([]);
  });

  it('are every occurrence in a text without spaces, overlapping ones joined', () => {
    const text = '東京都と東京、京都';
    const places = joined(occurrencesOf(text, ['京都', '東京', '大阪']));
    expect(places.map(({ start, end }) => text.slice(start, end))).toEqual(['東京都', '東京', '京都']);
  });
});
