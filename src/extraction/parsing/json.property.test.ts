import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonReader } from './json-reader.ts';
import { JsonScanError, UnexpectedShapeError, skipValue, walkList } from './json.ts';

const space = fc.stringMatching(/^[ \t\r\n]{0,3}$/);
/** JSON text with white space wherever it is allowed. */
const spaced = fc
  .tuple(fc.jsonValue({ maxDepth: 4 }), space, fc.integer({ min: 0, max: 3 }))
  .map(([value, around, indent]) => `${around}${JSON.stringify(value, null, indent)}${around}`);
const bytesOf = (text: string) => new Uint8Array(Buffer.from(text));
/** Cut by the strict reader; the lenient scanner must agree, unless the bytes may be garbage (`[0#`). */
function slice(bytes: Uint8Array, path: readonly string[], isGarbage = false) {
  const reader = new JsonReader([]);
  const elements: unknown[] = [];
  const { envelope } = walkList(bytes, path, (start) => {
    const { end } = reader.read(bytes, start);
    if (!isGarbage) expect(skipValue(bytes, start)).toBe(end);
    elements.push(JSON.parse(Buffer.from(bytes.subarray(start, end)).toString()));
    return end;
  });
  return { elements, envelope };
}
const elementsOf = (bytes: Uint8Array, path: readonly string[]) => slice(bytes, path).elements;

describe('slicing a list out of JSON', () => {
  it('returns what JSON.parse returns, for any list', () => {
    fc.assert(
      fc.property(fc.array(spaced), space, (values, around) => {
        const text = `${around}[${values.join(',')}]${around}`;
        expect(elementsOf(bytesOf(text), [])).toEqual(JSON.parse(text));
      }),
    );
  });

  it('finds a list anywhere in any body, and returns the rest of the body beside it', () => {
    const body = fc.tuple(
      fc.array(fc.jsonValue({ maxDepth: 2 })),
      fc.array(fc.string(), { minLength: 1, maxLength: 3 }).filter((path) => !path.includes('__proto__')),
      fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { noNullPrototype: true }),
      fc.integer({ min: 0, max: 2 }),
    );
    fc.assert(
      fc.property(body, ([list, path, beside, indent]) => {
        const wrap = (inner: unknown, at: number): unknown =>
          at < 0 ? inner : wrap({ ...beside, [path[at] ?? '']: inner }, at - 1);
        const text = JSON.stringify(wrap(list, path.length - 1), null, indent);
        const bytes = bytesOf(text);
        expect(elementsOf(bytes, path)).toEqual(list.map((value) => JSON.parse(JSON.stringify(value))));
        expect(slice(bytes, path).envelope).toEqual(JSON.parse(JSON.stringify(wrap([], path.length - 1))));
      }),
    );
  });

  it('never accepts a truncated body as complete, and never crashes on one', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue(), { minLength: 1 }), fc.nat(), (values, cut) => {
        const whole = Buffer.from(JSON.stringify({ data: values }));
        const bytes = new Uint8Array(whole.subarray(0, cut % whole.length));
        expect(() => slice(bytes, ['data'])).toThrow();
      }),
    );
  });

  it('rejects garbage with its own error, or finds exactly what JSON.parse would', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        let elements: readonly unknown[] | undefined;
        try {
          elements = slice(bytes, [], true).elements;
        } catch (error) {
          const isExpected =
            error instanceof JsonScanError ||
            error instanceof UnexpectedShapeError ||
            error instanceof SyntaxError;
          expect(isExpected).toBe(true);
        }
        if (isJsonList(bytes)) expect(elements).toBeDefined();
      }),
      { numRuns: 500, examples: [[Uint8Array.from(Buffer.from('[0#'))]] },
    );
  });

  it('uses the last of several equal names, like JSON.parse', () => {
    expect(elementsOf(bytesOf('{"a":[1],"\\u0061":[2,3]}'), ['a'])).toEqual([2, 3]);
  });
});

function isJsonList(bytes: Uint8Array): boolean {
  try {
    return Array.isArray(JSON.parse(new TextDecoder('utf8', { fatal: true }).decode(bytes)));
  } catch {
    return false;
  }
}
