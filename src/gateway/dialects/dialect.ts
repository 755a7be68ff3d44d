// What the dialects share: their interface, parsing request bodies, checking response bodies.
import { isUtf8 } from 'node:buffer';
import { CoreError, hasMoreValues, parseJson } from '../../core/index.ts';
import type { Span } from '../types.ts';
import type { CompletionBuilder } from './completion-builder.ts';
import type { Completion, CompletionEvent, Conversation, Usage } from './conversation.ts';
import type { JsonLimits, JsonObject } from './json.ts';
import type { SseEvent } from './wire.ts';
import { asObject, hasTooMuchJson, usualLimits } from './json.ts';
import { scanMembers, textOf } from './wire.ts';

/** What a request to a provider is encoded for. */
export interface EncodeTarget {
  readonly upstreamModel: string;
  /** The largest completion of the model; null: unknown. */
  readonly maxOutputTokens: number | null;
  /** Models without reasoning reject the fields that control it. */
  readonly supportsReasoning: boolean;
}

/** What a response to a caller is encoded with. */
export interface ResponseContext {
  /** Unique, for the ids that the API requires. */
  readonly id: string;
  /** Unix time in seconds. */
  readonly createdAt: number;
  readonly estimatedPromptTokens: number;
  readonly conversation: Conversation;
  /** The request as it came, for APIs whose responses repeat it. */
  readonly request: JsonObject;
}

/** Reads the stream of a provider into `builder`. */
export interface StreamDecoder {
  readonly builder: CompletionBuilder;
  /** The last event of the API has arrived: nothing more is expected. */
  readonly isDone: boolean;
  /** The body of an error event, to be classified; undefined for everything else. Never throws. */
  read(event: SseEvent): JsonObject | undefined;
  /** The stream has ended, perhaps without its last event. */
  endOfStream?(): void;
}

/** An event to be written, or the bytes that it came as. */
export type Repaired = JsonObject | Uint8Array;

/** Corrects the stream of a provider for callers of the same API; what follows the rules keeps its bytes. */
export interface StreamRepair {
  /** What to send for an event that was read. Throws when there is too much to correct. */
  read(event: SseEvent): readonly Repaired[];
  /** What a complete stream still lacks. */
  end(): readonly Repaired[];
}

/** Writes server-sent events for a caller. */
export interface StreamEncoder {
  write(event: CompletionEvent): string;
}

/** One chat API: between callers and gateway (all but Gemini's), and between gateway and providers (all but completions). */
export interface Dialect {
  /** Appended to the provider's base URL. */
  path(upstreamModel: string, isStream: boolean): string;
  /** Headers that every call needs, without the key. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Fails with INPUT_INVALID, naming the field. */
  decodeRequest(json: JsonObject): Conversation;
  /** What the request requires and this API does not have, as text for the caller; empty: it can be encoded. */
  unsupported(conversation: Conversation): readonly string[];
  encodeRequest(conversation: Conversation, target: EncodeTarget): JsonObject;
  /** The request without the reasoning of models with another API, for one with this API. */
  withoutTranslatedReasoning?(json: JsonObject): JsonObject;
  /** Undefined for anything else than a response of this API. Never throws. */
  decodeResponse(json: JsonObject): Completion | undefined;
  /** `completion` has a usage, at least an estimate. */
  encodeResponse(completion: Completion, context: ResponseContext): JsonObject;
  createDecoder(): StreamDecoder;
  /** `usage`: as reported so far, otherwise an estimate. */
  createRepair?(context: ResponseContext, usage: () => Usage, isUsageReported: () => boolean): StreamRepair;
  createEncoder(context: ResponseContext): StreamEncoder;
}

export type ResponseCheck =
  | {
      readonly state: 'valid';
      readonly usage: Usage | undefined;
      readonly characters: number;
      /** Chat APIs, if the response was decoded. */
      readonly completion?: Completion;
    }
  | { readonly state: 'invalid'; readonly failureClass: 'invalid-response' | 'content-refused' }
  /** An error in place of a response: its JSON, to be classified. */
  | { readonly state: 'error'; readonly body: string };

/**
 * Limits of a response that is decoded, and of an event of a stream, beyond which it is invalid: reading and writing a larger
 * one would block, and an event that never ends would fill the memory. Images in base64 have up to 7 MB each. A translation for the Responses API writes the whole text five times.
 */
export const maxDecodedBytes = 20 * 1024 * 1024;
export const maxTranslatedBytes = 8 * 1024 * 1024;
export const maxParts = 10_000;

export const invalidResponse: ResponseCheck = { state: 'invalid', failureClass: 'invalid-response' };

/** The model name that selects the best available model; also the default. */
export const autoModel = 'auto';

