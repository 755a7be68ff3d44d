import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cut, fitting, windowOf } from './bounds.ts';

describe('windowOf', () => {
  it('returns the whole text in pieces, and splits no character', () => {
    const text = fc.string({ unit: 'grapheme' });
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 5 }), (whole, length) => {
        let read = '';
        for (let at: number | null = 0; at !== null;) {
          const part = windowOf(whole, at, length);
          expect(part.text.isWellFormed()).toBe(whole.isWellFormed());
          read += part.text;
          at = part.next;
        }
        expect(read).toBe(whole);
      }),
    );
  });

  it('begins before a character that the offset would split', () => {
    expect(windowOf('a🏃b', 2, 2)).toEqual({ text: '🏃', next: 3 });
    expect(windowOf('a🏃b', 99, 2)).toEqual({ text: '', next: null });
  });
});

describe('cut', () => {
  it('reports how much is missing', () => {
    expect(cut('short', 5)).toBe('short');
    expect(cut('a🏃 long', 2)).toBe('a… [7 more characters]');
  });
});

describe('fitting', () => {
  it('ends a list before it is too long, but not before its first item', () => {
    expect(fitting(['aaaa', 'bbbb', 'cccc'], 12)).toEqual(['aaaa', 'bbbb']);
    expect(fitting(['aaaa', 'bbbb'], 12)).toEqual(['aaaa', 'bbbb']);
    expect(fitting(['a'.repeat(50), 'b'], 12)).toEqual(['a'.repeat(50)]);
    expect(fitting([], 12)).toEqual([]);
  });
});
