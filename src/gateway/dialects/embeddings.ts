// Embeddings in OpenAI's API: parts of requests, checks of responses.
import type { CompletionRequest } from '../types.ts';
import type { ResponseCheck } from './dialect.ts';
import { invalidField, invalidResponse } from './dialect.ts';
import { readUsage } from './openai-chat-output.ts';
import type { JsonObject } from './json.ts';
import { asObject } from './json.ts';

/** Checks the parsed body of a 2xx response. Pure, never throws. */
export function checkEmbeddings(
  response: JsonObject,
  { vectorCount, dimensions }: Pick<CompletionRequest, 'vectorCount' | 'dimensions'>,
): ResponseCheck {
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
}

/** `input` is one text, several, one token list, or several. */
export function vectorCountOf(input: unknown): number {
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
export function dimensionsOf({ dimensions }: JsonObject): number | null {
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
