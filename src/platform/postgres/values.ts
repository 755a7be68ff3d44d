// How JavaScript values become Postgres parameters and are read back. One table for both drivers, so that they agree.

/** Every parameter is sent as text; Postgres converts it to the type that the statement expects. */
export function encodeParameter(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return value;
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return encodeBytes(value);
  if (Array.isArray(value)) return writeArray(value, encodeParameter);
  if (typeof value === 'object') return JSON.stringify(value);
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean')
    return String(value);
  throw new TypeError(`A ${typeof value} cannot be a parameter of a query.`);
}

function encodeBytes(bytes: Uint8Array): string {
  return `\\x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`;
}

type Parse = (text: string) => unknown;

function parseInteger(text: string): number | bigint {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}

/** The session's time zone is UTC, so the text ends in +00. Infinity becomes the limit of JavaScript dates. */
function parseInstant(text: string): Date {
  if (text === 'infinity') return new Date(8.64e15);
  if (text === '-infinity') return new Date(-8.64e15);
  return new Date(text.replace(' ', 'T').replace(/\+00$/, 'Z'));
}

/** A copy: the whole shared pool of Buffer would be cloned between threads. */
const parseBytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text.slice(2), 'hex'));

const asIs: Parse = (text) => text;
const parseNumber: Parse = Number;
const parseBoolean: Parse = (text) => text === 't';
const parseJson: Parse = (text) => JSON.parse(text) as unknown;

/** [oid of the type, oid of its array, how to read it]. A type that is not listed stays text. */
const types: readonly (readonly [scalar: number, array: number, parse: Parse])[] = [
  [16, 1000, parseBoolean], // bool
  [17, 1001, parseBytes], // bytea
  [19, 1003, asIs], // name
  [20, 1016, parseInteger], // int8
  [21, 1005, parseNumber], // int2
  [23, 1007, parseNumber], // int4
  [25, 1009, asIs], // text
  [26, 1028, parseNumber], // oid
  [114, 199, parseJson], // json
  [700, 1021, parseNumber], // float4
  [701, 1022, parseNumber], // float8
  [1042, 1014, asIs], // bpchar
  [1043, 1015, asIs], // varchar
  [1082, 1182, asIs], // date
  [1083, 1183, asIs], // time
  [1114, 1115, asIs], // timestamp without time zone: local time, not an instant
  [1184, 1185, parseInstant], // timestamptz
  [1186, 1187, asIs], // interval
  [1700, 1231, asIs], // numeric: more digits than a double holds
  [2950, 2951, asIs], // uuid
  [3802, 3807, parseJson], // jsonb
];

/** How to read a column's text, by the oid of its type. */
export const valueParsers: ReadonlyMap<number, Parse> = new Map(
  types.flatMap(([scalar, array, parse]) => [
    [scalar, parse],
    [array, (text: string) => readArray(text, parse)],
  ]),
);

/** The parser of a column; types that are not listed stay text. */
export const parserOf = (oid: number): Parse => valueParsers.get(oid) ?? asIs;

const special = /["\\]/;

/** A Postgres array literal; `write` returns the text of each element, `null` is NULL. */
export function writeArray(items: readonly unknown[], write: (item: unknown) => string | null): string {
  // Thousands of items are nearly always of one kind: joined at once, they take a third of the time.
  if (items.every(isPlain)) return `{${items.join(',')}}`;
  if (items.every(isString) && !special.test(items.join(''))) return `{"${items.join('","')}"}`;
  const parts = items.map((item) => {
    if (isPlain(item)) return String(item);
    if (Array.isArray(item)) return writeArray(item, write);
    const text = write(item);
    return text === null ? 'NULL' : `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
  });
  return `{${parts.join(',')}}`;
}

/** Needs no quotes. */
const isPlain = (item: unknown): item is number | boolean =>
  typeof item === 'number' || typeof item === 'boolean';
const isString = (item: unknown): item is string => typeof item === 'string';

/** Parses an array literal; `read` gets each element that is not NULL. Bounds (`[0:1]={…}`) are dropped. */
export function readArray(text: string, read: (element: string) => unknown): unknown[] {
  let at = text.indexOf('{');

  function quoted(): string {
    let value = '';
    for (at++; at < text.length && text[at] !== '"'; at++) {
      if (text[at] === '\\') at++;
      value += text[at] ?? '';
    }
    at++;
    return value;
  }

  function plain(): string {
    const start = at;
    while (at < text.length && text[at] !== ',' && text[at] !== '}') at++;
    return text.slice(start, at);
  }

  function element(): unknown {
    if (text[at] === '{') return list();
    if (text[at] === '"') return read(quoted());
    const value = plain();
    return value === 'NULL' ? null : read(value);
  }

  function list(): unknown[] {
    const items: unknown[] = [];
    at++;
    while (at < text.length && text[at] !== '}') {
      items.push(element());
      if (text[at] === ',') at++;
    }
    at++;
    return items;
  }

  return list();
}
