import { describe, expect, it } from 'vitest';
import { piecesOf, rangesIn, rangesOut } from './marks.ts';

describe('piecesOf', () => {
  it('cuts where marks begin and end, and keeps every character once', () => {
    const pieces = piecesOf('Alice Chen decided.', [
      { id: 'evidence', start: 0, end: 18 },
      { id: 'name', start: 0, end: 10 },
    ]);
    expect(pieces.map(({ text, marks }) => [text, marks.map(({ id }) => id)])).toEqual([
      ['Alice Chen', ['evidence', 'name']],
      [' decided', ['evidence']],
      ['.', []],
    ]);
  });

  it('handles marks that cross, touch and repeat', () => {
    const marks = [
      { id: 'a', start: 0, end: 4 },
      { id: 'b', start: 2, end: 6 },
      { id: 'c', start: 4, end: 5 },
      { id: 'd', start: 2, end: 6 },
    ];
    const pieces = piecesOf('abcdefgh', marks);
    expect(pieces.map(({ text, marks: own }) => [text, own.map(({ id }) => id).join('')])).toEqual([
      ['ab', 'a'],
      ['cd', 'abd'],
      ['e', 'bcd'],
      ['f', 'bd'],
      ['gh', ''],
    ]);
  });

  it('shows a window of the text with its true offsets', () => {
    const pieces = piecesOf('0123456789', [{ start: 2, end: 5 }], 4, 8);
    expect(pieces.map(({ start, text, marks }) => [start, text, marks.length])).toEqual([
      [4, '4', 1],
      [5, '567', 0],
    ]);
  });

  it('leaves out marks that are empty or beyond the text', () => {
    const marks = [
      { start: 3, end: 3 },
      { start: 90, end: 95 },
      { start: 5, end: 2 },
    ];
    expect(piecesOf('text', marks)).toEqual([{ text: 'text', start: 0, marks: [] }]);
    expect(piecesOf('', [])).toEqual([]);
  });
});

describe('ranges in an address', () => {
  it('come back as they went', () => {
    const ranges = [
      { start: 0, end: 4 },
      { start: 12, end: 30 },
    ];
    expect(rangesIn(rangesOut(ranges))).toEqual(ranges);
  });

  it('are left out when they are none', () => {
    expect(rangesIn(null)).toEqual([]);
    expect(rangesIn('5-2,x-9,3-3,-4,7-9')).toEqual([{ start: 7, end: 9 }]);
  });
});
