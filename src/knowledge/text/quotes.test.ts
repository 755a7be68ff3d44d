import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maxQuoteWords, QuoteFinder, quoteRange } from './quotes.ts';

/** Any units, whole characters or not. */
const anything = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 0xff_ff }), fc.integer({ min: 32, max: 126 })), { maxLength: 60 })
  .map((units) => String.fromCharCode(...units));

const found = (text: string, quote: string): string | null => {
  const place = new QuoteFinder(text).find(quote);
  return place && text.slice(place.start, place.end);
};

describe('QuoteFinder', () => {
  it.each([
    ['literally', 'He said “no” twice. no', 'no', 'no'],
    ['over a line break', 'it was\n  decided   today', 'it was decided today', 'it was\n  decided   today'],
    ['with other quotation marks', 'He said “no”, then left', 'said "no", then', 'said “no”, then'],
    ['with other dashes and case', 'The Plan — B works', 'the plan - b', 'The Plan — B'],
    [
      'with characters that show nothing',
      '\u200bA\u200bnn L\u00adee\u2060 left',
      'Ann Lee',
      'A\u200bnn L\u00adee',
    ],
    ['with marks around it', 'all is well', '"All is well."', 'all is well'],
    ['nowhere', 'all is well', 'all was well', null],
    ['at two places, if not literally', 'a  b, a  b', 'a b', null],
    ['never when empty', 'text', '  ', null],
  ])('finds a quote %s', (_, text, quote, expected) => expect(found(text, quote)).toBe(expected));

  it('finds every piece of a text at an offset with the same text', () => {
    fc.assert(
      fc.property(anything, fc.nat(60), fc.nat(60), (text, a, b) => {
        const piece = text.slice(Math.min(a, b), Math.max(a, b)).trim();
        expect(found(text, piece)).toBe(piece === '' ? null : piece);
      }),
    );
  });

  it('returns offsets within the text for any quote, also when lower case changes the length', () => {
    fc.assert(
      fc.property(anything, anything, (text, quote) => {
        const place = new QuoteFinder(text + quote.toUpperCase()).find(quote);
        if (!place) return;
        expect(place.start).toBeGreaterThanOrEqual(0);
        expect(place.end).toBeGreaterThan(place.start);
        expect(place.end).toBeLessThanOrEqual(text.length + quote.toUpperCase().length);
      }),
    );
  });
});

describe('quoteRange', () => {
  it('has at most 25 words, the requested one among them', () => {
    fc.assert(
      fc.property(
        fc.array(fc.stringMatching(/^[a-z]{1,5}$/), { minLength: 1, maxLength: 80 }),
        fc.nat(),
        (words, pick) => {
          const text = words.join(' ');
          const at = pick % text.length;
          const { start, end } = quoteRange(text, { start: 0, end: text.length }, at);
          expect(text.slice(start, end).split(' ').length).toBeLessThanOrEqual(maxQuoteWords);
          expect(start).toBeLessThanOrEqual(at);
          expect(end).toBeGreaterThanOrEqual(at);
        },
      ),
    );
  });
});
