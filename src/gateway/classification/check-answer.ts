// Is a 200 really an answer? Empty and malformed ones are found here, before anybody is handed them.
import type { CompletionRequest } from '../ports.ts';
import { textOf } from '../text-of.ts';
import type { TokenCounts } from './chat-choices.ts';
import { asObject, readChoices, readUsage } from './chat-choices.ts';

export type AnswerCheck =
  | { readonly state: 'good'; readonly usage: TokenCounts | undefined; readonly characters: number }
  | { readonly state: 'bad'; readonly failureClass: 'invalid-response' | 'content-refused' }
  /** An error instead of an answer: its JSON, to be classified. */
  | { readonly state: 'error'; readonly body: string };

const bad: AnswerCheck = { state: 'bad', failureClass: 'invalid-response' };

/** Checks the whole body of an answer. Pure, never throws. */
export function checkAnswer(
  ask: Pick<CompletionRequest, 'operation' | 'vectors' | 'dimensions'>,
  body: Uint8Array,
): AnswerCheck {
  const json = parsed(body);
  // Gemini wraps its errors into a list.
  const answer = asObject(Array.isArray(json) ? json[0] : json);
  if (!answer) return bad;
  if (isError(answer)) return { state: 'error', body: JSON.stringify(answer) };
  if (Array.isArray(json)) return bad;
  return ask.operation === 'chat' ? checkChat(answer) : checkEmbeddings(answer, ask);
}

/** An answer that carries an error, or (Cloudflare) says that it has failed. */
export function isError(answer: Readonly<Record<string, unknown>>): boolean {
  const { error, errors } = answer;
  if (error !== undefined && error !== null && error !== false && error !== '') return true;
  return Array.isArray(errors) && errors.length > 0 && answer['choices'] === undefined;
}

function checkChat(answer: Readonly<Record<string, unknown>>): AnswerCheck {
  const choices = readChoices(answer['choices']);
  if (!choices) return bad;
  const { hasContent, finish, error, characters } = choices;
  if (!hasContent && error) return { state: 'error', body: JSON.stringify({ error }) };
  if (!hasContent && finish === 'content_filter') return { state: 'bad', failureClass: 'content-refused' };
  // A model that was cut off before it said anything did what was asked: max_tokens was too small.
  return hasContent || finish === 'length' ? { state: 'good', usage: readUsage(answer), characters } : bad;
}

function checkEmbeddings(
  answer: Readonly<Record<string, unknown>>,
  { vectors, dimensions }: Pick<CompletionRequest, 'vectors' | 'dimensions'>,
): AnswerCheck {
  const { data } = answer;
  if (!Array.isArray(data) || data.length !== vectors) return bad;
  const lengths = new Set(
    (data as readonly unknown[]).map((item) => vectorLength(asObject(item)?.['embedding'])),
  );
  // Vectors of another length than asked for would be stored beside those of the right one.
  const isAsAsked = dimensions === null || lengths.has(dimensions);
  return lengths.size === 1 && !lengths.has(0) && isAsAsked
    ? { state: 'good', usage: readUsage(answer), characters: 0 }
    : bad;
}

/** How many numbers it has, written out or as base64 of 4 bytes each; 0 when it is no vector. */
function vectorLength(embedding: unknown): number {
  if (typeof embedding === 'string')
    return /^[A-Za-z0-9+/_-]+={0,2}$/.test(embedding) ? Buffer.byteLength(embedding, 'base64') / 4 : 0;
  if (!Array.isArray(embedding)) return 0;
  for (const value of embedding as readonly unknown[]) if (typeof value !== 'number') return 0;
  return embedding.length;
}

function parsed(body: Uint8Array): unknown {
  try {
    return JSON.parse(textOf(body));
  } catch {
    return undefined;
  }
}
