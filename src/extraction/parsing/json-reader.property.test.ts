import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonReader } from './json-reader.ts';
import { valueAt } from './json.ts';

const bytesOf = (text: string) => new Uint8Array(Buffer.from(text));
const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};
/** Whether the reader takes all of it for one value. */
const isRead = (bytes: Uint8Array): boolean => {
  try {
    return new JsonReader([]).read(bytes, 0).end === bytes.length;
  } catch {
    return false;
  }
};

describe('reading JSON', () => {
  it('ends where the value ends, whatever the value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer({ min: 0, max: 3 }), (value, indent) => {
        expect(isRead(bytesOf(JSON.stringify(value, null, indent)))).toBe(true);
      }),
    );
  });

  it('finds what JSON.parse finds at any path', () => {
    const paths = fc.array(fc.array(fc.constantFrom('a', 'b', '"', 'ä'), { maxLength: 3 }), { maxLength: 5 });
    const named = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.jsonValue({ maxDepth: 1 }),
        fc.dictionary(fc.constantFrom('a', 'b', '"', 'ä', 'c'), tie('value'), { noNullPrototype: true }),
      ),
    })).value;
    fc.assert(
      fc.property(named, paths, fc.integer({ min: 0, max: 2 }), (value, wanted, indent) => {
        const text = JSON.stringify(value, null, indent);
        const bytes = bytesOf(text);
        const { found } = new JsonReader(wanted).read(bytes, 0);
        const parsed: unknown = JSON.parse(text);
        for (const [slot, path] of wanted.entries()) {
          const range = found[slot];
          const expected = isReached(parsed, path) ? valueAt(parsed, path) : undefined;
          const actual = range && JSON.parse(Buffer.from(bytes.subarray(range.start, range.end)).toString());
          expect(actual).toEqual(expected);
        }
      }),
    );
  });

  it('accepts exactly what JSON.parse accepts, also for nearly valid JSON', () => {
    const broken = fc
      .tuple(
        fc.jsonValue({ maxDepth: 2 }),
        fc.nat(),
        fc.constantFrom('', '"', ',', '}', ']', '\\', '\u0001', '.', '0', 'x'),
      )
      .map(([value, at, piece]) => {
        const text = JSON.stringify(value);
        const place = at % (text.length + 1);
        return text.slice(0, place) + piece + text.slice(place + (at % 2));
      });
    fc.assert(
      fc.property(broken, (text) => {
        // The reader handles neither white space around a value nor halves of characters.
        fc.pre(text === text.trim() && text.isWellFormed());
        expect(isRead(bytesOf(text))).toBe(isJson(text));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    'NaN',
    '01',
    '-',
    '1.',
    '1e',
    '.5',
    '+1',
    'tru',
    '"\\x"',
    '"\\u12g4"',
    '[1,]',
    '{"a"}',
    '{"a":1,}',
    '',
  ])('rejects %j', (text) => expect(isRead(bytesOf(text))).toBe(false));

  it('rejects too deep nesting without a stack overflow', () => {
    expect(isRead(bytesOf('['.repeat(200_000)))).toBe(false);
    expect(isRead(bytesOf('['.repeat(900) + ']'.repeat(900)))).toBe(true);
  });
});

/** Paths lead through objects only. */
function isReached(value: unknown, path: readonly string[]): boolean {
  return path.every((_, index) => {
    const at = valueAt(value, path.slice(0, index));
    return typeof at === 'object' && at !== null && !Array.isArray(at);
  });
}
