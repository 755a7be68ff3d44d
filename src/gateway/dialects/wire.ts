// Works on the bytes of requests and streams: finds and replaces the model's name, splits server-sent events.
import type { CompletionRequest, Span } from '../types.ts';

/** UTF-8 with replacement characters. Input is nearly always a Buffer already; a view of it would cost 0.4 µs. */
export function textOf(bytes: Uint8Array): string {
  const buffer = Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return buffer.toString();
}

/* ---- members of a JSON object ---- */

export interface ScannedMembers {
  /** The values of every top-level member of that name; there may be several. */
  readonly spans: readonly Span[];
  /** Nesting depth of objects and arrays; scanning stops one past the limit. */
  readonly depth: number;
}

const quote = 0x22;
const backslash = 0x5c;

/**
 * Scans `body` once for strings, brackets, commas and colons. For valid JSON the spans are correct; for anything else
 * they are meaningless, but the scan still ends.
 */
export function scanMembers(body: Uint8Array, name: string, maxDepth: number): ScannedMembers {
  const spans: Span[] = [];
  const quotedName = Buffer.from(JSON.stringify(name));
  let depth = 0;
  let deepest = 0;
  let isObject = false;
  let isKeyNext = false;
  let isNamed = false;
  let valueStart = -1;
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
        if (depth > deepest) deepest = depth;
        if (depth > maxDepth) return { spans, depth: deepest };
        if (depth === 1) isKeyNext = isObject = body[at] === 0x7b;
        break;
      case 0x3a: // :
        if (depth === 1 && isNamed && valueStart < 0) valueStart = at + 1;
        break;
      case 0x2c: // ,
      case 0x7d: // }
      case 0x5d: // ]
        if (depth === 1 && valueStart >= 0) {
          spans.push(trimmedSpan(body, valueStart, at));
          valueStart = -1;
        }
        if (body[at] !== 0x2c) depth -= 1;
        else if (depth === 1) isKeyNext = isObject;
        break;
      default:
    }
  }
  return { spans, depth: deepest };
}

/** As many bytes are scanned here before each native search: it takes longer to begin than to find a quote nearby. */
const scannedBytes = 64;

/** One past the closing quote; the end of the body when there is none. */
function stringEnd(body: Uint8Array, start: number): number {
  for (let at = start + 1; ;) {
    for (const until = at + scannedBytes; at < until; at++) {
      if (body[at] === backslash) at++;
      else if (body[at] === quote) return at + 1;
    }
    const end = body.indexOf(quote, at);
    if (end < 0) return body.length;
    let before = end - 1;
    while (before >= at && body[before] === backslash) before -= 1;
    // An even number of backslashes escapes itself, not the quote.
    if ((end - 1 - before) % 2 === 0) return end + 1;
    at = end + 1;
  }
}

/** Escaped spellings of the name count, too: a provider would read them as the name. */
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

function trimmedSpan(body: Uint8Array, start: number, end: number): Span {
  let from = start;
  let to = end;
  while (from < to && isWhitespace(body[from])) from += 1;
  while (to > from && isWhitespace(body[to - 1])) to -= 1;
  return [from, to];
}

function isWhitespace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** A copy of the body with every top-level `model` replaced by the provider's name for it. */
export function spliceModel(
  { body, modelSpans }: Pick<CompletionRequest, 'body' | 'modelSpans'>,
  upstreamModel: string,
): Uint8Array {
  const name = quotedModel(upstreamModel);
  if (modelSpans.length === 0) return insertModel(body, name);
  const parts: Uint8Array[] = [];
  let from = 0;
  for (const [start, end] of modelSpans) {
    parts.push(body.subarray(from, start), name);
    from = end;
  }
  parts.push(body.subarray(from));
  return Buffer.concat(parts);
}

const quotedModels = new Map<string, Uint8Array>();
const maxQuotedModels = 1_000;

function quotedModel(model: string): Uint8Array {
  const cached = quotedModels.get(model);
  if (cached) return cached;
  const name = Buffer.from(JSON.stringify(model));
  if (quotedModels.size < maxQuotedModels) quotedModels.set(model, name);
  return name;
}

/** As the first member. The object is never empty: it has messages or input. */
function insertModel(body: Uint8Array, name: Uint8Array): Uint8Array {
  const after = body.indexOf(0x7b) + 1;
  return Buffer.concat([body.subarray(0, after), modelMember, name, comma, body.subarray(after)]);
}

const modelMember = Buffer.from('"model":');
const comma = Buffer.from(',');

/* ---- server-sent events ---- */

