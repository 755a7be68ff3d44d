// Reads a streamed completion: when it is committed, whether it is complete, its token usage. No I/O.
//
// waiting → committed (first content) → complete
//    ╰──────────────╰→ failed (error event, refusal, no content)
import type { Usage } from '../dialects/conversation.ts';
import type { Repaired, StreamDecoder, StreamEncoder, StreamRepair } from '../dialects/dialect.ts';
import {
  isErrorBody,
  maxDecodedBytes,
  maxParts,
  maxTranslatedBytes,
  parseEvent,
} from '../dialects/dialect.ts';
import type { JsonObject } from '../dialects/json.ts';
import { finishReasonOf, readChoices, readUsage } from '../dialects/openai-chat-output.ts';
import type { SseEvent } from '../dialects/wire.ts';
import { SseSplitter } from '../dialects/wire.ts';
import type { FailureClass } from '../errors.ts';
import { SimilarEvents } from './similar-events.ts';

export type StreamFailure =
  | { readonly failureClass: FailureClass }
  /** An error event: its JSON, to be classified. */
  | { readonly errorBody: string };

/** What the events of a stream say about it, by the API of the provider. */
interface StreamFacts {
  /** Content has arrived, or the end of a completion without any. */
  readonly isCommitted: boolean;
  /** The last event of the API has arrived: nothing more is expected. */
  readonly isDone: boolean;
  /** Everything that was requested has finished. A stream that ends before was cut. */
  readonly isComplete: boolean;
  /** The last event had content: a finish reason beside it does not count, some providers write one into every chunk. */
  readonly isContentLast: boolean;
  readonly usage: Usage | undefined;
  readonly characters: number;
  /** The number of events with content. */
  readonly contentEvents: number;
  /** Never throws. */
  read(event: SseEvent): StreamFailure | undefined;
  /** True: `chunk` has been read; it consists of events that differ from the last one in their text only. */
  readSimilar?(chunk: Uint8Array): boolean;
}

/** How a stream is passed on in another API. */
export interface StreamTranslation {
  readonly decoder: StreamDecoder;
  /** Undefined: the bytes pass through. */
  readonly encoder?: StreamEncoder | undefined;
  /** Of bytes that pass through. */
  readonly repair?: StreamRepair | undefined;
  /** For providers that report no usage. */
  readonly estimateUsage: (characters: number) => Usage;
}

export class StreamReader {
  /** After a failure no more bytes are returned. */
  failure: StreamFailure | undefined;
  readonly #facts: StreamFacts;
  readonly #translation: StreamTranslation | undefined;
  readonly #splitter = new SseSplitter();
  #isFinished = false;
  readonly #maxBytes: number;

