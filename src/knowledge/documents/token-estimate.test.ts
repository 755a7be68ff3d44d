import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { estimateTokens, isBlankAt } from './chunk.ts';

const dense =
  '\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Hangul}\\p{scx=Thai}\\p{scx=Lao}\\p{scx=Khmer}\\p{scx=Myanmar}';
const pieces = new RegExp(`(?:(?![${dense}])[\\p{L}\\p{M}\\p{N}])+|\\S`, 'gu');

/** What it says, as a pattern: too slow for documents. */
const byPattern = (text: string): number =>
  (text.match(pieces) ?? []).reduce((sum, piece) => sum + Math.ceil(piece.length / 6), 0);

describe('how many tokens a text has', () => {
  it.each([
    ['', 0],
    [' \n\u3000', 0],
    ['Hello world!', 3],
    ['extraordinarily', 3],
    ['会議で', 3],
    ['👍🏽', 2],
    ['a,b', 3],
  ])('%j: %d', (text, tokens) => {
    expect(estimateTokens(text)).toBe(tokens);
  });

  it('is counted as the pattern says, for any text and any part of it', () => {
    const unit = fc.oneof(
      fc.constantFrom('a', 'B', '7', ' ', '\n', '.', 'é', '会', 'ก', '👍', '\u0301'),
      fc.string(),
    );
    fc.assert(
      fc.property(
        fc.array(unit).map((all) => all.join('')),
        fc.nat(9),
        fc.nat(9),
        (text, before, behind) => {
          expect(estimateTokens(text)).toBe(byPattern(text));
          const [start, end] = [Math.min(before, text.length), Math.max(before, text.length - behind)];
          expect(estimateTokens(text, start, Math.min(end, text.length))).toBe(
            byPattern(text.slice(start, end)),
          );
        },
      ),
    );
  });

  it('knows blanks', () => {
    expect([' ', '\t', '\u00a0', 'a', '。'].map((text) => isBlankAt(text, 0))).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
  });
});
