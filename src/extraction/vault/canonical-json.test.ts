import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, isSameJson, parseJson } from './canonical-json.ts';

const bytes = (text: string) => Buffer.from(text);
const same = (one: string, other: string) => isSameJson(bytes(one), bytes(other));

describe('canonicalJson', () => {
  it('is one text for one value', () => {
    expect(canonicalJson({ b: [{ d: 1, c: 2 }], a: null })).toBe('{"a":null,"b":[{"c":2,"d":1}]}');
    expect(canonicalJson({ b: 1, a: 2 }, 2)).toBe('{\n  "a": 2,\n  "b": 1\n}');
  });

  it('keeps every value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        expect(JSON.parse(canonicalJson(parseJson(text)))).toEqual(JSON.parse(text));
      }),
    );
  });

  it('keeps keys with a special meaning in JavaScript, and long numbers', () => {
    const text = '{"__proto__":{"x":1},"constructor":2,"n":[12345678901234567890,0.1234567890123456789]}';
    expect(canonicalJson(parseJson(text))).toBe(text);
  });
});

describe('isSameJson', () => {
  it('compares the content, not the order of keys or white space', () => {
    expect(same('{"a":1,"b":[1,2]}', ' { "b": [1, 2], "a": 1 }')).toBe(true);
    expect(same('{"a":"\\u00e9"}', '{"a":"é"}')).toBe(true);
    expect(same('[1,2]', '[2,1]')).toBe(false);
    expect(same('{"a":1}', '{"a":"1"}')).toBe(false);
    expect(same('{"id":12345678901234567890}', '{"id":12345678901234567891}')).toBe(false);
  });

  it('compares text that is not JSON as it is', () => {
    expect(same('{"a"', '{"a"')).toBe(true);
    expect(same('{"a"', '{"b"')).toBe(false);
  });
});
