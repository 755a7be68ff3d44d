import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Subject } from './subject.contract.ts';
import { json, rawSql, sql } from '../../../src/platform/postgres/sql.ts';

/** [what is stored, what is read]. */
const literals: readonly (readonly [text: string, value: unknown])[] = [
  ['true', true],
  ['12::int2', 12],
  ['-7::int4', -7],
  ['9007199254740991::int8', 9_007_199_254_740_991],
  ['9007199254740993::int8', 9_007_199_254_740_993n],
  ['count(*)', 1],
  ['1.10::numeric', '1.10'],
  ['sum(2::int8)', '2'],
  ['0.5::float4', 0.5],
  [`'NaN'::float8`, Number.NaN],
  [`'-Infinity'::float8`, Number.NEGATIVE_INFINITY],
  [`'x'::text`, 'x'],
  [`'x'::varchar(3)`, 'x'],
  [`'x'::char(3)`, 'x  '],
  [`'name'::name`, 'name'],
  [`'2024-02-29'::date`, '2024-02-29'],
  [`'2024-02-29 12:30:00'::timestamp`, '2024-02-29 12:30:00'],
  [`'2024-02-29 12:30:00.123+02'::timestamptz`, new Date('2024-02-29T10:30:00.123Z')],
  [`'1 day 02:00'::interval`, '1 day 02:00:00'],
  [`'08:15'::time`, '08:15:00'],
  [`'{"a":[1,null]}'::json`, { a: [1, null] }],
  [`'"text"'::jsonb`, 'text'],
  [`'null'::jsonb`, null],
  [`'\\x00ff'::bytea`, Uint8Array.of(0, 255)],
  [`'b5c1b3a0-0000-4000-8000-000000000000'::uuid`, 'b5c1b3a0-0000-4000-8000-000000000000'],
  ['null::int4', null],
  ['array[1,null,3]', [1, null, 3]],
  [
    'array[[1,2],[3,4]]',
    [
      [1, 2],
      [3, 4],
    ],
  ],
  [`'{}'::text[]`, []],
  [`array['a,b','"q"','NULL',null,'','\\']`, ['a,b', '"q"', 'NULL', null, '', '\\']],
  [`array[true,false]`, [true, false]],
  [`array['2024-02-29T00:00:00Z'::timestamptz]`, [new Date('2024-02-29T00:00:00Z')]],
  [`array['{"a":1}'::jsonb]`, [{ a: 1 }]],
  [`array[1.5::numeric]`, ['1.5']],
  [`array['\\x01'::bytea]`, [Uint8Array.of(1)]],
  [`'[1,2,3]'::vector(3)`, '[1,2,3]'],
];

const textWithoutNull = fc
  .string({ unit: 'binary' })
  .filter((text) => !text.includes('\u{0}') && text.isWellFormed());

export function describeValues(subject: Subject): void {
  describe('values', () => {
    it.each(literals)('reads %s', async (text, value) => {
      const { rows } = await subject().database.query<{ value: unknown }>(rawSql(`select ${text} as value`));
      expect(rows).toEqual([{ value }]);
    });

    it.each([
      ['int8', 9_007_199_254_740_993n],
      ['int4', -5],
      ['float8', 1e-7],
      ['bool', false],
      ['text', `it's`],
      ['numeric', '12345678901234567890.5'],
      ['timestamptz', new Date('2031-12-31T23:59:59.999Z')],
      ['bytea', Uint8Array.of(0, 1, 254, 255)],
      ['text[]', ['a', null, 'NULL', '{}', '"', '\\', ',']],
      ['int4[]', [1, 2, 3]],
      ['bytea[]', [Uint8Array.of(92, 34)]],
      ['timestamptz[]', [new Date(0)]],
      ['jsonb', { a: { b: [1, 'x', null] } }],
    ])('stores and returns %s', async (type, value) => {
      const { rows } = await subject().database.query<{ value: unknown }>(
        rawSql(`select $1::${type} as value`, [value]),
      );
      expect(rows).toEqual([{ value }]);
    });

    it('sends null and undefined as NULL', async () => {
      const { rows } = await subject().database.query(sql`select ${null}::text as a, ${undefined}::int as b`);
      expect(rows).toEqual([{ a: null, b: null }]);
    });

    it('returns any text, array of texts, bytes and JSON unchanged', async () => {
      const { database } = subject();
      await fc.assert(
        fc.asyncProperty(
          textWithoutNull,
          fc.array(fc.option(textWithoutNull), { minLength: 1 }),
          fc.uint8Array(),
          fc
            .jsonValue({ noUnicodeString: false })
            .filter((value) => !JSON.stringify(value).includes(String.raw`\u0000`)),
          async (text, texts, bytes, value) => {
            const { rows } = await database.query(sql`
              select ${text}::text as text, ${texts}::text[] as texts, ${bytes}::bytea as bytes,
                     ${json(value)}::json as value`);
            expect(rows).toEqual([
              { text, texts, bytes: new Uint8Array(bytes), value: JSON.parse(JSON.stringify(value)) },
            ]);
          },
        ),
        { numRuns: 50 },
      );
    });

    it('rejects a parameter that SQL cannot represent', async () => {
      await expect(subject().database.query(sql`select ${() => 1}::text`)).rejects.toThrow(TypeError);
    });
  });
}
