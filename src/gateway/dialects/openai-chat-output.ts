// Responses of OpenAI's chat completions: decoding, encoding, and quick checks of those that pass through.
import { CompletionBuilder } from './completion-builder.ts';
import type {
  AssistantPart,
  Citation,
  Completion,
  CompletionEvent,
  FinishReason,
  Usage,
} from './conversation.ts';
import type { ResponseCheck, ResponseContext, StreamDecoder, StreamEncoder } from './dialect.ts';
import { invalidResponse, isErrorBody, parseEvent, tokenCount } from './dialect.ts';
import {
  argumentsOf,
  decodeContent,
  decodeReasoning,
  decodeToolCall,
  encodeAssistant,
  encodePart,
  encodeReasoningDetail,
  encodeToolCall,
  imagesIn,
} from './openai-chat-messages.ts';
import type { JsonObject } from './json.ts';
import type { SseEvent } from './wire.ts';
import { asObject, numberIn, objectsIn, textIn, withoutUndefined } from './json.ts';

/* ---- responses of providers ---- */

export function decodeResponse(json: JsonObject): Completion | undefined {
  const [choice] = objectsIn(json['choices']);
  const message = asObject(choice?.['message']) ?? asObject(choice?.['delta']);
  if (!choice || !message) return undefined;
  const builder = new CompletionBuilder();
  builder.start(json['id'], json['model']);
  readMessage(builder, message);
  const reason = finishReasonOf(choice);
  if (reason !== null) builder.finish(finishReasons[reason] ?? 'stop');
  const usage = readUsage(json);
  if (usage) builder.usage(usage);
  return builder.end();
}

/** A message, or a part of one. */
function readMessage(builder: CompletionBuilder, message: JsonObject): void {
  for (const { text, signature, isSummary } of decodeReasoning(message)) {
    builder.text('reasoning', text);
    if (signature) builder.signature(signature, isSummary);
  }
  for (const part of decodeContent(message['content'], '', []))
    if (part.type === 'text' || part.type === 'reasoning' || part.type === 'refusal')
      builder.text(part.type, part.text);
    else if (part.type !== 'tool-call') builder.media(part);
  builder.text('refusal', textIn(message['refusal']) ?? '');
  const citations = objectsIn(message['annotations']).flatMap(decodeCitation);
  if (citations.length > 0) builder.annotate(citations);
  for (const image of imagesIn(message)) builder.media(image);
  for (const [position, call] of objectsIn(message['tool_calls']).entries()) {
    const { id, name, arguments: given, isCustom, signature } = decodeToolCall(call);
    const key = call['index'] ?? position;
    builder.toolCall(key, { id, name, ...(isCustom && { isCustom }), signature });
    builder.toolArguments(key, given);
  }
  const legacy = asObject(message['function_call']);
  if (legacy) {
    builder.toolCall('function_call', { name: legacy['name'] });
    builder.toolArguments('function_call', argumentsOf(legacy['arguments']));
  }
}

function decodeCitation(annotation: JsonObject): readonly Citation[] {
  const given = asObject(annotation['url_citation']) ?? annotation;
  const url = textIn(given['url']);
  if (url === undefined) return [];
  const [start, end] = [numberIn(given['start_index']), numberIn(given['end_index'])];
  return [withoutUndefined({ url, title: textIn(given['title']), start, end })];
}

export const finishReasons: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  max_tokens: 'length',
  tool_calls: 'tool-calls',
  function_call: 'tool-calls',
  content_filter: 'content-filter',
};

/** Of the chunks of OpenAI's two older APIs. */
export class ChunkDecoder implements StreamDecoder {
  readonly builder = new CompletionBuilder();
  isDone = false;
  readonly #readChunk: (builder: CompletionBuilder, chunk: JsonObject) => JsonObject | undefined;

  /** `readChunk` returns the body of an error. */
  constructor(readChunk: (builder: CompletionBuilder, chunk: JsonObject) => JsonObject | undefined) {
    this.#readChunk = readChunk;
  }

  read({ name, data }: SseEvent): JsonObject | undefined {
    if (data === undefined || data === '') return undefined;
    if (data.trim() === '[DONE]') {
      this.isDone = true;
      return undefined;
    }
    const chunk = parseEvent(data);
    if (!chunk) return { error: { message: 'An event of the stream is not JSON.' } };
    return name === 'error' || isErrorBody(chunk) ? chunk : this.#readChunk(this.builder, chunk);
  }
}

export function readChatChunk(builder: CompletionBuilder, chunk: JsonObject): JsonObject | undefined {
  builder.start(chunk['id'], chunk['model']);
  const usage = readUsage(chunk);
  if (usage) builder.usage(usage);
  const [choice] = objectsIn(chunk['choices']);
  if (!choice) return undefined;
  const delta = asObject(choice['delta']) ?? asObject(choice['message']);
  if (delta) readMessage(builder, delta);
  const reason = finishReasonOf(choice);
  if (reason === 'error' || asObject(choice['error'])) return { error: choice['error'] ?? {} };
  if (reason !== null) builder.finish(finishReasons[reason] ?? 'stop');
  return undefined;
}

