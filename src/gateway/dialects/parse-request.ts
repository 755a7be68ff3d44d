// Parses the body of a request for routing; the bytes are kept.
import { CoreError } from '../../core/index.ts';
import type { ChatApi, CompletionRequest, DecodedRequest, PassThroughEndpoint } from '../types.ts';
import { passThroughEndpoints } from '../types.ts';
import { anthropicMessages } from './anthropic-messages.ts';
import type { Conversation } from './conversation.ts';
import { withJsonLimit } from './conversation.ts';
import type { Dialect, ParsedBody } from './dialect.ts';
import { charactersPerToken, invalidField, modelOf, parseBody } from './dialect.ts';
import { dimensionsOf, vectorCountOf } from './embeddings.ts';
import { formFields } from './form-data.ts';
import { gemini } from './gemini.ts';
import { messagesOf, openAiChat } from './openai-chat.ts';
import { mediaIn } from './openai-chat-messages.ts';
import { openAiCompletions } from './openai-completions.ts';
import { openAiResponses } from './openai-responses.ts';
import type { JsonObject } from './json.ts';
import { asObject } from './json.ts';
import { textOf } from './wire.ts';

/** APIs of callers. */
export type RequestKind = Exclude<ChatApi, 'gemini'> | 'embeddings' | PassThroughEndpoint;

const dialects: Readonly<Record<ChatApi, Dialect>> = {
  chat: openAiChat,
  responses: openAiResponses,
  messages: anthropicMessages,
  gemini,
  completions: openAiCompletions,
};

export const dialectOf = (api: ChatApi): Dialect => dialects[api];

/** The first API of a model that has what a request of another API needs, or else what its first one lacks. */
export function targetApi(
  request: CompletionRequest,
  { apis }: { readonly apis: readonly ChatApi[] },
): { readonly api: ChatApi; readonly missing: readonly string[] } {
  const { conversation } = request.decode();
  const targets = apis.map((api) => ({ api, missing: dialectOf(api).unsupported(conversation) }));
  const [first = { api: 'chat' as const, missing: [] }] = targets;
  return targets.find(({ missing }) => missing.length === 0) ?? first;
}

/** Reserved for the completion when the caller sets no limit: without it a burst of short prompts exceeds a quota. */
const defaultCompletionTokens = 500;
/** About the cost of one image of usual size. */
const tokensPerImage = 800;

export interface RequestHeaders {
  readonly contentType?: string;
  /** For models with the API of the request. */
  readonly passedOn?: CompletionRequest['headers'];
}

/** Fails with INPUT_INVALID, naming the field in the message and in `details.field`. */
export function parseRequest(
  kind: RequestKind,
  body: Uint8Array,
  { contentType = 'application/json', passedOn = {} }: RequestHeaders = {},
): CompletionRequest {
  if (contentType.startsWith('multipart/form-data')) return parseForm(kind, body, contentType);
  const parsed = parseBody(body);
  switch (kind) {
    case 'chat':
      return parseChat(body, parsed);
    case 'embeddings':
      return parseEmbeddings(body, parsed);
    case 'responses':
    case 'messages':
    case 'completions':
      return parseDecoded(kind, body, parsed, passedOn);
    default:
      return parsePassThrough(kind, body, parsed);
  }
}

function parseForm(kind: RequestKind, body: Uint8Array, contentType: string): CompletionRequest {
  if (!isPassThrough(kind)) throw invalidField('body', 'must be JSON');
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const modelSpans = formFields(bytes, contentType, 'model');
  const [first] = modelSpans;
  const model = modelOf(first ? { model: bytes.toString('utf8', ...first) } : {});
  return { ...parsePassThrough(kind, body, { json: {}, length: 0, model, modelSpans }), contentType };
}

const isPassThrough = (kind: RequestKind): kind is PassThroughEndpoint =>
  (passThroughEndpoints as readonly string[]).includes(kind);

