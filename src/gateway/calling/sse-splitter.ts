// Cuts a stream of server-sent events into whole events, wherever the network cut it. Line ends: LF or CRLF, or CR alone
// if the first one is.
import { textOf } from '../text-of.ts';

export interface SseEvent {
  /** The value of its last `event:` line; empty when it has none. */
  readonly name: string;
  /** Its `data:` lines, joined by line breaks; undefined for a mere comment. */
  readonly data: string | undefined;
  /** Exactly the bytes it came as, blank line included. */
  readonly bytes: Uint8Array;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

export class SseSplitter {
  /** The pieces of the event under way. Joined once, when it is whole: a picture may come in thousands of pieces. */
  #pieces: Uint8Array[] = [];
  #pendingBytes = 0;
  #isLineEmpty = true;
  /** The byte that ends lines; undefined until the first one has come. */
  #lineEnd: number | undefined;
  /** The last byte was a CR, and the first line end: a LF may follow. */
  #endsInReturn = false;

  /** How much of an event is here that is not whole yet. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** The events that this piece makes whole. */
  push(piece: Uint8Array): SseEvent[] {
    const events: SseEvent[] = [];
    const lineEnd = this.#lineEnd ?? this.#firstLineEnd(piece, events);
    let eventFrom = 0;
    for (let from = 0; ;) {
      const end = piece.indexOf(lineEnd, from);
      if (end < 0) {
        this.#isLineEmpty &&= isBlank(piece, from, piece.length);
        break;
      }
      const isBlankLine = this.#isLineEmpty && isBlank(piece, from, end);
      this.#isLineEmpty = true;
      from = end + 1;
      if (!isBlankLine) continue;
      this.#keep(piece.subarray(eventFrom, from));
      events.push(parseEvent(this.#take()));
      eventFrom = from;
    }
    if (eventFrom < piece.length) this.#keep(piece.subarray(eventFrom));
    return events;
  }

  /** What is left when the stream has ended: an event that lacks its blank line, as some servers send their last. */
  end(): SseEvent | undefined {
    return this.#pendingBytes === 0 ? undefined : parseEvent(this.#take());
  }

  /** Takes lines as ended by LF until it is known better: nothing is whole before the first line end anyway. */
  #firstLineEnd(piece: Uint8Array, events: SseEvent[]): number {
    const feedAt = piece.indexOf(lineFeed);
    const returnAt = this.#endsInReturn ? -1 : piece.indexOf(carriageReturn);
    const isReturn = this.#endsInReturn || (returnAt >= 0 && (feedAt < 0 || returnAt < feedAt));
    if (isReturn ? returnAt + 1 === piece.length : feedAt < 0) {
      this.#endsInReturn = isReturn;
      return lineFeed;
    }
    this.#lineEnd = isReturn && piece[returnAt + 1] !== lineFeed ? carriageReturn : lineFeed;
    if (this.#endsInReturn && this.#lineEnd === carriageReturn) {
      // The line before this piece has ended, then.
      if (this.#isLineEmpty) events.push(parseEvent(this.#take()));
      this.#isLineEmpty = true;
    }
    return this.#lineEnd;
  }

  #keep(piece: Uint8Array): void {
    this.#pieces.push(piece);
    this.#pendingBytes += piece.length;
  }

  #take(): Uint8Array {
    const [only] = this.#pieces;
    const bytes = this.#pieces.length === 1 && only ? only : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#pendingBytes = 0;
    this.#isLineEmpty = true;
    return bytes;
  }
}

/** Nothing, or the CR of a CRLF. */
function isBlank(piece: Uint8Array, from: number, to: number): boolean {
  return to === from || (to === from + 1 && piece[from] === carriageReturn);
}

function parseEvent(bytes: Uint8Array): SseEvent {
  const text = textOf(bytes);
  let name = '';
  let data: string | undefined;
  for (const line of text.split(/\r\n|\n|\r/)) {
    // A byte order mark may stand before the first line.
    const colon = line.indexOf(':');
    const field = (colon < 0 ? line : line.slice(0, colon)).replace(/^\uFEFF/, '');
    if (field !== 'data' && field !== 'event') continue;
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'event') name = value;
    else data = data === undefined ? value : `${data}\n${value}`;
  }
  return { name, data, bytes };
}
