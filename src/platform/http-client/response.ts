// The response that every transport returns.
import type { Clock, HttpAnswer } from '../../core/index.ts';
import { HttpFailure } from '../../core/index.ts';

/** Where an answer's bytes come from. One pull at a time. */
export interface BodySource {
  /** The next piece, or `null` at the end; rejects with an HttpFailure. */
  pull(): Promise<Uint8Array | null>;
  /** All that is left, if the end has arrived already, as it has for most small answers: nothing to wait for. */
  whole?(): readonly Uint8Array[] | undefined;
  /** Lets go of the connection. Whoever still pulls gets this failure. */
  abandon(failure: HttpFailure): void;
}

export interface AnswerParts {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly source: BodySource;
  readonly clock: Clock;
  readonly bodyTimeoutMs: number;
  /** The request, as error messages name it. */
  readonly label: string;
}

/** Unread rests up to this size are read to the end on discard: cheaper than a new connection (with TLS: much). */
const worthReadingBytes = 64 * 1024;
const worthWaitingMs = 500;

/** Builds the answer of the core port over a source of bytes. */
export function createHttpResponse(parts: AnswerParts): HttpAnswer {
  return new SourcedAnswer(parts);
}

/** A class, not closures: every call makes one. */
class SourcedAnswer implements HttpAnswer, AsyncIterable<Uint8Array> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly #parts: AnswerParts;
  #isTaken = false;

  constructor(parts: AnswerParts) {
    this.status = parts.status;
    this.headers = parts.headers;
    this.#parts = parts;
  }

  get body(): AsyncIterable<Uint8Array> {
    return this;
  }

  [Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, void> {
    this.#take();
    return pieces(this.#parts, this.#parts.bodyTimeoutMs);
  }

  bytes(maxBytes: number, withinMs = Number.POSITIVE_INFINITY): Promise<Uint8Array> {
    this.#take();
    const whole = this.#parts.source.whole?.();
    return whole
      ? Promise.try(joined, this.#parts, whole, maxBytes)
      : readAll(this.#parts, maxBytes, withinMs);
  }

  async discard(): Promise<void> {
    if (this.#isTaken) return;
    this.#take();
    const { headers, source, label } = this.#parts;
    if (Number(headers['content-length'] ?? Number.NaN) <= worthReadingBytes)
      await readAll(this.#parts, worthReadingBytes, worthWaitingMs).catch(() => undefined);
    else source.abandon(new HttpFailure('aborted', `The answer to ${label} was dropped unread.`));
  }

  #take(): void {
    if (this.#isTaken)
      throw new TypeError(`The body of the answer to ${this.#parts.label} was read or dropped already.`);
    this.#isTaken = true;
  }
}

/** The next piece; a silence of `silenceMs` ends the answer. */
function nextPiece({ clock, source, label }: AnswerParts, silenceMs: number): Promise<Uint8Array | null> {
  return within(clock, silenceMs, source.pull(), () => {
    const failure = new HttpFailure(
      'timeout',
      `${label}: the answer fell silent for ${Math.ceil(silenceMs)} ms in the middle.`,
      undefined,
      'body',
    );
    source.abandon(failure);
    return failure;
  });
}

async function* pieces(parts: AnswerParts, silenceMs: number): AsyncGenerator<Uint8Array, void, void> {
  let isAtEnd = false;
  try {
    for (;;) {
      const piece = await nextPiece(parts, silenceMs);
      if (piece === null) {
        isAtEnd = true;
        return;
      }
      yield piece;
    }
  } finally {
    if (!isAtEnd) parts.source.abandon(new HttpFailure('aborted', `${parts.label}: the reader left early.`));
  }
}

/** Pulls by itself rather than through `pieces`: a generator costs as much as the rest of a small answer. */
async function readAll(parts: AnswerParts, maxBytes: number, withinMs: number): Promise<Uint8Array> {
  const { clock, bodyTimeoutMs } = parts;
  const endsAt = clock.monotonic() + withinMs;
  const read: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      const piece = await nextPiece(parts, Math.min(bodyTimeoutMs, endsAt - clock.monotonic()));
      if (piece === null) return Buffer.concat(read, size);
      size += piece.byteLength;
      if (size > maxBytes) throw tooLarge(parts, maxBytes);
      read.push(piece);
    }
  } catch (error) {
    parts.source.abandon(new HttpFailure('aborted', `${parts.label}: the reader left early.`));
    throw error;
  }
}

function joined(parts: AnswerParts, pieces: readonly Uint8Array[], maxBytes: number): Uint8Array {
  const [first] = pieces;
  const all = pieces.length === 1 && first ? first : Buffer.concat(pieces);
  if (all.byteLength > maxBytes) throw tooLarge(parts, maxBytes);
  return all;
}

const tooLarge = ({ label }: AnswerParts, maxBytes: number): HttpFailure =>
  new HttpFailure('too-large', `${label}: the answer is larger than ${maxBytes} bytes.`);

/** Waits for `work` no longer than `ms`; then rejects with what `late` returns. The work itself is not stopped. */
export function within<T>(clock: Clock, ms: number, work: Promise<T>, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => reject(late()));
    work.then(
      (value) => {
        cancel();
        return resolve(value);
      },
      (error: Error) => {
        cancel();
        return reject(error);
      },
    );
  });
}
