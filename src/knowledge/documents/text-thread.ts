// The thread that parses and reads long documents.
import { serveThread } from '../../platform/threads/serve-thread.ts';
import { readAnswer } from '../reading/parse-answer.ts';
import type { Reading } from '../reading/types.ts';
import type { ReadingTask } from '../reading/rules-reader.ts';
import { readByRules } from '../reading/rules-reader.ts';
import { chunkText } from './chunk.ts';
import type { DocumentInput } from './document.ts';
import { DocumentModel } from './document.ts';
import { parseText } from './parse-text.ts';

/** Work on a document that this thread may have loaded already. */
interface DocumentCall {
  readonly id: number;
  /** Sent only after the thread replied `unknown`. */
  readonly document?: DocumentInput;
}

type Part = ReadingTask['chunk'];

/** The thread needs the document first. */
type Unknown = { readonly unknown: true };

/** Every chunk of a document needs annotations of all of it. Readings of two documents may alternate. */
const known = new Map<number, DocumentModel>();
const maxKnown = 2;

function withDocument<T>({ id, document }: DocumentCall, work: (model: DocumentModel) => T): T | Unknown {
  const model = known.get(id) ?? (document && new DocumentModel(document));
  if (!model) return { unknown: true };
  known.delete(id);
  known.set(id, model);
  for (const oldest of known.keys()) if (known.size > maxKnown) known.delete(oldest);
  return work(model);
}

const functions = {
  parse: parseText,
  chunk: chunkText,
  prose: (call: DocumentCall & { readonly parts: readonly { startChar: number; endChar: number }[] }) =>
    withDocument(call, (document) => ({ value: call.parts.map((part) => document.hasProse(part)) })),
  rules: (call: DocumentCall & { readonly chunk: Part }): { value: Reading } | Unknown =>
    withDocument(call, (document) => ({ value: readByRules({ chunk: call.chunk, document }) })),
  answer: (call: DocumentCall & { readonly chunk: Part; readonly answer: unknown }) =>
    withDocument(call, (document) => ({ value: readAnswer(call.answer, { chunk: call.chunk, document }) })),
} as const;
export type TextFunctions = typeof functions;

serveThread(functions);
