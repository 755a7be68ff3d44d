// Finds where a JSON value ends without building it: bytes in, positions out. Checks only what it needs to find its way.

/** The bytes are not JSON as far as they were looked at. `at` is the position. */
export class JsonScanError extends Error {
  override readonly name = 'JsonScanError';
  readonly at: number;

  constructor(problem: string, at: number) {
    super(`${problem} at byte ${at}`);
    this.at = at;
  }
}

/** From `start` up to, not including, `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export const quote = 0x22;
export const comma = 0x2c;
export const colon = 0x3a;
export const openArray = 0x5b;
export const closeArray = 0x5d;
export const openObject = 0x7b;
export const closeObject = 0x7d;
const backslash = 0x5c;

/** The first position from `at` on that is no white space; may be the end. */
export function skipSpace(bytes: Uint8Array, at: number): number {
  let position = at;
  for (; position < bytes.length; position++) {
    const byte = bytes[position];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
  }
  return position;
}

/** Where the value that starts at `at` ends. Nested values are counted, not checked. */
export function skipValue(bytes: Uint8Array, at: number): number {
  const first = bytes[at];
  if (first === quote) return skipString(bytes, at);
  if (first === openObject || first === openArray) return skipNested(bytes, at);
  return skipScalar(bytes, at);
}

/** Most texts are short: those are walked byte by byte. Longer ones are searched natively, ten times as fast. */
const shortText = 24;

/** Where the string that starts at `at` ends, its closing quote included. */
export function skipString(bytes: Uint8Array, at: number): number {
  const near = Math.min(at + shortText, bytes.length);
  let position = at + 1;
  for (; position < near; position++) {
    const byte = bytes[position];
    if (byte === backslash) position++;
    else if (byte === quote) return position + 1;
  }
  for (let end = bytes.indexOf(quote, position); end !== -1; end = bytes.indexOf(quote, end + 1))
    if (!isEscaped(bytes, position, end)) return end + 1;
  throw new JsonScanError('a text does not end', at);
}

/** An odd number of backslashes stands before it, not counting what lies before `from`. */
function isEscaped(bytes: Uint8Array, from: number, at: number): boolean {
  let first = at;
  while (first > from && bytes[first - 1] === backslash) first--;
  return (at - first) % 2 === 1;
}

function skipNested(bytes: Uint8Array, at: number): number {
  let depth = 0;
  for (let position = at; position < bytes.length; position++) {
    const byte = bytes[position];
    if (byte === quote) position = skipString(bytes, position) - 1;
    else if (byte === openObject || byte === openArray) depth++;
    else if (byte === closeObject || byte === closeArray) {
      depth--;
      if (depth === 0) return position + 1;
    }
  }
  throw new JsonScanError('an object or list does not end', at);
}

function skipScalar(bytes: Uint8Array, at: number): number {
  let position = at;
  for (; position < bytes.length; position++) {
    const byte = bytes[position] ?? 0;
    const isEnd = byte <= 0x20 || byte === comma || byte === closeArray || byte === closeObject;
    if (isEnd || byte === colon || byte === quote || byte === openArray || byte === openObject) break;
  }
  if (position === at) throw new JsonScanError('a value is missing', at);
  return position;
}
