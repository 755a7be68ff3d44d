// The dialect of each operation.
import type { CompletionRequest, Operation } from '../types.ts';
import { openAiChat } from './openai-chat.ts';
import { openAiEmbeddings } from './openai-embeddings.ts';
import type { Dialect } from './openai-shared.ts';

const dialects: Readonly<Record<Operation, Dialect>> = { chat: openAiChat, embeddings: openAiEmbeddings };

export const dialectOf = (operation: Operation): Dialect => dialects[operation];

/** Fails with INPUT_INVALID, naming the field. */
export function parseRequest(operation: Operation, body: Uint8Array): CompletionRequest {
  return dialects[operation].parseRequest(body);
}
