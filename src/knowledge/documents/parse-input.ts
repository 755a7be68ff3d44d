// Reads the file of an ingest request and parses its text into a document.
import type { Clock } from '../../core/index.ts';
import { Documents } from '../../platform/documents/documents.ts';
import { UnreadableDocument } from '../../platform/documents/media-types.ts';
import type { IngestRequest, ParsedDocument } from '../artifacts/types.ts';
import { KnowledgeError } from '../errors.ts';
import { invalid } from './parse-text.ts';
import type { TextThreads, TextWork } from './text-threads.ts';

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

// Parses files into text, in threads that start on first use.

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