function parsePassThrough(
  operation: PassThroughEndpoint,
  body: Uint8Array,
  { length, model, modelSpans }: ParsedBody,
): CompletionRequest {
  const estimatedTokens = Math.ceil(length / charactersPerToken);
  return {
    ...common,
    operation,
    api: null,
    body,
    modelSpans,
    model,
    isStream: false,
    requires: { tools: false, json: false, vision: false },
    estimatedPromptTokens: estimatedTokens,
    estimatedTokens,
    decode: notDecodable,
  };
}

const common = {
  contentType: 'application/json',
  headers: {},
  choiceCount: 1,
  vectorCount: 0,
  dimensions: null,
} as const;

/** The most frequent kind, and mostly passed through: it is decoded only for models with another API. */
function parseChat(body: Uint8Array, { json, length, model, modelSpans }: ParsedBody): CompletionRequest {
  const media = mediaIn(messagesOf(json));
  const estimatedPromptTokens =
    Math.ceil((length - media.characters) / charactersPerToken) + media.count * tokensPerImage;
  return {
    ...common,
    operation: 'chat',
    api: 'chat',
    body,
    modelSpans,
    model,
    isStream: isStream(json),
    choiceCount: choiceCountOf(json),
    requires: {
      tools: isNonEmptyList(json['tools']) || isNonEmptyList(json['functions']),
      json: requiresJson(json['response_format']),
      vision: media.images > 0,
    },
    estimatedPromptTokens,
    estimatedTokens: estimatedPromptTokens + completionTokensOf(json),
    decode: decodedOnce(() => {
      // Parsed again, without the checks: keeping the JSON of every request would cost more than it saves.
      const again = JSON.parse(textOf(body)) as JsonObject;
      return { json: again, conversation: withJsonLimit(openAiChat.decodeRequest(again)) };
    }),
  };
}

/** APIs whose requests must be decoded to route them. */
function parseDecoded(
  api: Exclude<ChatApi, 'gemini' | 'chat'>,
  body: Uint8Array,
  { json, length, model, modelSpans }: ParsedBody,
  headers: CompletionRequest['headers'],
): CompletionRequest {
  const conversation = withJsonLimit(dialectOf(api).decodeRequest(json));
  const media = conversation.messages.flatMap(({ parts }) => parts.flatMap(mediaOf));
  const inlined = media.reduce((sum, { source }) => sum + ('data' in source ? source.data.length : 0), 0);
  const estimatedPromptTokens =
    Math.ceil((length - inlined) / charactersPerToken) + media.length * tokensPerImage;
  const decoded: DecodedRequest = { json, conversation };
  return {
    ...common,
    headers,
    operation: 'chat',
    api,
    body,
    modelSpans,
    model,
    isStream: isStream(json),
    requires: {
      tools: conversation.tools.length > 0,
      json: conversation.format !== undefined,
      vision: media.some(({ type }) => type === 'image'),
    },
    estimatedPromptTokens,
    estimatedTokens: estimatedPromptTokens + (conversation.maxTokens ?? defaultCompletionTokens),
    decode: () => decoded,
  };
}

type AnyPart = Conversation['messages'][number]['parts'][number];

function mediaOf(part: AnyPart): readonly (AnyPart & { readonly type: 'image' | 'file' | 'audio' })[] {
  if (part.type === 'tool-result') return part.content.flatMap(mediaOf);
  return part.type === 'image' || part.type === 'file' || part.type === 'audio' ? [part] : [];
}

function parseEmbeddings(
  body: Uint8Array,
  { json, length, model, modelSpans }: ParsedBody,
): CompletionRequest {
  const estimatedTokens = Math.ceil(length / charactersPerToken);
  return {
    ...common,
    operation: 'embeddings',
    api: null,
    body,
    modelSpans,
    model,
    isStream: false,
    requires: { tools: false, json: false, vision: false },
    estimatedPromptTokens: estimatedTokens,
    estimatedTokens,
    vectorCount: vectorCountOf(json['input']),
    dimensions: dimensionsOf(json),
    decode: notDecodable,
  };
}

function decodedOnce(decode: () => DecodedRequest): () => DecodedRequest {
  let decoded: DecodedRequest | undefined;
  return () => (decoded ??= decode());
}

const notDecodable = (): never => {
  throw new CoreError('INTERNAL', 'Only chat requests can be decoded.');
};

/* ---- fields ---- */

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
