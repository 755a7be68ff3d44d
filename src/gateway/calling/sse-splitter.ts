// Cuts a stream of server-sent events into whole events, wherever the network cut it. Line ends: LF or CRLF.
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

  /** How much of an event is here that is not whole yet. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** The events that this piece makes whole. */
  push(piece: Uint8Array): SseEvent[] {
    const events: SseEvent[] = [];
    let eventFrom = 0;
    for (let from = 0; ;) {
      const end = piece.indexOf(lineFeed, from);
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
  for (const line of text.split(/\r?\n/)) {
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
