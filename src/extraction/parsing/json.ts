// Scans JSON bytes: where values end, the elements of a list, and typed values. Checks only what it needs.
import { hasMoreValues, maxJsonValues } from '../../core/index.ts';
import type { JsonPath } from '../types.ts';

/** The bytes are not JSON, as far as they were scanned. `at` is the position. */
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

/** The first position from `at` on that is not white space; may be the end. */
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

/** Short strings are scanned byte by byte; longer ones are searched natively, ten times as fast. */
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

/** Is it preceded by an odd number of backslashes after `from`? */
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

export interface WalkedList {
  /** The body with an empty list instead of this one. */
  readonly envelope: unknown;
}

/** The response is JSON, but not the expected list. */
export class UnexpectedShapeError extends Error {
  override readonly name = 'UnexpectedShapeError';
}

/**
 * Calls `take` with the start of each element of the list at `path`; it returns the element's end. The rest of the body is
 * parsed. Throws JsonScanError or SyntaxError (not JSON), UnexpectedShapeError, and the errors of `take`.
 */
export function walkList(bytes: Uint8Array, path: JsonPath, take: (start: number) => number): WalkedList {
  const list = findValue(bytes, { start: 0, end: bytes.length }, path, 0);
  if (bytes[list.start] !== openArray)
    throw new UnexpectedShapeError(
      path.length === 0 ? 'the body is not a list' : `"${path.join('.')}" is not a list`,
    );
  const end = walkElements(bytes, list.start, take);
  const around = Buffer.concat([bytes.subarray(0, list.start), emptyList, bytes.subarray(end)]);
  return { envelope: JSON.parse(around.toString('utf8')) };
}

const emptyList = Buffer.from('[]');

/** The value at the path; of duplicate names the last one counts, as with JSON.parse. */
function findValue(bytes: Uint8Array, range: ByteRange, path: JsonPath, depth: number): ByteRange {
  const start = skipSpace(bytes, range.start);
  if (start >= range.end) throw new JsonScanError('a value is missing', start);
  const name = path[depth];
  if (name === undefined) return { start, end: range.end };
  const found = bytes[start] === openObject ? findField(bytes, start, name) : undefined;
  if (!found) throw new UnexpectedShapeError(`there is no "${path.slice(0, depth + 1).join('.')}"`);
  return findValue(bytes, found, path, depth + 1);
}

function findField(bytes: Uint8Array, at: number, name: string): ByteRange | undefined {
  let found: ByteRange | undefined;
  let position = skipSpace(bytes, at + 1);
  while (bytes[position] !== closeObject) {
    if (bytes[position] !== quote) throw new JsonScanError('a name is missing', position);
    const nameEnd = skipString(bytes, position);
    const key = memberName(bytes, position, nameEnd);
    position = skipSpace(bytes, nameEnd);
    if (bytes[position] !== colon) throw new JsonScanError('a colon is missing', position);
    const start = skipSpace(bytes, position + 1);
    const end = skipValue(bytes, start);
    if (key === name) found = { start, end };
    position = afterElement(bytes, end, closeObject);
  }
  return found;
}

function walkElements(bytes: Uint8Array, at: number, take: (start: number) => number): number {
  let position = skipSpace(bytes, at + 1);
  while (bytes[position] !== closeArray) position = afterElement(bytes, take(position), closeArray);
  return position + 1;
}

/** The next element, or the closing bracket; a trailing comma is an error. */
function afterElement(bytes: Uint8Array, at: number, closing: number): number {
  const position = skipSpace(bytes, at);
  if (bytes[position] === closing) return position;
  if (bytes[position] !== comma) throw new JsonScanError('a comma is missing', position);
  const next = skipSpace(bytes, position + 1);
  if (bytes[next] === closing) throw new JsonScanError('a value is missing', next);
  return next;
}

/** The string between these quotes, unescaped. */
function memberName(bytes: Uint8Array, start: number, end: number): unknown {
  return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8'));
}

/** Larger than a page of folders and any login response; more takes too long on the main thread (B1). */
const maxSmallBody = 4 * 1024 * 1024;

/** Like `parseBody`, for the main thread: undefined also when it is larger than 4 MB or has more than 100,000 values. */
export function parseSmallBody(bytes: Uint8Array): unknown {
  if (bytes.length > maxSmallBody || hasMoreValues(Buffer.from(bytes).toString(), maxJsonValues))
    return undefined;
  return parseBody(bytes);
}

/** The value of a body; undefined when it is not JSON. Takes long for large ones: only in worker threads. */
export function parseBody(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString());
  } catch {
    return undefined;
  }
}

/** The value at the path; undefined when there is none. */
export function valueAt(value: unknown, path: JsonPath): unknown {
  let at = value;
  for (const name of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Readonly<Record<string, unknown>>)[name];
  }
  return at;
}

/** Text that is not empty, or a number as text. */
export function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value === '' ? null : value;
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : null;
}

/** A whole number from 0, also as text. */
export function countOf(value: unknown): number | null {
  const count = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : null;
}

/** A date, optionally with a time and a zone; without a zone it is UTC. */
const isoInstant =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)\s?(Z|[+-]\d{2}(?::?\d{2})?)?)?$/i;

/** Numbers from here on are milliseconds, below seconds: 1e11 seconds is the year 5138, 1e11 ms is 1973. */
const firstMilliseconds = 1e11;

/** Epoch milliseconds of ISO 8601 text or of epoch seconds or milliseconds. */
export function instantOf(value: unknown): number | null {
  if (typeof value === 'number' && Number.isFinite(value) && value > 0)
    return Math.trunc(value < firstMilliseconds ? value * 1000 : value);
  return typeof value === 'string' ? isoMilliseconds(value) : null;
}

function isoMilliseconds(text: string): number | null {
  const [, date, time = '00:00', zone = 'Z'] = isoInstant.exec(text) ?? [];
  if (date === undefined) return null;
  const offset =
    zone.length === 3 ? `${zone}:00` : zone.length === 5 ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone;
  const ms = Date.parse(`${date}T${time}${offset.toUpperCase()}`);
  return Number.isNaN(ms) || !isInMonth(date) ? null : ms;
}

/** Date.parse turns 30 February into 1 March. */
function isInMonth(date: string): boolean {
  return date.slice(8) <= '28' || new Date(Date.parse(`${date}T00:00Z`) || 0).toISOString().startsWith(date);
}