  /** Without a translation: of a chat completion with this many choices, whose bytes pass through. */
  constructor(choiceCount: number, translation?: StreamTranslation) {
    this.#translation = translation;
    this.#maxBytes = translation?.encoder ? maxTranslatedBytes : maxDecodedBytes;
    this.#facts = translation
      ? new DecodedFacts(translation.decoder, this.#maxBytes)
      : new ChatFacts(choiceCount);
  }

  /** No other model can take over. */
  get isCommitted(): boolean {
    return this.#facts.isCommitted;
  }

  get isDone(): boolean {
    return this.#facts.isDone;
  }

  get isComplete(): boolean {
    return this.#facts.isDone || this.#facts.isComplete;
  }

  /** Only usage and the last event are still expected. */
  get isAwaitingDone(): boolean {
    return this.isComplete && !this.#facts.isContentLast;
  }

  get usage(): Usage | undefined {
    return this.#facts.usage;
  }

  get characters(): number {
    return this.#facts.characters;
  }

  get contentEvents(): number {
    return this.#facts.contentEvents;
  }

  get pendingBytes(): number {
    return this.#splitter.pendingBytes;
  }

  /** Whole events, as the bytes they came in or translated; an incomplete event is held back. */
  push(chunk: Uint8Array): Uint8Array | undefined {
    try {
      return this.#push(chunk);
    } catch {
      // Nested too deeply to be written again, or too many items.
      this.failure = { failureClass: 'invalid-response' };
      return undefined;
    }
  }

  #push(chunk: Uint8Array): Uint8Array | undefined {
    if (this.failure || this.isDone) return undefined;
    const startsWithEvent = this.#splitter.pendingBytes === 0;
    if (startsWithEvent && this.#facts.readSimilar?.(chunk)) return chunk;
    const events = this.#splitter.push(chunk);
    if (this.#isRewritten) return this.#translate(events);
    const accepted = this.#readAll(events);
    this.#checkPending();
    // Mostly a chunk consists of whole events: it is passed on without a copy.
    return startsWithEvent && accepted > 0 ? chunk.subarray(0, accepted) : joinEvents(events, accepted);
  }

  /** The remaining bytes at the end of the stream. */
  end(): Uint8Array | undefined {
    const last = this.failure || this.isDone ? undefined : this.#splitter.end();
    this.#translation?.decoder.endOfStream?.();
    if (this.#isRewritten) {
      // Clients ignore an event without its blank line.
      const translated =
        last && this.#translate([{ ...last, bytes: Buffer.concat([last.bytes, blankLine]) }]);
      const tail = this.finish();
      return translated && tail ? Buffer.concat([translated, tail]) : (translated ?? tail);
    }
    return last && joinEvents([last], this.#readAll([last]));
  }

  get #isRewritten(): boolean {
    return this.#translation?.encoder !== undefined || this.#translation?.repair !== undefined;
  }

  /** What a complete stream still lacks, once; in a translated one it waits for the usage. */
  finish(): Uint8Array | undefined {
    const { decoder, repair, estimateUsage } = this.#translation ?? {};
    if (!this.#isRewritten || !decoder || this.#isFinished || this.failure || !this.isComplete)
      return undefined;
    this.#isFinished = true;
    if (repair) return joinRepaired(repair.end());
    decoder.builder.end(estimateUsage?.(this.characters));
    return this.#encode();
  }

  #translate(events: readonly SseEvent[]): Uint8Array | undefined {
    const parts: Uint8Array[] = [];
    for (const event of events) {
      if (this.isDone) break;
      this.failure = this.#facts.read(event);
      if (this.failure) break;
      // A comment: callers of any API ignore it, and it keeps the connection alive.
      const bytes = event.data === undefined && event.name === '' ? event.bytes : this.#rewrite(event);
      if (bytes) parts.push(bytes);
    }
    this.#checkPending();
    const last = this.isDone ? this.finish() : undefined;
    if (last) parts.push(last);
    return parts.length > 1 ? Buffer.concat(parts) : parts[0];
  }

  #rewrite(event: SseEvent): Uint8Array | undefined {
    const { decoder, repair } = this.#translation ?? {};
    if (!repair) return this.#encode();
    // The bytes pass through: the decoded events have no reader.
    decoder?.builder.take();
    return joinRepaired(repair.read(event));
  }

  #encode(): Uint8Array | undefined {
    const { encoder, decoder } = this.#translation ?? {};
    let text = '';
    for (const event of decoder?.builder.take() ?? []) text += encoder?.write(event) ?? '';
    return text === '' ? undefined : Buffer.from(text);
  }

  #checkPending(): void {
    if (this.#splitter.pendingBytes > this.#maxBytes) this.failure ??= { failureClass: 'invalid-response' };
  }

  /** How many bytes of these events may be passed on. */
  #readAll(events: readonly SseEvent[]): number {
    let bytes = 0;
    for (const event of events) {
      this.failure = this.#facts.read(event);
      // The bytes pass through: the decoded events have no reader.
      this.#translation?.decoder.builder.take();
      if (this.failure) break;
      bytes += event.bytes.length;
      if (this.isDone) break;
    }
    return bytes;
  }
}

/** Of a chat completion, read without decoding its content. */
class ChatFacts implements StreamFacts {
  isCommitted = false;
  isDone = false;
  isContentLast = false;
  usage: Usage | undefined;
  characters = 0;
  contentEvents = 0;
  readonly #choiceCount: number;
  /** Choices, by index, that have started and that have finished. */
  readonly #started = new Set<unknown>();
  readonly #finished = new Set<unknown>();
  readonly #similar = new SimilarEvents();

  constructor(choiceCount: number) {
    this.#choiceCount = choiceCount;
  }