/** Nested objects and arrays. Real tool schemas stay far below. */
const maxNesting = 64;
const maxModelLength = 2_000;
export const charactersPerToken = 4;

export interface ParsedBody {
  readonly json: JsonObject;
  /** Characters of the body. */
  readonly length: number;
  readonly model: string;
  readonly modelSpans: readonly Span[];
}

const { values: maxValues, nameWeight } = usualLimits;

/** Parses a request body. Values are counted and nesting is checked before `JSON.parse`, which would block or overflow. */
export function parseBody(body: Uint8Array): ParsedBody {
  if (!isUtf8(body)) throw invalidField('body', 'must be JSON in UTF-8');
  const text = textOf(body);
  // First: scanning the names of millions of members takes longer than counting up to the limit.
  if (hasMoreValues(text, maxValues, nameWeight))
    throw invalidField(
      'body',
      `has more than ${maxValues.toLocaleString('en')} JSON values, of which a member of an object counts as ${nameWeight + 1}`,
    );
  const { spans, depth } = scanMembers(body, 'model', maxNesting);
  if (depth > maxNesting) throw invalidField('body', `is nested deeper than ${maxNesting} levels`);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw invalidField('body', 'must be JSON; check quotes, commas and brackets', error);
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw invalidField('body', 'must be a JSON object');
  return { json: json as JsonObject, length: text.length, model: modelOf(json), modelSpans: spans };
}

export function modelOf({ model }: { readonly model?: unknown }): string {
  if (model === undefined) return autoModel;
  if (typeof model !== 'string' || model.trim() === '')
    throw invalidField(
      'model',
      `must be the name of a model, several separated by commas, or "${autoModel}"`,
    );
  if (model.length > maxModelLength)
    throw invalidField(
      'model',
      `is longer than ${maxModelLength.toLocaleString('en')} characters; name fewer models`,
    );
  return model;
}

export function invalidField(field: string, problem: string, cause?: unknown): CoreError {
  const subject = field === 'body' ? 'The body of the request' : `The field "${field}" of the request`;
  return new CoreError('INPUT_INVALID', `${subject} ${problem}.`, { details: { field }, cause });
}

/* ---- response bodies ---- */

/** Checks the whole body of a 2xx response: errors in disguise, empty and malformed ones are found here. */
export function checkBody(
  body: Uint8Array,
  check: (response: JsonObject) => ResponseCheck,
  limits: JsonLimits = usualLimits,
): ResponseCheck {
  const text = textOf(body);
  if (hasMoreValues(text, limits.values, limits.nameWeight)) return invalidResponse;
  const json = parseJson(text);
  // Gemini wraps its errors into an array.
  const response = asObject(Array.isArray(json) ? json[0] : json);
  if (!response) return invalidResponse;
  if (isErrorBody(response)) return { state: 'error', body: JSON.stringify(response) };
  return Array.isArray(json) ? invalidResponse : check(response);
}

/** The object in an event of a stream; undefined for anything else, and for one that would take too long to parse. */
export function parseEvent(data: string): JsonObject | undefined {
  if (hasMoreValues(data, maxValues, nameWeight)) return undefined;
  const json = parseJson(data);
  // Gemini wraps its errors into an array.
  return asObject(Array.isArray(json) ? json[0] : json);
}

/** Whether a decoded response is one: it has content, or was cut off before its first. */
export function checkCompletion(completion: Completion | undefined): ResponseCheck {
  if (!completion) return invalidResponse;
  const { parts, finishReason, usage } = completion;
  if (parts.length === 0 && finishReason === 'content-filter')
    return { state: 'invalid', failureClass: 'content-refused' };
  if (parts.length === 0 && finishReason !== 'length') return invalidResponse;
  // Other APIs have arguments as JSON, not as text.
  if (hasTooMuchJson(parts.flatMap((part) => (part.type === 'tool-call' ? part.arguments : []))))
    return invalidResponse;
  return { state: 'valid', usage, characters: charactersIn(completion), completion };
}

export function charactersIn({ parts }: Completion): number {
  let characters = 0;
  for (const part of parts)
    characters += part.type === 'tool-call' ? part.arguments.length : 'text' in part ? part.text.length : 0;
  return characters;
}

/** A body with an error, or (Cloudflare) with a list of errors instead of choices. */
export function isErrorBody({ error, errors, choices, type }: JsonObject): boolean {
  if (type === 'error') return true;
  if (error !== undefined && error !== null && error !== false && error !== '') return true;
  return Array.isArray(errors) && errors.length > 0 && choices === undefined;
}

/** A number of tokens as providers report it; undefined for anything else. */
export function tokenCount(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && value < 1e12 ? Math.round(value) : undefined;
}
