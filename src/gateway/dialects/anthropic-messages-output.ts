// Responses of Anthropic's Messages: decoding and encoding, whole and streamed.
import type Anthropic from '@anthropic-ai/sdk';
import { CompletionBuilder } from './completion-builder.ts';
import type {
  AssistantPart,
  Citation,
  Completion,
  CompletionEvent,
  FinishReason,
  MediaPart,
  ReasoningPart,
  Usage,
} from './conversation.ts';
import { asFunctionCall, readSignature, redacted, writeSignature } from './conversation.ts';
import type { ResponseContext, StreamDecoder, StreamEncoder } from './dialect.ts';
import { isErrorBody, parseEvent, tokenCount } from './dialect.ts';
import type { JsonObject } from './json.ts';
import type { SseEvent } from './wire.ts';
import { asObject, dataUrl, objectsIn, parseObject, textIn, withoutUndefined } from './json.ts';

/* ---- responses of providers ---- */

export function decodeResponse(json: JsonObject): Completion | undefined {
  if (!Array.isArray(json['content'])) return undefined;
  const decoder = new MessagesDecoder();
  decoder.readWhole(json);
  return decoder.builder.end();
}

const finishReasons: Readonly<Record<string, FinishReason>> = {
  end_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  stop_sequence: 'stop-sequence',
  tool_use: 'tool-calls',
  pause_turn: 'pause',
  refusal: 'content-filter',
};

/** The fields that are there; a stream reports some at its start and others at its end. */
interface ReportedUsage {
  readonly input?: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  readonly output?: number;
  readonly reasoning?: number;
}

function readUsage(usage: JsonObject | undefined): ReportedUsage {
  if (!usage) return {};
  return withoutUndefined({
    input: tokenCount(usage['input_tokens']),
    cacheRead: tokenCount(usage['cache_read_input_tokens']),
    cacheWrite: tokenCount(usage['cache_creation_input_tokens']),
    output: tokenCount(usage['output_tokens']),
    reasoning: tokenCount(asObject(usage['output_tokens_details'])?.['thinking_tokens']),
  });
}

/** Undefined for one that reports nothing: some servers send zeros. */
function usageOf({
  input = 0,
  cacheRead = 0,
  cacheWrite = 0,
  output = 0,
  reasoning = 0,
}: ReportedUsage): Usage | undefined {
  const prompt = input + cacheRead + cacheWrite;
  return prompt + output === 0 ? undefined : { prompt, completion: output, cacheRead, cacheWrite, reasoning };
}

export class MessagesDecoder implements StreamDecoder {
  readonly builder = new CompletionBuilder();
  isDone = false;
  #usage: ReportedUsage = {};
  /** The next text begins a part of its own, even after text of the same kind. */
  #isNewBlock = true;
  /** The input with which the blocks of tool calls begin, by index; empty where it follows in deltas. */
  readonly #calls = new Map<unknown, string>();
  #lastCall: unknown;

  readWhole(message: JsonObject): void {
    this.#start(message);
    for (const [index, block] of objectsIn(message['content']).entries()) {
      this.#beginBlock(index, block);
      if (block['type'] === 'tool_use') this.#calls.set(index, JSON.stringify(block['input'] ?? {}));
      this.#endBlock(index);
    }
    this.#finish(message, message);
  }

  read({ name, data }: SseEvent): JsonObject | undefined {
    if (data === undefined || data === '') return undefined;
    const event = parseEvent(data);
    if (!event) return { error: { message: 'An event of the stream is not JSON.' } };
    const type = textIn(event['type']) ?? name;
    if (type === 'error' || isErrorBody(event)) return event;
    this.#readEvent(type, event);
    return undefined;
  }