  get isComplete(): boolean {
    const { size } = this.#finished;
    return size >= this.#choiceCount && size === this.#started.size;
  }

  read({ name, data, bytes }: SseEvent): StreamFailure | undefined {
    if (data === undefined || data === '') return undefined;
    if (data.trim() === '[DONE]') {
      this.isDone = true;
      return undefined;
    }
    const chunk = parseEvent(data);
    if (name === 'error' || (chunk && isErrorBody(chunk))) return { errorBody: data };
    if (!chunk) return { failureClass: 'invalid-response' };
    const charactersBefore = this.characters;
    const failure = this.#readChunk(chunk);
    if (!failure && this.isContentLast) this.#similar.learn(bytes, chunk, this.characters - charactersBefore);
    return failure;
  }

  readSimilar(chunk: Uint8Array): boolean {
    const found = this.#similar.read(chunk);
    if (!found) return false;
    this.characters += found.characters;
    this.contentEvents += found.events;
    this.isContentLast = true;
    return true;
  }

  #readChunk(chunk: JsonObject): StreamFailure | undefined {
    this.usage = readUsage(chunk) ?? this.usage;
    const choices = readChoices(chunk['choices']);
    if (!choices) return undefined;
    const { hasContent, characters, finishReason, error } = choices;
    this.characters += characters;
    this.isContentLast = hasContent;
    this.#readFinishReasons(chunk['choices'] as readonly Choice[]);
    if (hasContent) {
      this.isCommitted = true;
      this.contentEvents++;
    }
    if (error || finishReason === 'error') return { errorBody: JSON.stringify({ error: error ?? {} }) };
    if (!this.isCommitted && finishReason === 'content_filter') return { failureClass: 'content-refused' };
    // Cut off before its first content: that is the response, max_tokens was too small.
    if (finishReason === 'length') this.isCommitted = true;
    return undefined;
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

/** Of a stream that is decoded. */
class DecodedFacts implements StreamFacts {
  isContentLast = false;
  contentEvents = 0;
  readonly #decoder: StreamDecoder;
  readonly #maxCharacters: number;

  constructor(decoder: StreamDecoder, maxCharacters: number) {
    this.#decoder = decoder;
    this.#maxCharacters = maxCharacters;
  }

  get isCommitted(): boolean {
    const { builder } = this.#decoder;
    return builder.hasContent || builder.finishReason === 'length';
  }

  get isDone(): boolean {
    return this.#decoder.isDone;
  }

  get isComplete(): boolean {
    return this.#decoder.builder.finishReason !== undefined;
  }

  get usage(): Usage | undefined {
    return this.#decoder.builder.reportedUsage;
  }

  get characters(): number {
    return this.#decoder.builder.characters;
  }

  read(event: SseEvent): StreamFailure | undefined {
    const { builder } = this.#decoder;
    const before = builder.characters;
    const error = this.#decoder.read(event);
    if (error) return { errorBody: JSON.stringify(error) };
    if (builder.characters > this.#maxCharacters || builder.partCount > maxParts)
      return { failureClass: 'invalid-response' };
    this.isContentLast = builder.characters > before;
    if (this.isContentLast) this.contentEvents++;
    if (!builder.hasContent && builder.finishReason === 'content-filter')
      return { failureClass: 'content-refused' };
    return undefined;
  }
}

const blankLine = Buffer.from('\n\n');

function joinRepaired(list: readonly Repaired[]): Uint8Array | undefined {
  const parts: Uint8Array[] = [];
  // Written at once: one event may become thousands.
  let text = '';
  const write = () => {
    if (text !== '') parts.push(Buffer.from(text));
    text = '';
  };
  for (const part of list)
    if (part instanceof Uint8Array) {
      write();
      parts.push(part);
    } else text += `event: ${String(part['type'])}\ndata: ${JSON.stringify(part)}\n\n`;
  write();
  return parts.length > 1 ? Buffer.concat(parts) : parts[0];
}

function joinEvents(events: readonly SseEvent[], bytes: number): Uint8Array | undefined {
  if (bytes === 0) return undefined;
  const parts = events.map((event) => event.bytes);
  return parts.length === 1 ? parts[0] : Buffer.concat(parts).subarray(0, bytes);
}
