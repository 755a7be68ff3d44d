// OpenAI's chat completions and embeddings: parses requests, reads responses and stream chunks, turns a whole response into
// a stream.
import type { Dialect, JsonObject, ResponseCheck } from './openai-shared.ts';
import {
  asObject,
  charactersPerToken,
  invalidField,
  invalidResponse,
  parseBody,
  readUsage,
} from './openai-shared.ts';
import { textOf } from './wire.ts';
import type { CompletionRequest, Operation } from '../types.ts';

/** Reserved for the completion when the caller sets no limit: without it a burst of short prompts exceeds a quota. */
const defaultCompletionTokens = 500;
/** About the cost of one image of usual size. */
const tokensPerImage = 800;

const openAiChat: Dialect = {
  path: '/chat/completions',
  parseRequest: (body) => {
    const { json, length, model, modelSpans } = parseBody(body);
    const images = readImages(messagesOf(json));
    const estimatedPromptTokens =
      Math.ceil((length - images.characters) / charactersPerToken) + images.count * tokensPerImage;
    return {
      operation: 'chat',
      body,
      modelSpans,
      model,
      isStream: isStream(json),
      choiceCount: choiceCountOf(json),
      requires: {
        tools: isNonEmptyList(json['tools']) || isNonEmptyList(json['functions']),
        json: requiresJson(json['response_format']),
        vision: images.count > 0,
      },
      estimatedPromptTokens,
      estimatedTokens: estimatedPromptTokens + completionTokensOf(json),
      vectorCount: 0,
      dimensions: null,
    };
  },
  checkResponse: (response): ResponseCheck => {
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
  },
};

/* ---- requests ---- */

function messagesOf({ messages }: JsonObject): readonly JsonObject[] {
  if (!Array.isArray(messages) || messages.length === 0)
    throw invalidField('messages', 'must be a list with at least one message');
  for (const [index, message] of (messages as readonly unknown[]).entries())
    if (!asObject(message))
      throw invalidField(`messages[${index}]`, 'must be an object with role and content');
  return messages as readonly JsonObject[];
}

/** How many images the messages contain, and the characters of their URLs or data: base64 does not count as text. */
function readImages(messages: readonly JsonObject[]): {
  readonly count: number;
  readonly characters: number;
} {
  let count = 0;
  let characters = 0;
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue;
    for (const part of content as readonly unknown[]) {
      const length = imageLength(part);
      if (length === undefined) continue;
      count += 1;
      characters += length;
    }
  }
  return { count, characters };
}

/** The length of the URL or data of an image part; undefined for other parts. */
function imageLength(part: unknown): number | undefined {
  const { type, image_url } = (part ?? {}) as { readonly type?: unknown; readonly image_url?: unknown };
  if (type !== 'image_url' && type !== 'input_image') return undefined;
  const url = asObject(image_url)?.['url'] ?? image_url;
  return typeof url === 'string' ? url.length : 0;
}

function isStream({ stream }: JsonObject): boolean {
  if (stream === undefined || stream === null) return false;
  if (typeof stream !== 'boolean') throw invalidField('stream', 'must be true or false');
  return stream;
}

/** Unsupported values are left for the model to reject. */
function choiceCountOf({ n }: JsonObject): number {
  return typeof n === 'number' && n >= 1 ? Math.floor(n) : 1;
}

function isNonEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}

function requiresJson(format: unknown): boolean {
  const type = asObject(format)?.['type'];
  return type === 'json_object' || type === 'json_schema';
}

function completionTokensOf(json: JsonObject): number {
  const limit = json['max_completion_tokens'] ?? json['max_tokens'];
  return typeof limit === 'number' && limit > 0 && limit < 1e9 ? Math.ceil(limit) : defaultCompletionTokens;
}

/* ---- responses and stream chunks ---- */

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
    lengthOf(part['audio'])
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

/** One chunk with the whole content and [DONE]; `body` is a valid response. Streaming clients read only deltas. */
export function responseToSse(body: Uint8Array): Uint8Array {
  const response = JSON.parse(textOf(body)) as { readonly choices: readonly Choice[] };
  const choices = response.choices.map(({ message, delta, ...rest }) => ({
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

/* ---- embeddings ---- */

const openAiEmbeddings: Dialect = {
  path: '/embeddings',
  parseRequest: (body) => {
    const { json, length, model, modelSpans } = parseBody(body);
    const estimatedTokens = Math.ceil(length / charactersPerToken);
    return {
      operation: 'embeddings',
      body,
      modelSpans,
      model,
      isStream: false,
      choiceCount: 1,
      requires: { tools: false, json: false, vision: false },
      estimatedPromptTokens: estimatedTokens,
      estimatedTokens,
      vectorCount: vectorCountOf(json['input']),
      dimensions: dimensionsOf(json),
    };
  },
  checkResponse: (response, { vectorCount, dimensions }) => {
    const { data } = response;
    if (!Array.isArray(data) || data.length !== vectorCount) return invalidResponse;
    const lengths = new Set(
      (data as readonly unknown[]).map((item) => vectorLength(asObject(item)?.['embedding'])),
    );
    // Vectors of another length would be stored beside those of the requested one.
    const isExpected = dimensions === null || lengths.has(dimensions);
    return lengths.size === 1 && !lengths.has(0) && isExpected
      ? { state: 'valid', usage: readUsage(response), characters: 0 }
      : invalidResponse;
  },
};

/** `input` is one text, several, one token list, or several. */
function vectorCountOf(input: unknown): number {
  if (typeof input === 'string' && input !== '') return 1;
  if (Array.isArray(input) && input.length > 0) {
    const items = input as readonly unknown[];
    if (items.every((item) => typeof item === 'number')) return 1;
    if (items.every((item) => typeof item === 'string') || items.every(isTokenList)) return items.length;
  }
  throw invalidField('input', 'must be text, or a non-empty list of texts or of tokens');
}

function isTokenList(item: unknown): boolean {
  return Array.isArray(item) && item.length > 0 && item.every((token) => typeof token === 'number');
}

/** Unsupported values are left for the model to reject. */
function dimensionsOf({ dimensions }: JsonObject): number | null {
  return typeof dimensions === 'number' ? dimensions : null;
}

/** The number of components, as numbers or as base64 of 4 bytes each; 0 when it is not a vector. */
function vectorLength(embedding: unknown): number {
  if (typeof embedding === 'string')
    return /^[A-Za-z0-9+/_-]+={0,2}$/.test(embedding) ? Buffer.byteLength(embedding, 'base64') / 4 : 0;
  if (!Array.isArray(embedding)) return 0;
  for (const value of embedding as readonly unknown[]) if (typeof value !== 'number') return 0;
  return embedding.length;
}

/* ---- by operation ---- */

const dialects: Readonly<Record<Operation, Dialect>> = { chat: openAiChat, embeddings: openAiEmbeddings };

export const dialectOf = (operation: Operation): Dialect => dialects[operation];

/** Fails with INPUT_INVALID, naming the field. */
export function parseRequest(operation: Operation, body: Uint8Array): CompletionRequest {
  return dialects[operation].parseRequest(body);
}