  #readEvent(type: string, event: JsonObject): void {
    const { index } = event;
    switch (type) {
      case 'message_start':
        this.#start(asObject(event['message']) ?? {});
        return;
      case 'content_block_start':
        this.#beginBlock(index, asObject(event['content_block']) ?? {});
        return;
      case 'content_block_delta':
        this.#readDelta(index, asObject(event['delta']) ?? {});
        return;
      case 'content_block_stop':
        this.#endBlock(index);
        return;
      case 'message_delta':
        this.#finish(asObject(event['delta']) ?? {}, event);
        return;
      case 'message_stop':
        this.isDone = true;
        return;
      default:
    }
  }

  #start(message: JsonObject): void {
    this.builder.start(message['id'], message['model']);
    this.#addUsage(message);
  }

  #beginBlock(index: unknown, block: JsonObject): void {
    const { builder } = this;
    this.#isNewBlock = true;
    switch (block['type']) {
      case 'tool_use':
        this.#calls.set(index, initialInput(block['input']));
        this.#lastCall = index;
        builder.toolCall(index, { id: block['id'], name: block['name'] });
        return;
      case 'redacted_thinking': {
        const signature = readSignature(textIn(block['data']) ?? '', 'messages');
        builder.endText();
        if (signature) builder.signature(redacted(signature));
        builder.endText();
        return;
      }
      case 'thinking':
        this.#text('reasoning', textIn(block['thinking']) ?? '');
        this.#sign(block['signature']);
        return;
      case 'text':
        this.#text('text', textIn(block['text']) ?? '');
        this.#cite(objectsIn(block['citations']));
        return;
      default:
    }
  }

  #readDelta(index: unknown, delta: JsonObject): void {
    switch (delta['type']) {
      case 'text_delta':
        return this.#text('text', textIn(delta['text']) ?? '');
      // Some servers send it inside a block of text.
      case 'thinking_delta':
        return this.#text('reasoning', textIn(delta['thinking']) ?? '');
      case 'signature_delta':
        return this.#sign(delta['signature']);
      case 'citations_delta':
        return this.#cite(objectsIn([delta['citation']]));
      case 'input_json_delta': {
        // Some servers keep the index of the text before the call.
        const call = this.#calls.has(index) ? index : (this.#lastCall ?? index);
        return this.builder.toolArguments(call, textIn(delta['partial_json']) ?? '');
      }
      default:
        return undefined;
    }
  }

  #endBlock(index: unknown): void {
    this.#isNewBlock = true;
    const input = this.#calls.get(index);
    if (input === undefined) return;
    this.builder.finalArguments(index, input);
    this.builder.endToolCall(index);
  }

  #text(kind: 'text' | 'reasoning', text: string): void {
    if (text === '') return;
    this.builder.text(kind, text, this.#isNewBlock);
    this.#isNewBlock = false;
  }

  #sign(given: unknown): void {
    const signature = readSignature(textIn(given) ?? '', 'messages');
    if (!signature) return;
    if (this.#isNewBlock) this.builder.endText();
    this.#isNewBlock = false;
    this.builder.signature(signature);
  }

  #cite(citations: readonly JsonObject[]): void {
    const known = citations.flatMap((citation): Citation[] => {
      const url = textIn(citation['url']);
      return url === undefined ? [] : [withoutUndefined({ url, title: textIn(citation['title']) })];
    });
    if (known.length > 0) this.builder.annotate(known);
  }

  #finish(delta: JsonObject, carrier: JsonObject): void {
    this.#addUsage(carrier);
    const reason = textIn(delta['stop_reason']);
    if (reason !== undefined)
      this.builder.finish(finishReasons[reason] ?? 'stop', textIn(delta['stop_sequence']));
  }

  #addUsage(carrier: JsonObject): void {
    const { output = 0, reasoning, ...prompt } = readUsage(asObject(carrier['usage']));
    // Some servers send zeros at the end, in place of what they reported at the start.
    const hasPrompt = Object.values(prompt).some((count) => count > 0);
    this.#usage = withoutUndefined({
      ...this.#usage,
      ...(hasPrompt && prompt),
      ...(output > 0 && { output }),
      ...(reasoning !== undefined && { reasoning }),
    });
    const usage = usageOf(this.#usage);
    if (usage) this.builder.usage(usage);
  }
}

