// Reads a streamed chat answer: when it is committed, whether it is whole, what it cost. No I/O.
//
// waiting → committed (first content) → complete
//    ╰──────────────╰→ failed (error event, refusal, nothing at all)
import type { FailureClass } from '../failure-classes.ts';
import type { TokenCounts } from '../classification/index.ts';
import { asObject, finishOf, isError, readChoices, readUsage } from '../classification/index.ts';
import type { SseEvent } from './sse-splitter.ts';
import { SseSplitter } from './sse-splitter.ts';

export type StreamFailure =
  | { readonly failureClass: FailureClass }
  /** An error event: its JSON, to be classified. */
  | { readonly errorBody: string };

/** What one event may grow to, with a picture in it. One that never ends would fill the memory. */
const longestEvent = 4 * 1024 * 1024;

export class StreamReader {
  /** How many answers were asked for. */
  readonly #wanted: number;
  readonly #splitter = new SseSplitter();
  #isCommitted = false;
  #isDone = false;
  /** The choices, by number, of which anything came, and those that said that they are through. */
  readonly #begun = new Set<unknown>();
  readonly #finished = new Set<unknown>();
  #failure: StreamFailure | undefined;
  #usage: TokenCounts | undefined;
  #characters = 0;
  #contents = 0;
  #hasContentLast = false;

  constructor(wanted: number) {
    this.#wanted = wanted;
  }

  /** Has content come? Then nobody else can take over. */
  get isCommitted(): boolean {
    return this.#isCommitted;
  }

  /** `[DONE]` has come: nothing more is expected. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** Did the model say that it is through, with every choice that was asked for? A stream that ends before was cut. */
  get isComplete(): boolean {
    const { size } = this.#finished;
    return this.#isDone || (size >= this.#wanted && size === this.#begun.size);
  }

  /**
   * Is nothing expected any more but usage and `[DONE]`? An end that comes with content may be none: some providers
   * write `stop` into every piece.
   */
  get isAwaitingDone(): boolean {
    return this.isComplete && !this.#hasContentLast;
  }

  /** Once there is one, no more bytes are handed out. */
  get failure(): StreamFailure | undefined {
    return this.#failure;
  }

  get usage(): TokenCounts | undefined {
    return this.#usage;
  }

  get characters(): number {
    return this.#characters;
  }

  /** How many events brought content. */
  get contents(): number {
    return this.#contents;
  }

  get pendingBytes(): number {
    return this.#splitter.pendingBytes;
  }

  /** Whole events as the bytes they came in; what is not whole yet waits, so that nobody gets half an event. */
  push(piece: Uint8Array): Uint8Array | undefined {
    if (this.#failure || this.#isDone) return undefined;
    const startsWithEvent = this.#splitter.pendingBytes === 0;
    const events = this.#splitter.push(piece);
    const good = this.#take(events);
    if (this.#splitter.pendingBytes > longestEvent) this.#failure ??= { failureClass: 'invalid-response' };
    // Mostly a piece is whole events and nothing else: it goes on as it is, uncopied.
    return startsWithEvent && good > 0 ? piece.subarray(0, good) : joined(events, good);
  }

  /** The rest, when the stream has ended. */
  end(): Uint8Array | undefined {
    const last = this.#failure || this.#isDone ? undefined : this.#splitter.end();
    return last && joined([last], this.#take([last]));
  }

  /** How many bytes of these events may be handed out. */
  #take(events: readonly SseEvent[]): number {
    let bytes = 0;
    for (const event of events) {
      this.#read(event);
      if (this.#failure) break;
      bytes += event.bytes.length;
      if (this.#isDone) break;
    }
    return bytes;
  }

  #read({ name, data }: SseEvent): void {
    if (data === undefined || data === '') return;
    if (data.trim() === '[DONE]') {
      this.#isDone = true;
      return;
    }
    const json = parsed(data);
    const chunk = asObject(Array.isArray(json) ? json[0] : json);
    if (name === 'error' || (chunk && isError(chunk))) {
      this.#failure = { errorBody: data };
      return;
    }
    if (!chunk) this.#failure = { failureClass: 'invalid-response' };
    else this.#readChunk(chunk);
  }

  #readEnds(choices: readonly Choice[]): void {
    for (const choice of choices) {
      const { index = 0 } = choice;
      this.#begun.add(index);
      if (finishOf(choice) !== null) this.#finished.add(index);
    }
  }

  #readChunk(chunk: Readonly<Record<string, unknown>>): void {
    this.#usage = readUsage(chunk) ?? this.#usage;
    const choices = readChoices(chunk['choices']);
    if (!choices) return;
    this.#characters += choices.characters;
    this.#hasContentLast = choices.hasContent;
    this.#readEnds(chunk['choices'] as readonly Choice[]);
    if (choices.hasContent) {
      this.#isCommitted = true;
      this.#contents++;
    }
    if (choices.error || choices.finish === 'error')
      this.#failure = { errorBody: JSON.stringify({ error: choices.error ?? {} }) };
    else if (!this.#isCommitted && choices.finish === 'content_filter')
      this.#failure = { failureClass: 'content-refused' };
    // Cut off before it said anything: that is the answer, max_tokens was too small.
    else if (choices.finish === 'length') this.#isCommitted = true;
  }
}

interface Choice extends Readonly<Record<string, unknown>> {
  readonly index?: unknown;
}

function joined(events: readonly SseEvent[], bytes: number): Uint8Array | undefined {
  if (bytes === 0) return undefined;
  const pieces = events.map((event) => event.bytes);
  return pieces.length === 1 ? pieces[0] : Buffer.concat(pieces).subarray(0, bytes);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
