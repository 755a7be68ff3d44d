// Finds a member of a JSON object in its bytes, so that its value can be replaced without writing the rest anew.

export type Span = readonly [start: number, end: number];

export interface ScannedMembers {
  /** The values of every top-level member of that name (there may be several), as byte offsets [start, end). */
  readonly spans: readonly Span[];
  /** How deep objects and lists are nested; scanning stops one past the limit. */
  readonly depth: number;
}

const quote = 0x22;
const backslash = 0x5c;

/**
 * Reads `body` once, knowing of JSON only strings, brackets, commas and colons: where it is valid JSON the spans are
 * right, and where it is not they mean nothing, but the scan still ends.
 */
export function scanMembers(body: Uint8Array, name: string, deepest: number): ScannedMembers {
  const spans: Span[] = [];
  const quotedName = Buffer.from(JSON.stringify(name));
  let depth = 0;
  let deepestSeen = 0;
  let isObject = false;
  let isKeyNext = false;
  let isNamed = false;
  let valueFrom = -1;
  for (let at = 0; at < body.length; at++) {
    switch (body[at]) {
      case quote: {
        const end = stringEnd(body, at);
        if (isKeyNext && depth === 1) {
          isNamed = isName(body, at, end, quotedName, name);
          isKeyNext = false;
        }
        at = end - 1;
        break;
      }
      case 0x7b: // {
      case 0x5b: // [
        depth += 1;
        if (depth > deepestSeen) deepestSeen = depth;
        if (depth > deepest) return { spans, depth: deepestSeen };
        if (depth === 1) isKeyNext = isObject = body[at] === 0x7b;
        break;
      case 0x3a: // :
        if (depth === 1 && isNamed && valueFrom < 0) valueFrom = at + 1;
        break;
      case 0x2c: // ,
      case 0x7d: // }
      case 0x5d: // ]
        if (depth === 1 && valueFrom >= 0) {
          spans.push(trimmed(body, valueFrom, at));
          valueFrom = -1;
        }
        if (body[at] !== 0x2c) depth -= 1;
        else if (depth === 1) isKeyNext = isObject;
        break;
      default:
    }
  }
  return { spans, depth: deepestSeen };
}

/** Shorter strings than this, as nearly all names are, are crossed sooner than a native search has begun. */
const shortString = 24;

/** One past the closing quote; the end of the body when there is none. Long texts are crossed by native search. */
function stringEnd(body: Uint8Array, start: number): number {
  for (let at = start + 1; at < start + shortString; at++) {
    if (body[at] === backslash) break;
    if (body[at] === quote) return at + 1;
  }
  for (let from = start + 1; ;) {
    const end = body.indexOf(quote, from);
    if (end < 0) return body.length;
    let before = end - 1;
    while (body[before] === backslash) before -= 1;
    // An even number of backslashes escapes itself, not the quote.
    if ((end - 1 - before) % 2 === 0) return end + 1;
    from = end + 1;
  }
}

function isName(body: Uint8Array, start: number, end: number, quotedName: Buffer, name: string): boolean {
  const written = Buffer.from(body.buffer, body.byteOffset + start, end - start);
  if (written.equals(quotedName)) return true;
  if (!written.includes(backslash)) return false;
  try {
    return JSON.parse(written.toString()) === name;
  } catch {
    return false;
  }
}

function trimmed(body: Uint8Array, start: number, end: number): Span {
  let from = start;
  let to = end;
  while (from < to && isBlank(body[from])) from += 1;
  while (to > from && isBlank(body[to - 1])) to -= 1;
  return [from, to];
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