/** Some servers send the whole input there. */
function initialInput(input: unknown): string {
  const given = asObject(input) ?? {};
  return Object.keys(given).length > 0 ? JSON.stringify(given) : '';
}

/* ---- responses to callers ---- */

type StopReason = Anthropic.StopReason;

const stopReasons: Readonly<Record<FinishReason, StopReason>> = {
  stop: 'end_turn',
  'stop-sequence': 'stop_sequence',
  length: 'max_tokens',
  'tool-calls': 'tool_use',
  pause: 'pause_turn',
  'content-filter': 'refusal',
};

export function encodeResponse(completion: Completion, context: ResponseContext): JsonObject {
  const message: Anthropic.Message = {
    ...emptyMessage(context, completion.model),
    content: completion.parts.map(encodeBlock),
    stop_reason: stopReasons[completion.finishReason],
    stop_sequence: completion.stopSequence ?? null,
    usage: encodeUsage(completion.usage ?? noUsage),
  };
  return message as unknown as JsonObject;
}

const noUsage: Usage = { prompt: 0, completion: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };

export function emptyMessage(
  { id, estimatedPromptTokens }: ResponseContext,
  model: string,
): Anthropic.Message {
  return {
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    container: null,
    diagnostics: null,
    usage: encodeUsage({ ...noUsage, prompt: estimatedPromptTokens }),
  };
}

/** All fields, always: clients add them up. */
export function encodeUsage({
  prompt,
  completion,
  cacheRead,
  cacheWrite,
  reasoning,
}: Usage): Anthropic.Usage {
  return {
    input_tokens: Math.max(0, prompt - cacheRead - cacheWrite),
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cacheRead,
    output_tokens: completion,
    output_tokens_details: reasoning > 0 ? { thinking_tokens: reasoning } : null,
    cache_creation: null,
    inference_geo: null,
    server_tool_use: null,
    service_tier: 'standard',
    speed: null,
  };
}

/** A whole block. */
function encodeBlock(part: AssistantPart): Anthropic.ContentBlock {
  switch (part.type) {
    case 'reasoning':
      return isRedacted(part)
        ? { type: 'redacted_thinking', data: writeSignature(part.signature, 'messages') }
        : { type: 'thinking', thinking: part.text, signature: writeSignature(part.signature, 'messages') };
    case 'tool-call': {
      const { id, name, arguments: given } = asFunctionCall(part);
      return { type: 'tool_use', id, name, input: inputOf(given), caller: { type: 'direct' } };
    }
    case 'text':
    case 'refusal':
      return { type: 'text', text: part.text, citations: null };
    default:
      return { type: 'text', text: markdownOf(part), citations: null };
  }
}

/** Anthropic's, or of an API that does not show its reasoning. */
const isRedacted = ({ text, signature }: ReasoningPart): boolean =>
  signature?.isRedacted === true || (text === '' && signature !== undefined && signature.api !== 'messages');

const inputOf = (given: string): unknown => parseObject(given === '' ? '{}' : given) ?? { input: given };

/** The API has no images in responses. */
const markdownOf = ({ source }: MediaPart): string =>
  `![image](${'url' in source ? source.url : dataUrl(source)})`;

/** What a block begins as; its text, input and signature follow in deltas. */
function emptyBlock(part: AssistantPart): Anthropic.ContentBlock {
  const block = encodeBlock(part);
  if (block.type === 'tool_use') return { ...block, input: {} };
  if (block.type === 'thinking') return { ...block, thinking: '', signature: '' };
  return block.type === 'text' ? { ...block, text: '' } : block;
}

/** The event that the API calls `message_delta`. */
type MessageDelta = Anthropic.RawMessageDeltaEvent;

