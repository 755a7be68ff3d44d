// The response that every transport returns.
import type { ChunkReceiver, Clock, HttpChunks, HttpFlow, HttpResponse } from '../../core/index.ts';
import { HttpFailure } from '../../core/index.ts';

/** Where the bytes of a response come from. One pull at a time. */
export interface BodySource {
  /** The next chunk, or `null` at the end; rejects with an HttpFailure. */
  pull(): Promise<Uint8Array | null>;
  /** All remaining chunks if the end has arrived already, as it has for most small responses. */
  rest?(): readonly Uint8Array[] | undefined;
  /** See HttpChunks. */
  flowTo?(receiver: ChunkReceiver): HttpFlow | undefined;
  /** Releases the connection. A pending pull rejects with this failure. */
  abandon(failure: HttpFailure): void;
}

export interface HttpResponseDeps {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly source: BodySource;
  readonly clock: Clock;
  readonly bodyTimeoutMs: number;
  /** The request, for error messages. */
  readonly label: string;
}

/** An unread body up to this size is read to its end on discard, which is cheaper than a new connection. */
const maxDrainBytes = 64 * 1024;
const maxDrainMs = 500;

/** A class, not closures: every request creates one. */
export class SourcedResponse implements HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly #deps: HttpResponseDeps;
  #isRead = false;

  constructor(deps: HttpResponseDeps) {
    this.status = deps.status;
    this.headers = deps.headers;
    this.#deps = deps;
  }

  get body(): this {
    return this;
  }

  [Symbol.asyncIterator](): HttpChunks {
    this.#markRead();
    return new ChunkIterator(this.#deps);
  }

  bytes(maxBytes: number, timeoutMs = Number.POSITIVE_INFINITY): Promise<Uint8Array> {
    this.#markRead();
    const rest = this.#deps.source.rest?.();
    return rest ? Promise.try(joined, this.#deps, rest, maxBytes) : readAll(this.#deps, maxBytes, timeoutMs);
  }

  async discard(): Promise<void> {
    if (this.#isRead) return;
    this.#markRead();
    const { headers, source, label } = this.#deps;
    if (Number(headers['content-length'] ?? Number.NaN) <= maxDrainBytes)
      await readAll(this.#deps, maxDrainBytes, maxDrainMs).catch(() => undefined);
    else source.abandon(new HttpFailure('aborted', `The response to ${label} was discarded.`));
  }

  #markRead(): void {
    if (this.#isRead)
      throw new TypeError(`The body of the response to ${this.#deps.label} was already read or discarded.`);
    this.#isRead = true;
  }
}

/** The next chunk; a pause of `timeoutMs` ends the response. */
function nextChunk(
  { clock, source, label }: HttpResponseDeps,
  timeoutMs: number,
): Promise<Uint8Array | null> {
  if (timeoutMs === Number.POSITIVE_INFINITY) return source.pull();
  return rejectAfter(clock, timeoutMs, source.pull(), () => {
    const message = `${label}: no data for ${Math.ceil(timeoutMs)} ms in the middle of the response.`;
    const failure = new HttpFailure('timeout', message, undefined, 'body');
    source.abandon(failure);
    return failure;
  });
}

/** The chunks of a body. A class: a generator costs as much as the rest of a small response. */
class ChunkIterator implements HttpChunks {
  readonly #deps: HttpResponseDeps;
  #isOver = false;

  constructor(deps: HttpResponseDeps) {
    this.#deps = deps;
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (this.#isOver) return noMoreChunks;
    let chunk: Uint8Array | null;
    try {
      chunk = await nextChunk(this.#deps, this.#deps.bodyTimeoutMs);
    } catch (error) {
      await this.return();
      throw error;
    }
    if (chunk !== null) return { done: false, value: chunk };
    this.#isOver = true;
    return noMoreChunks;
  }

  flowTo(receiver: ChunkReceiver): HttpFlow | undefined {
    return this.#isOver ? undefined : this.#deps.source.flowTo?.(receiver);
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (!this.#isOver) this.#deps.source.abandon(stoppedReading(this.#deps));
    this.#isOver = true;
    return noMoreChunks;
  }
}

const noMoreChunks: IteratorResult<Uint8Array, undefined> = { done: true, value: undefined };

async function readAll(deps: HttpResponseDeps, maxBytes: number, timeoutMs: number): Promise<Uint8Array> {
  const { clock, bodyTimeoutMs } = deps;
  const endsAt = clock.monotonic() + timeoutMs;
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      const chunk = await nextChunk(deps, Math.min(bodyTimeoutMs, endsAt - clock.monotonic()));
      if (chunk === null) return Buffer.concat(chunks, size);
      size += chunk.byteLength;
      if (size > maxBytes) throw tooLarge(deps, maxBytes);
      chunks.push(chunk);
    }
  } catch (error) {
    deps.source.abandon(stoppedReading(deps));
    throw error;
  }
}

function joined(deps: HttpResponseDeps, chunks: readonly Uint8Array[], maxBytes: number): Uint8Array {
  const [first] = chunks;
  const all = chunks.length === 1 && first ? first : Buffer.concat(chunks);
  if (all.byteLength > maxBytes) throw tooLarge(deps, maxBytes);
  return all;
}

const stoppedReading = ({ label }: HttpResponseDeps): HttpFailure =>
  new HttpFailure('aborted', `${label}: the caller stopped reading.`);

const tooLarge = ({ label }: HttpResponseDeps, maxBytes: number): HttpFailure =>
  new HttpFailure('too-large', `${label}: the response is larger than ${maxBytes} bytes.`);

/**
 * Waits for `work` up to `ms`, then rejects with what `onTimeout` returns. Called for every chunk of every response: unlike
 * `withTimeout` it creates no signal and does not wait another turn.
 */
export function rejectAfter<T>(
  clock: Clock,
  ms: number,
  work: Promise<T>,
  onTimeout: () => Error,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => reject(onTimeout()));
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