export interface SseEvent {
  /** The value of its last `event:` line; empty without one. */
  readonly name: string;
  /** Its `data:` lines, joined by line breaks; undefined for a comment. */
  readonly data: string | undefined;
  /** The bytes it came as, blank line included. */
  readonly bytes: Uint8Array;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** Splits a stream into whole events, wherever the network cut it. Lines end in LF or CRLF, or in CR if the first does. */
export class SseSplitter {
  /** Chunks of the incomplete event. Joined once, when it is complete: an image may come in thousands of chunks. */
  #chunks: Uint8Array[] = [];
  #pendingBytes = 0;
  #isLineEmpty = true;
  /** The byte that ends lines; undefined before the first line end. */
  #lineEnd: number | undefined;
  /** The last byte was a CR and the first line end: an LF may follow. */
  #endsInReturn = false;

  /** Bytes of the event that is not complete yet. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** The events that this chunk completes. */
  push(chunk: Uint8Array): SseEvent[] {
    const events: SseEvent[] = [];
    const lineEnd = this.#lineEnd ?? this.#detectLineEnd(chunk, events);
    let eventStart = 0;
    for (let from = 0; ;) {
      const end = chunk.indexOf(lineEnd, from);
      if (end < 0) {
        this.#isLineEmpty &&= isBlankLine(chunk, from, chunk.length);
        break;
      }
      const isBlank = this.#isLineEmpty && isBlankLine(chunk, from, end);
      this.#isLineEmpty = true;
      from = end + 1;
      if (!isBlank) continue;
      this.#keep(chunk.subarray(eventStart, from));
      events.push(parseEvent(this.#take()));
      eventStart = from;
    }
    if (eventStart < chunk.length) this.#keep(chunk.subarray(eventStart));
    return events;
  }

  /** What is left at the end of the stream: an event without its blank line, as some servers send their last. */
  end(): SseEvent | undefined {
    return this.#pendingBytes === 0 ? undefined : parseEvent(this.#take());
  }

  /** Assumes LF until the first line end is seen: nothing is complete before it anyway. */
  #detectLineEnd(chunk: Uint8Array, events: SseEvent[]): number {
    const feedAt = chunk.indexOf(lineFeed);
    const returnAt = this.#endsInReturn ? -1 : chunk.indexOf(carriageReturn);
    const isReturn = this.#endsInReturn || (returnAt >= 0 && (feedAt < 0 || returnAt < feedAt));
    if (isReturn ? returnAt + 1 === chunk.length : feedAt < 0) {
      this.#endsInReturn = isReturn;
      return lineFeed;
    }
    this.#lineEnd = isReturn && chunk[returnAt + 1] !== lineFeed ? carriageReturn : lineFeed;
    if (this.#endsInReturn && this.#lineEnd === carriageReturn) {
      // The CR at the end of the last chunk ended its line.
      if (this.#isLineEmpty) events.push(parseEvent(this.#take()));
      this.#isLineEmpty = true;
    }
    return this.#lineEnd;
  }

  #keep(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#pendingBytes += chunk.length;
  }

  #take(): Uint8Array {
    const [only] = this.#chunks;
    const bytes = this.#chunks.length === 1 && only ? only : Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#pendingBytes = 0;
    this.#isLineEmpty = true;
    return bytes;
  }
}

/** Empty, or the CR of a CRLF. */
function isBlankLine(chunk: Uint8Array, from: number, to: number): boolean {
  return to === from || (to === from + 1 && chunk[from] === carriageReturn);
}

function parseEvent(bytes: Uint8Array): SseEvent {
  const text = textOf(bytes);
  const usual = usualData(text);
  if (usual !== undefined) return { name: '', data: usual, bytes };
  let name = '';
  let data: string | undefined;
  const lines = linesOf(text);
  // No JSON either: the stream fails.
  if (!lines) return { name, data: text, bytes };
  for (const line of lines) {
    const colon = line.indexOf(':');
    // The first line may start with a byte order mark.
    const field = (colon < 0 ? line : line.slice(0, colon)).replace(/^\uFEFF/, '');
    if (field !== 'data' && field !== 'event') continue;
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'event') name = value;
    else data = data === undefined ? value : `${data}\n${value}`;
  }
  return { name, data, bytes };
}

/** The data of an event may be pretty-printed JSON; millions of lines would take seconds to read. */
const maxLines = 100_000;

/** Undefined when there are too many. */
function linesOf(text: string): readonly string[] | undefined {
  // Far faster than a regular expression where an event has an image.
  const lines = text.includes('\r') ? text.split(/\r\n|\n|\r/, maxLines + 1) : text.split('\n', maxLines + 1);
  return lines.length > maxLines ? undefined : lines;
}

/** Of an event with a single line `data: …`, as nearly all are: splitting lines costs as much as parsing the data. */
function usualData(text: string): string | undefined {
  if (!text.startsWith('data: ') || !text.endsWith('\n\n') || text.includes('\r')) return undefined;
  return text.indexOf('\n') === text.length - 2 ? text.slice(6, -2) : undefined;
}
