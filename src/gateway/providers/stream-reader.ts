// Reads a streamed chat completion: when it is committed, whether it is complete, its token usage. No I/O.
//
// waiting → committed (first content) → complete
//    ╰──────────────╰→ failed (error event, refusal, no content)
import { parseJson } from '../../core/index.ts';
import type { JsonObject, ReportedUsage } from '../dialects/openai-shared.ts';
import { finishReasonOf, readChoices } from '../dialects/openai.ts';
import { asObject, isErrorBody, readUsage } from '../dialects/openai-shared.ts';
import type { SseEvent } from '../dialects/wire.ts';
import { SseSplitter } from '../dialects/wire.ts';
import type { FailureClass } from '../errors.ts';

export type StreamFailure =
  | { readonly failureClass: FailureClass }
  /** An error event: its JSON, to be classified. */
  | { readonly errorBody: string };

/** Limit for one event, an image included. An event that never ends would fill the memory. */
const maxEventBytes = 4 * 1024 * 1024;

export class StreamReader {
  /** Content has arrived: no other model can take over. */
  isCommitted = false;
  /** `[DONE]` has arrived: nothing more is expected. */
  isDone = false;
  /** After a failure no more bytes are returned. */
  failure: StreamFailure | undefined;
  usage: ReportedUsage | undefined;
  characters = 0;
  /** The number of events with content. */
  contentEvents = 0;
  /** The number of choices requested. */
  readonly #choiceCount: number;
  readonly #splitter = new SseSplitter();
  /** Choices, by index, that have started and that have finished. */
  readonly #started = new Set<unknown>();
  readonly #finished = new Set<unknown>();
  #isContentLast = false;

  constructor(choiceCount: number) {
    this.#choiceCount = choiceCount;
  }

  /** Every requested choice has finished. A stream that ends before was cut. */
  get isComplete(): boolean {
    const { size } = this.#finished;
    return this.isDone || (size >= this.#choiceCount && size === this.#started.size);
  }

  /**
   * Only usage and `[DONE]` are still expected. A finish reason that comes with content does not count: some providers
   * write `stop` into every chunk.
   */
  get isAwaitingDone(): boolean {
    return this.isComplete && !this.#isContentLast;
  }

  get pendingBytes(): number {
    return this.#splitter.pendingBytes;
  }

  /** Whole events as the bytes they came in; an incomplete event is held back. */
  push(chunk: Uint8Array): Uint8Array | undefined {
    if (this.failure || this.isDone) return undefined;
    const startsWithEvent = this.#splitter.pendingBytes === 0;
    const events = this.#splitter.push(chunk);
    const accepted = this.#readAll(events);
    if (this.#splitter.pendingBytes > maxEventBytes) this.failure ??= { failureClass: 'invalid-response' };
    // Mostly a chunk consists of whole events: it is passed on without a copy.
    return startsWithEvent && accepted > 0 ? chunk.subarray(0, accepted) : joinEvents(events, accepted);
  }

  /** The remaining bytes at the end of the stream. */
  end(): Uint8Array | undefined {
    const last = this.failure || this.isDone ? undefined : this.#splitter.end();
    return last && joinEvents([last], this.#readAll([last]));
  }

  /** How many bytes of these events may be passed on. */
  #readAll(events: readonly SseEvent[]): number {
    let bytes = 0;
    for (const event of events) {
      this.#read(event);
      if (this.failure) break;
      bytes += event.bytes.length;
      if (this.isDone) break;
    }
    return bytes;
  }

  #read({ name, data }: SseEvent): void {
    if (data === undefined || data === '') return;
    if (data.trim() === '[DONE]') {
      this.isDone = true;
      return;
    }
    const json = parseJson(data);
    const chunk = asObject(Array.isArray(json) ? json[0] : json);
    if (name === 'error' || (chunk && isErrorBody(chunk))) {
      this.failure = { errorBody: data };
      return;
    }
    if (!chunk) this.failure = { failureClass: 'invalid-response' };
    else this.#readChunk(chunk);
  }

  #readChunk(chunk: JsonObject): void {
    this.usage = readUsage(chunk) ?? this.usage;
    const choices = readChoices(chunk['choices']);
    if (!choices) return;
    this.characters += choices.characters;
    this.#isContentLast = choices.hasContent;
    this.#readFinishReasons(chunk['choices'] as readonly Choice[]);
    if (choices.hasContent) {
      this.isCommitted = true;
      this.contentEvents++;
    }
    if (choices.error || choices.finishReason === 'error')
      this.failure = { errorBody: JSON.stringify({ error: choices.error ?? {} }) };
    else if (!this.isCommitted && choices.finishReason === 'content_filter')
      this.failure = { failureClass: 'content-refused' };
    // Cut off before its first content: that is the response, max_tokens was too small.
    else if (choices.finishReason === 'length') this.isCommitted = true;
  }

  #readFinishReasons(choices: readonly Choice[]): void {
    for (const choice of choices) {
      const { index = 0 } = choice;
      this.#started.add(index);
      if (finishReasonOf(choice) !== null) this.#finished.add(index);
    }
  }
}

interface Choice extends JsonObject {
  readonly index?: unknown;
}

function joinEvents(events: readonly SseEvent[], bytes: number): Uint8Array | undefined {
  if (bytes === 0) return undefined;
  const parts = events.map((event) => event.bytes);
  return parts.length === 1 ? parts[0] : Buffer.concat(parts).subarray(0, bytes);
}
