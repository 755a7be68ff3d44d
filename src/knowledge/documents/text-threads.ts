// Parses the files and texts of ingest requests; chunks and reads texts: short ones here, long ones in threads with limits,
// so that no document blocks the server.
import type { Clock } from '../../core/index.ts';
import { CoreError } from '../../core/index.ts';
import { ThreadStopped, ThreadThrew } from '../../platform/threads/pooled-thread.ts';
import { threadModule, ThreadPool } from '../../platform/threads/thread-pool.ts';
import type { ChunkDraft, ParsedDocument, IngestRequest } from '../artifacts/types.ts';
import { KnowledgeError } from '../errors.ts';
import { readAnswer } from '../reading/parse-answer.ts';
import type { Reading } from '../reading/types.ts';
import type { ReadingTask } from '../reading/rules-reader.ts';
import { readByRules } from '../reading/rules-reader.ts';
import { chunkText } from './chunk.ts';
import type { DocumentModel } from './document.ts';
import type { TextRequest } from './parse-text.ts';
import { parseText, invalid } from './parse-text.ts';
import type { TextFunctions } from './text-thread.ts';
import { Documents } from '../../platform/documents/documents.ts';
import { UnreadableDocument } from '../../platform/documents/media-types.ts';

export interface TextWork {
  readonly signal: AbortSignal;
  /** The owner of the text: owners take turns in the threads. */
  readonly group?: string | undefined;
}

/** Characters of a text that is processed on the main thread, in about 20 ms. */
const maxLengthHere = 50_000;
/** Each of its names is searched in the document. Answers usually have a tenth. */
const maxAnswerLengthHere = 20_000;
/** CPU time of one call; the longest text takes about two seconds. */
const timeoutMs = 30_000;
const memoryMb = 1_024;

export interface AnswerValue {
  readonly value: unknown;
  /** Characters of the answer as text. */
  readonly length: number;
}

type Span = Pick<ChunkDraft, 'startChar' | 'endChar'>;

export class TextThreads {
  readonly #pool: ThreadPool<TextFunctions>;

  constructor(clock: Clock) {
    this.#pool = new ThreadPool({ entry: threadModule('./text-thread', import.meta.url), clock, memoryMb });
  }

