// Finds the list of items in the bytes of a page, and where each of its elements starts.
import type { JsonPath } from '../ports.ts';
import type { ByteRange } from './json-scanner.ts';
import {
  closeArray,
  closeObject,
  colon,
  comma,
  JsonScanError,
  openArray,
  openObject,
  quote,
  skipSpace,
  skipString,
  skipValue,
} from './json-scanner.ts';

export interface WalkedList {
  /** The body with an empty list in the place of this one: everything else that the answer says. */
  readonly envelope: unknown;
}

/** The answer is JSON, but not the list that was asked for. */
export class NotTheShapeError extends Error {
  override readonly name = 'NotTheShapeError';
}

/**
 * Walks the list at `path`. `take` is told where each element starts and says where it ends. What is around the list is
 * parsed and so known to be JSON. Throws JsonScanError or SyntaxError (no JSON), NotTheShapeError, and what `take` does.
 */
export function walkList(bytes: Uint8Array, path: JsonPath, take: (start: number) => number): WalkedList {
  const list = findValue(bytes, { start: 0, end: bytes.length }, path, 0);
  if (bytes[list.start] !== openArray)
    throw new NotTheShapeError(path.length === 0 ? 'the body is no list' : `"${path.join('.')}" is no list`);
  const end = walkElements(bytes, list.start, take);
  const around = Buffer.concat([bytes.subarray(0, list.start), emptyList, bytes.subarray(end)]);
  return { envelope: JSON.parse(around.toString('utf8')) };
}

const emptyList = Buffer.from('[]');

/** The value at the path; of several equal names the last one counts, as JSON.parse has it. */
function findValue(bytes: Uint8Array, within: ByteRange, path: JsonPath, depth: number): ByteRange {
  const start = skipSpace(bytes, within.start);
  if (start >= within.end) throw new JsonScanError('a value is missing', start);
  const name = path[depth];
  if (name === undefined) return { start, end: within.end };
  const found = bytes[start] === openObject ? findField(bytes, start, name) : undefined;
  if (!found) throw new NotTheShapeError(`there is no "${path.slice(0, depth + 1).join('.')}"`);
  return findValue(bytes, found, path, depth + 1);
}

function findField(bytes: Uint8Array, at: number, name: string): ByteRange | undefined {
  let found: ByteRange | undefined;
  let position = skipSpace(bytes, at + 1);
  while (bytes[position] !== closeObject) {
    if (bytes[position] !== quote) throw new JsonScanError('a name is missing', position);
    const nameEnd = skipString(bytes, position);
    const key = textOf(bytes, position, nameEnd);
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

/** The next element, or the closing bracket; a comma must have something after it. */
function afterElement(bytes: Uint8Array, at: number, closing: number): number {
  const position = skipSpace(bytes, at);
  if (bytes[position] === closing) return position;
  if (bytes[position] !== comma) throw new JsonScanError('a comma is missing', position);
  const next = skipSpace(bytes, position + 1);
  if (bytes[next] === closing) throw new JsonScanError('a value is missing', next);
  return next;
}

/** The text between these quotes, escapes resolved. */
function textOf(bytes: Uint8Array, start: number, end: number): unknown {
  return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8'));
}
