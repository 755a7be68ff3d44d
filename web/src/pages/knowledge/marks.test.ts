import { describe, expect, it } from 'vitest';
import { splitByMarks, parseRanges, formatRanges } from './marks.ts';

describe('splitByMarks', () => {
  it('splits where marks start and end and keeps every character', () => {
    const pieces = splitByMarks('Alice Chen decided.', [
      { id: 'evidence', start: 0, end: 18 },
      { id: 'name', start: 0, end: 10 },
    ]);
    expect(pieces.map(({ text, marks }) => [text, marks.map(({ id }) => id)])).toEqual([
      ['Alice Chen', ['evidence', 'name']],
      [' decided', ['evidence']],
      ['.', []],
    ]);
  });

  it('handles crossing, adjacent and repeated marks', () => {
    const marks = [
      { id: 'a', start: 0, end: 4 },
      { id: 'b', start: 2, end: 6 },
      { id: 'c', start: 4, end: 5 },
      { id: 'd', start: 2, end: 6 },
    ];
    const pieces = splitByMarks('abcdefgh', marks);
    expect(pieces.map(({ text, marks: own }) => [text, own.map(({ id }) => id).join('')])).toEqual([
      ['ab', 'a'],
      ['cd', 'abd'],
      ['e', 'bcd'],
      ['f', 'bd'],
      ['gh', ''],
    ]);
  });

  it('shows a window of the text with its true offsets', () => {
    const pieces = splitByMarks('0123456789', [{ start: 2, end: 5 }], 4, 8);
    expect(pieces.map(({ start, text, marks }) => [start, text, marks.length])).toEqual([
      [4, '4', 1],
      [5, '567', 0],
    ]);
  });

  it('ignores empty marks and marks outside the text', () => {
    const marks = [
      { start: 3, end: 3 },
      { start: 90, end: 95 },
      { start: 5, end: 2 },
    ];
    expect(splitByMarks('text', marks)).toEqual([{ text: 'text', start: 0, marks: [] }]);
    expect(splitByMarks('', [])).toEqual([]);
  });
});

describe('ranges in an address', () => {
  it('survive a round trip', () => {
    const ranges = [
      { start: 0, end: 4 },
      { start: 12, end: 30 },
    ];
    expect(parseRanges(formatRanges(ranges))).toEqual(ranges);
  });

  it('ignore invalid text', () => {
    expect(parseRanges(null)).toEqual([]);
    expect(parseRanges('5-2,x-9,3-3,-4,7-9')).toEqual([{ start: 7, end: 9 }]);
  });
});
