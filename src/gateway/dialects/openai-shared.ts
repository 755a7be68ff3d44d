// What the OpenAI-compatible dialects share: their interface, parsing request bodies, checking response bodies.
import { isUtf8 } from 'node:buffer';
import { CoreError, hasMoreValues, parseJson } from '../../core/index.ts';
import type { CompletionRequest, Span } from '../types.ts';
import { scanMembers, textOf } from './wire.ts';

/** One wire format between callers, gateway and providers: bytes pass through where both use the same one. */
export interface Dialect {
  /** Appended to the provider's base URL. */
  readonly path: string;
  /** Fails with INPUT_INVALID, naming the field in the message and in `details.field`. */
  parseRequest(body: Uint8Array): CompletionRequest;
  /** Checks the parsed body of a 2xx response. Pure, never throws. */
  checkResponse(response: JsonObject, request: CompletionRequest): ResponseCheck;
}

export type JsonObject = Readonly<Record<string, unknown>>;

export interface ReportedUsage {
  readonly prompt: number;
  readonly completion: number;
}

export type ResponseCheck =
  | { readonly state: 'valid'; readonly usage: ReportedUsage | undefined; readonly characters: number }
  | { readonly state: 'invalid'; readonly failureClass: 'invalid-response' | 'content-refused' }
  /** An error in place of a response: its JSON, to be classified. */
  | { readonly state: 'error'; readonly body: string };

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

/** Embeddings of token ids have up to 300,000, a chat response with log probabilities nearly as many. */
const maxValues = 500_000;

/** Parses a request body. Nesting is checked before `JSON.parse`, which would overflow the stack. */
export function parseBody(body: Uint8Array): ParsedBody {
  const { spans, depth } = scanMembers(body, 'model', maxNesting);
  if (depth > maxNesting) throw invalidField('body', `is nested deeper than ${maxNesting} levels`);
  if (!isUtf8(body)) throw invalidField('body', 'must be JSON in UTF-8');
  const text = textOf(body);
  if (hasMoreValues(text, maxValues))
    throw invalidField('body', `has more than ${maxValues.toLocaleString('en')} JSON values`);
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

function modelOf({ model }: { readonly model?: unknown }): string {
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

/** Checks the whole body of a 2xx response: errors in disguise, empty and malformed ones are found here. */
export function checkBody(dialect: Dialect, request: CompletionRequest, body: Uint8Array): ResponseCheck {
  const text = textOf(body);
  // Vectors may have millions.
  if (request.operation === 'chat' && hasMoreValues(text, maxValues)) return invalidResponse;
  const json = parseJson(text);
  // Gemini wraps its errors into an array.
  const response = asObject(Array.isArray(json) ? json[0] : json);
  if (!response) return invalidResponse;
  if (isErrorBody(response)) return { state: 'error', body: JSON.stringify(response) };
  return Array.isArray(json) ? invalidResponse : dialect.checkResponse(response, request);
}

/** A body with an error, or (Cloudflare) with a list of errors instead of choices. */
export function isErrorBody({ error, errors, choices }: JsonObject): boolean {
  if (error !== undefined && error !== null && error !== false && error !== '') return true;
  return Array.isArray(errors) && errors.length > 0 && choices === undefined;
}

/** Tokens as the provider counts them; Groq's streams have them under `x_groq`. */
export function readUsage(response: JsonObject): ReportedUsage | undefined {
  const usage = asObject(response['usage']) ?? asObject(asObject(response['x_groq'])?.['usage']);
  const prompt = tokenCount(usage?.['prompt_tokens']) ?? tokenCount(usage?.['total_tokens']);
  return prompt === undefined
    ? undefined
    : { prompt, completion: tokenCount(usage?.['completion_tokens']) ?? 0 };
}

function tokenCount(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && value < 1e12 ? Math.round(value) : undefined;
}

export function asObject(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : undefined;
}