/**
 * Blocks of the API follow each other. Parts may overlap, as tool calls do: those that begin while a block is open are
 * held back until it ends.
 */
export class MessagesEncoder implements StreamEncoder {
  readonly #context: ResponseContext;
  /** By index, which is the order of their blocks; undefined: its block has ended. */
  readonly #parts: (HeldPart | undefined)[] = [];
  /** The index of the part whose block is open or begins next. */
  #blocks = 0;

  constructor(context: ResponseContext) {
    this.#context = context;
  }

  write(event: CompletionEvent): string {
    switch (event.type) {
      case 'start':
        return write({ type: 'message_start', message: emptyMessage(this.#context, event.model) });
      case 'part': {
        this.#parts[event.index] = { part: event.part, held: [], end: undefined, isOpen: false };
        return this.#advance();
      }
      case 'delta': {
        this.#parts[event.index]?.held.push(event.text);
        return event.index === this.#blocks ? this.#advance() : '';
      }
      case 'part-end': {
        const part = this.#parts[event.index];
        if (part) part.end = event.part;
        return event.index === this.#blocks ? this.#advance() : '';
      }
      case 'finish':
        return this.#finish(event.completion);
      default:
        return event satisfies never;
    }
  }

  /** Writes what the first part allows, then the next ones. */
  #advance(): string {
    let text = '';
    for (;;) {
      const first = this.#parts[this.#blocks];
      if (!first) return text;
      const kind = first.part.type;
      // It is known at its end only whether thinking is shown.
      if (!first.isOpen && kind === 'reasoning' && first.held.length === 0 && !first.end) return text;
      if (!first.isOpen) {
        first.isOpen = true;
        const content_block = emptyBlock(first.held.length > 0 ? first.part : (first.end ?? first.part));
        text += write({ type: 'content_block_start', index: this.#blocks, content_block });
      }
      for (const chunk of first.held) text += this.#delta(kind, chunk);
      first.held = [];
      if (!first.end) return text;
      this.#parts[this.#blocks] = undefined;
      text += this.#end(first.end);
    }
  }

  #delta(kind: AssistantPart['type'], chunk: string): string {
    const delta: Anthropic.RawContentBlockDelta =
      kind === 'tool-call'
        ? { type: 'input_json_delta', partial_json: chunk }
        : kind === 'reasoning'
          ? { type: 'thinking_delta', thinking: chunk }
          : { type: 'text_delta', text: chunk };
    return write({ type: 'content_block_delta', index: this.#blocks, delta });
  }

  #end(part: AssistantPart): string {
    let text = '';
    if (part.type === 'reasoning' && !isRedacted(part)) {
      const signature = writeSignature(part.signature, 'messages');
      const delta = { type: 'signature_delta', signature } as const;
      text += write({ type: 'content_block_delta', index: this.#blocks, delta });
    } else if (part.type === 'image' || part.type === 'file' || part.type === 'audio')
      text += this.#delta('text', markdownOf(part));
    text += write({ type: 'content_block_stop', index: this.#blocks });
    this.#blocks += 1;
    return text;
  }

  #finish({ finishReason, stopSequence, usage = noUsage }: Completion): string {
    const { input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens, ...rest } =
      encodeUsage(usage);
    const end: MessageDelta = {
      type: 'message_delta',
      delta: {
        stop_reason: stopReasons[finishReason],
        stop_sequence: stopSequence ?? null,
        stop_details: null,
        container: null,
      },
      usage: {
        input_tokens,
        cache_creation_input_tokens,
        cache_read_input_tokens,
        output_tokens,
        output_tokens_details: rest.output_tokens_details,
        server_tool_use: null,
      },
    };
    return write(end) + write({ type: 'message_stop' });
  }
}

interface HeldPart {
  readonly part: AssistantPart;
  /** Chunks that are not written yet. */
  held: string[];
  end: AssistantPart | undefined;
  isOpen: boolean;
}

const write = (event: Anthropic.RawMessageStreamEvent): string =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