  /** Fails with INPUT_INVALID or KNOWLEDGE_DOCUMENT_UNREADABLE. */
  async parse(request: TextRequest, work: TextWork): Promise<ParsedDocument> {
    if (request.content.text.length <= maxLengthHere) return parseText(request);
    return unreadable(this.#pool.run('parse', request, { timeoutMs, ...work }));
  }

  /** Fails with KNOWLEDGE_DOCUMENT_UNREADABLE. */
  async chunk(text: string, work: TextWork): Promise<readonly ChunkDraft[]> {
    if (text.length <= maxLengthHere) return chunkText(text);
    return unreadable(this.#pool.run('chunk', text, { timeoutMs, ...work }));
  }

  /** Whether each part has prose. */
  async hasProse(
    document: DocumentModel,
    parts: readonly Span[],
    work: TextWork,
  ): Promise<readonly boolean[]> {
    if (isShort(document) || !document.isData) return parts.map((part) => document.hasProse(part));
    const spans = parts.map(({ startChar, endChar }) => ({ startChar, endChar }));
    return this.#withDocument('prose', document, { parts: spans }, work);
  }

  async readByRules(
    { chunk, document }: Pick<ReadingTask, 'chunk' | 'document'>,
    work: TextWork,
  ): Promise<Reading> {
    if (isShort(document)) return readByRules({ chunk, document });
    return this.#withDocument('rules', document, { chunk: partOf(chunk) }, work);
  }

  /** Null when the answer is not a reading. */
  async readAnswer(
    { value: answer, length }: AnswerValue,
    { chunk, document }: Pick<ReadingTask, 'chunk' | 'document'>,
    work: TextWork,
  ): Promise<Reading | null> {
    if (isShort(document) && length <= maxAnswerLengthHere) return readAnswer(answer, { chunk, document });
    return this.#withDocument('answer', document, { chunk: partOf(chunk), answer }, work);
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  /** The text is sent only to a thread that does not have it: it may have millions of characters. */
  async #withDocument<Name extends 'prose' | 'rules' | 'answer'>(
    name: Name,
    document: DocumentModel,
    call: Omit<Parameters<TextFunctions[Name]>[0], 'id' | 'document'>,
    work: TextWork,
  ): Promise<Extract<ReturnType<TextFunctions[Name]>, { value: unknown }>['value']> {
    type Input = Parameters<TextFunctions[Name]>[0];
    const limits = { timeoutMs, ...work };
    const { id } = document;
    const first = await this.#pool.run(name, { ...call, id } as Input, limits);
    if ('value' in first) return first.value;
    const second = await this.#pool.run(name, { ...call, id, document: document.input } as Input, limits);
    if ('value' in second) return second.value;
    throw new TypeError('A thread does not have the document that it was sent.');
  }
}

const isShort = ({ text }: DocumentModel): boolean => text.length <= maxLengthHere;

const partOf = ({ text, startChar, heading }: ReadingTask['chunk']): ReadingTask['chunk'] => ({
  text,
  startChar,
  heading,
});

/** Errors of the thread, with their codes. */
async function unreadable<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ThreadThrew && error.code === 'INPUT_INVALID')
      throw new CoreError('INPUT_INVALID', error.message, { cause: error });
    if (error instanceof ThreadThrew)
      throw new KnowledgeError('KNOWLEDGE_DOCUMENT_UNREADABLE', error.message, { cause: error });
    if (!(error instanceof ThreadStopped)) throw error;
    const problem =
      error.reason === 'time' ? `longer than ${timeoutMs / 1_000} s` : `more than ${memoryMb} MB of memory`;
    throw new KnowledgeError(
      'KNOWLEDGE_DOCUMENT_UNREADABLE',
      `The document cannot be read: parsing it took ${problem}. Split it.`,
      { cause: error },
    );
  }
}

export interface DocumentFile {
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** Parses untrusted files within limits. One implementation, with threads: tests replace it. */
export interface DocumentReader {
  /** Fails with KNOWLEDGE_DOCUMENT_UNREADABLE, also for a picture. */
  read(
    file: DocumentFile,
    work: TextWork,
  ): Promise<{ readonly text: string; readonly warnings: readonly string[] }>;
}

export interface ParseDeps {
  readonly documents: DocumentReader;
  readonly texts: TextThreads;
  readonly maxDocumentBytes: number;
}

/** Fails with INPUT_INVALID or KNOWLEDGE_DOCUMENT_UNREADABLE. */
export async function parseIngestRequest(
  { documents, texts, maxDocumentBytes }: ParseDeps,
  request: IngestRequest,
  work: TextWork,
): Promise<ParsedDocument> {
  const { content } = request;
  const size = 'text' in content ? Buffer.byteLength(content.text) : content.bytes.byteLength;
  if (size > maxDocumentBytes)
    throw invalid(
      `The document has ${size.toLocaleString('en')} bytes; at most ${maxDocumentBytes.toLocaleString('en')} are accepted. Split it, or raise HEADWORKS_KNOWLEDGE_MAX_DOCUMENT_BYTES.`,
    );
  if ('text' in content) return texts.parse({ ...request, content }, work);
  const { name, mediaType } = content;
  const file = await documents.read(content, work);
  return texts.parse({ ...request, content: { ...file, name, mediaType } }, work);
}

/** Parses files into text, in threads that start on first use. */
export function openFileParser(clock: Clock): DocumentReader & { close(): Promise<void> } {
  const documents = new Documents({ clock, acceptsImages: false });
  return {
    read: async (file, { signal, group }) => {
      try {
        const content = await documents.read(file, signal, group);
        if (content.kind === 'text') return content;
        throw new UnreadableDocument(file.name, 'it is a picture.');
      } catch (error) {
        if (!(error instanceof UnreadableDocument)) throw error;
        throw new KnowledgeError('KNOWLEDGE_DOCUMENT_UNREADABLE', error.message, { cause: error });
      }
    },
    close: () => documents.close(),
  };
}
