import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readArray, writeArray } from './values.ts';

const same = (element: string) => element;
const asText = (item: unknown) => (typeof item === 'string' ? item : null);

describe('array literals', () => {
  it('round-trip for any text', () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.string({ unit: 'binary' }))), (items) => {
        expect(readArray(writeArray(items, asText), same)).toEqual(items);
      }),
    );
  });

  it('nest', () => {
    const items = [
      [
        ['a', null],
        ['{', '}'],
      ],
    ];
    expect(readArray(writeArray(items, asText), same)).toEqual(items);
  });

  it.each([
    ['{}', []],
    ['{1,2,NULL}', ['1', '2', null]],
    ['{"NULL",nULL}', ['NULL', 'nULL']],
    ['[0:1]={a,b}', ['a', 'b']],
    [
      '{{1,2},{3,4}}',
      [
        ['1', '2'],
        ['3', '4'],
      ],
    ],
    [String.raw`{"a\"b","c\\d",""}`, ['a"b', String.raw`c\d`, '']],
  ])('reads %s', (text, items) => {
    expect(readArray(text, same)).toEqual(items);
  });

  it.each(['', '{', '{"', '{a', 'nonsense'])('terminates on %j, which is not an array', (text) => {
    expect(readArray(text, same)).toBeInstanceOf(Array);
  });
});