/* ---- responses to callers ---- */

export function encodeResponse(completion: Completion, context: ResponseContext): JsonObject {
  const { parts, model, usage } = completion;
  const texts = parts.filter((part) => part.type === 'text');
  const annotations = texts.flatMap(({ citations = [] }) => citations.map(encodeCitation));
  const images = parts.flatMap((part) => (part.type === 'image' ? [encodePart(part)] : []));
  return {
    id: `chatcmpl-${context.id}`,
    object: 'chat.completion',
    created: context.createdAt,
    model,
    choices: [
      {
        index: 0,
        message: {
          refusal: null,
          ...encodeAssistant(parts),
          ...(annotations.length > 0 && { annotations }),
          ...(images.length > 0 && { images }),
        },
        logprobs: null,
        finish_reason: finishNames[completion.finishReason],
      },
    ],
    ...(usage && { usage: encodeUsage(usage) }),
  };
}

export const finishNames: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  'stop-sequence': 'stop',
  pause: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'content_filter',
};

const encodeCitation = ({ url, title = '', start = 0, end = 0 }: Citation): JsonObject => ({
  type: 'url_citation',
  url_citation: { url, title, start_index: start, end_index: end },
});

export function encodeUsage({ prompt, completion, cacheRead, reasoning }: Usage): JsonObject {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cacheRead },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

export class ChatEncoder implements StreamEncoder {
  readonly #context: ResponseContext;
  #model = '';
  /** Positions of tool calls among each other, by the index of their part. */
  readonly #calls = new Map<number, number>();
  readonly #kinds = new Map<number, AssistantPart['type']>();

  constructor(context: ResponseContext) {
    this.#context = context;
  }

  write(event: CompletionEvent): string {
    switch (event.type) {
      case 'start':
        this.#model = event.model;
        return this.#chunk({ role: 'assistant', content: '' });
      case 'part':
        return this.#begin(event.index, event.part);
      case 'delta':
        return this.#delta(event.index, event.text);
      case 'part-end':
        return this.#end(event.index, event.part);
      case 'finish':
        return this.#finish(event.completion);
      default:
        return event satisfies never;
    }
  }

  #begin(index: number, part: AssistantPart): string {
    this.#kinds.set(index, part.type);
    if (part.type === 'image') return this.#chunk({ images: [encodePart(part)] });
    if (part.type !== 'tool-call') return '';
    const position = this.#calls.size;
    this.#calls.set(index, position);
    const call = { ...encodeToolCall(part), function: { name: part.name, arguments: '' } };
    return this.#chunk({ tool_calls: [{ index: position, ...call }] });
  }

  #delta(index: number, text: string): string {
    switch (this.#kinds.get(index)) {
      case 'text':
        return this.#chunk({ content: text });
      case 'reasoning':
        return this.#chunk({ reasoning_content: text });
      case 'refusal':
        return this.#chunk({ refusal: text });
      case 'tool-call':
        return this.#chunk({
          tool_calls: [{ index: this.#calls.get(index), function: { arguments: text } }],
        });
      default:
        return '';
    }
  }

  #end(index: number, part: AssistantPart): string {
    // Clients parse the arguments of every call.
    if (part.type === 'tool-call' && part.arguments === '') return this.#delta(index, '{}');
    if (part.type === 'reasoning') {
      const details = encodeReasoningDetail(part, 0);
      return details.length > 0 ? this.#chunk({ reasoning_details: details }) : '';
    }
    const { citations = [] } = part.type === 'text' ? part : {};
    return citations.length > 0 ? this.#chunk({ annotations: citations.map(encodeCitation) }) : '';
  }

  #finish({ finishReason, usage }: Completion): string {
    const last = this.#chunk({}, finishNames[finishReason]);
    const { includeUsage } = this.#context.conversation;
    const total = includeUsage && usage ? this.#event({ choices: [], usage: encodeUsage(usage) }) : '';
    return `${last}${total}data: [DONE]\n\n`;
  }

  #chunk(delta: JsonObject, finishReason: string | null = null): string {
    return this.#event({ choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }] });
  }

  #event(fields: JsonObject): string {
    const { id, createdAt } = this.#context;
    const chunk = {
      id: `chatcmpl-${id}`,
      object: 'chat.completion.chunk',
      created: createdAt,
      model: this.#model,
      ...fields,
    };
    return `data: ${JSON.stringify(chunk)}\n\n`;
  }
}

/* ---- responses and chunks that pass through ---- */

