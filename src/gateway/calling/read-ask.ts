// Reads a request once: what is asked, of whom, and how much it may cost. Its bytes stay as they came.
import { isUtf8 } from 'node:buffer';
import { CoreError } from '../../core/index.ts';
import type { CompletionRequest, Operation } from '../ports.ts';
import { textOf } from '../text-of.ts';
import { readContents } from './read-contents.ts';
import { scanMembers } from './scan-members.ts';

/** Objects and lists inside each other. Nobody's tool schema comes near. */
const deepestNesting = 64;
const charactersPerToken = 4;
/** Some dozens of names. What is refused or logged names the model, so it must not be a book. */
const longestModel = 2_000;
/** Set aside for the answer when nobody says how long it may get: else a burst of short questions breaks a quota. */
const usualAnswerTokens = 500;

/** What callers get who name no model. */
export const anyModel = 'auto';

type Json = Readonly<Record<string, unknown>>;

/** Fails with INPUT_INVALID that names the field; `details.field` too. */
export function parseRequest(operation: Operation, body: Uint8Array): CompletionRequest {
  const { spans, depth } = scanMembers(body, 'model', deepestNesting);
  if (depth > deepestNesting) throw invalid('body', `is nested deeper than ${deepestNesting} levels`);
  const { json, length } = parseObject(body);
  const contents =
    operation === 'chat'
      ? { ...readContents(messagesOf(json)), vectors: 0 }
      : { images: 0, imageCharacters: 0, vectors: vectorsOf(json['input']) };
  const estimatedPromptTokens =
    Math.ceil((length - contents.imageCharacters) / charactersPerToken) + contents.images * tokensPerImage;
  const isChat = operation === 'chat';
  return {
    operation,
    body,
    modelSpans: spans,
    model: modelOf(json),
    isStream: isChat && isStream(json),
    choices: isChat ? choicesOf(json) : 1,
    needs: {
      tools: isChat && (isFilled(json['tools']) || isFilled(json['functions'])),
      json: isChat && wantsJson(json['response_format']),
      vision: contents.images > 0,
    },
    estimatedPromptTokens,
    estimatedTokens: estimatedPromptTokens + (isChat ? wantedTokens(json) : 0),
    vectors: contents.vectors,
    dimensions: isChat ? null : dimensionsOf(json),
  };
}

/** About what one image of usual size costs. */
const tokensPerImage = 800;

function parseObject(body: Uint8Array): { readonly json: Json; readonly length: number } {
  if (!isUtf8(body)) throw invalid('body', 'must be JSON in UTF-8');
  const text = textOf(body);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw invalid('body', 'must be JSON; check quotes, commas and brackets', error);
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw invalid('body', 'must be a JSON object');
  return { json: json as Json, length: text.length };
}

function modelOf(json: Json): string {
  const { model } = json;
  if (model === undefined) return anyModel;
  if (typeof model !== 'string' || model.trim() === '')
    throw invalid('model', `must be the name of a model, several separated by commas, or "${anyModel}"`);
  if (model.length > longestModel)
    throw invalid(
      'model',
      `is longer than ${longestModel.toLocaleString('en')} characters; name fewer models`,
    );
  return model;
}

function messagesOf(json: Json): readonly Json[] {
  const { messages } = json;
  if (!Array.isArray(messages) || messages.length === 0)
    throw invalid('messages', 'must be a list with at least one message');
  for (const [index, message] of (messages as readonly unknown[]).entries())
    if (typeof message !== 'object' || message === null || Array.isArray(message))
      throw invalid(`messages[${index}]`, 'must be an object with role and content');
  return messages as readonly Json[];
}

/** How many vectors an `input` asks for: one text, several, one list of tokens, or several. */
function vectorsOf(input: unknown): number {
  const problem = 'must be text, or a list of texts (or of tokens) that is not empty';
  if (typeof input === 'string' && input !== '') return 1;
  if (!Array.isArray(input) || input.length === 0) throw invalid('input', problem);
  const items = input as readonly unknown[];
  if (items.every((item) => typeof item === 'number')) return 1;
  const isEach = (test: (item: unknown) => boolean) => items.every(test);
  if (isEach((item) => typeof item === 'string') || isEach(isTokens)) return items.length;
  throw invalid('input', problem);
}

function isTokens(item: unknown): boolean {
  return Array.isArray(item) && item.length > 0 && item.every((token) => typeof token === 'number');
}

function isStream({ stream }: Json): boolean {
  if (stream === undefined || stream === null) return false;
  if (typeof stream !== 'boolean') throw invalid('stream', 'must be true or false');
  return stream;
}

/** Whether a model can give so many, or takes what is no number, it says itself. */
function choicesOf({ n }: Json): number {
  return typeof n === 'number' && n >= 1 ? Math.floor(n) : 1;
}

function isFilled(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}

function wantsJson(format: unknown): boolean {
  const type: unknown = (format as { type?: unknown } | null | undefined)?.type;
  return type === 'json_object' || type === 'json_schema';
}

function wantedTokens(json: Json): number {
  const wanted = json['max_completion_tokens'] ?? json['max_tokens'];
  return typeof wanted === 'number' && wanted > 0 && wanted < 1e9 ? Math.ceil(wanted) : usualAnswerTokens;
}

/** Whether a model can do so many, or takes what is no number, it says itself. */
function dimensionsOf({ dimensions }: Json): number | null {
  return typeof dimensions === 'number' ? dimensions : null;
}

function invalid(field: string, problem: string, cause?: unknown): CoreError {
  const subject = field === 'body' ? 'The body of the request' : `The field "${field}" of the request`;
  return new CoreError('INPUT_INVALID', `${subject} ${problem}.`, { details: { field }, cause });
}