/** Tokens as the provider counts them; Groq's streams have them under `x_groq`. */
export function readUsage(response: JsonObject): Usage | undefined {
  const usage = asObject(response['usage']) ?? asObject(asObject(response['x_groq'])?.['usage']);
  const prompt = tokenCount(usage?.['prompt_tokens']) ?? tokenCount(usage?.['total_tokens']);
  const completion = tokenCount(usage?.['completion_tokens']) ?? 0;
  // Some servers report zeros.
  if (!usage || prompt === undefined || prompt + completion === 0) return undefined;
  const ofPrompt = asObject(usage['prompt_tokens_details']);
  const ofCompletion = asObject(usage['completion_tokens_details']);
  const reasoning = tokenCount(ofCompletion?.['reasoning_tokens']) ?? 0;
  // xAI counts reasoning beside the completion, all others in it.
  const isBeside = reasoning > 0 && usage['total_tokens'] === prompt + completion + reasoning;
  return {
    prompt,
    completion: isBeside ? completion + reasoning : completion,
    cacheRead: tokenCount(ofPrompt?.['cached_tokens'] ?? usage['prompt_cache_hit_tokens']) ?? 0,
    cacheWrite: tokenCount(ofPrompt?.['cache_write_tokens']) ?? 0,
    reasoning,
  };
}

/** Checks a response that passes through, without decoding it. */
export function checkChatResponse(response: JsonObject): ResponseCheck {
  const choices = readChoices(response['choices']);
  if (!choices) return invalidResponse;
  const { hasContent, finishReason, error, characters } = choices;
  if (!hasContent && error) return { state: 'error', body: JSON.stringify({ error }) };
  if (!hasContent && finishReason === 'content_filter')
    return { state: 'invalid', failureClass: 'content-refused' };
  // A completion cut off before its first content is valid: max_tokens was too small.
  return hasContent || finishReason === 'length'
    ? { state: 'valid', usage: readUsage(response), characters }
    : invalidResponse;
}

export interface ChoiceFacts {
  /** Text, reasoning, a refusal or a tool call: anything a caller can use. */
  readonly hasContent: boolean;
  readonly characters: number;
  /** `stop`, `length`, `tool_calls`, `content_filter`, …; null while it continues. */
  readonly finishReason: string | null;
  /** OpenRouter puts an upstream's error into the choice. */
  readonly error: object | undefined;
}

const noContent: ChoiceFacts = { hasContent: false, characters: 0, finishReason: null, error: undefined };

/** All `choices` of a response or chunk together. Undefined when it is not a list of choices. */
export function readChoices(choices: unknown): ChoiceFacts | undefined {
  if (!Array.isArray(choices)) return undefined;
  let all = noContent;
  for (const item of choices as readonly unknown[]) {
    const choice = asObject(item);
    if (!choice) return undefined;
    const part = asObject(choice['delta']) ?? asObject(choice['message']);
    const characters = part ? charactersIn(part) : 0;
    all = {
      hasContent: all.hasContent || characters > 0,
      characters: all.characters + characters,
      finishReason: finishReasonOf(choice) ?? all.finishReason,
      error: asObject(choice['error']) ?? all.error,
    };
  }
  return all;
}

/** Null while the choice continues, which some providers write as an empty string. */
export function finishReasonOf({ finish_reason: reason }: JsonObject): string | null {
  return typeof reason === 'string' && reason !== '' ? reason : null;
}

function charactersIn(part: JsonObject): number {
  return (
    lengthOf(part['content']) +
    lengthOf(part['reasoning_content']) +
    lengthOf(part['reasoning']) +
    lengthOf(part['refusal']) +
    lengthOf(part['tool_calls']) +
    lengthOf(part['function_call']) +
    lengthOf(part['audio']) +
    lengthOf(part['images'])
  );
}

function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return Array.isArray(value) && value.length === 0 ? 0 : JSON.stringify(value).length;
}

/* ---- a whole response for a caller that requested a stream ---- */

interface Choice {
  readonly message?: { readonly tool_calls?: unknown };
  readonly delta?: unknown;
}

/** One chunk with the whole content of a valid response, and [DONE]. Streaming clients read only deltas. */
export function responseToSse(response: JsonObject): Uint8Array {
  const choices = (response['choices'] as readonly Choice[]).map(({ message, delta, ...rest }) => ({
    ...rest,
    delta: delta ?? deltaOf(message ?? {}),
  }));
  const chunk = JSON.stringify({ ...response, object: 'chat.completion.chunk', choices });
  return Buffer.from(`data: ${chunk}\n\ndata: [DONE]\n\n`);
}

/** In a stream every tool call has an index, by which clients join its parts. */
function deltaOf(message: NonNullable<Choice['message']>): object {
  const { tool_calls: calls } = message;
  if (!Array.isArray(calls)) return message;
  return { ...message, tool_calls: (calls as readonly object[]).map((call, index) => ({ index, ...call })) };
}
