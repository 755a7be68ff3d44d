// Parses uploaded documents into text for knowledge.
import type { Clock } from '../core/index.ts';
import type { DocumentReader } from '../knowledge/index.ts';
import { KnowledgeError } from '../knowledge/index.ts';
import { Documents, UnreadableDocument } from '../platform/documents/index.ts';

/** Parses files in threads that start on first use and end with `closing`. */
export function knowledgeDocuments(clock: Clock, closing: AsyncDisposableStack): DocumentReader {
  const documents = new Documents({ clock, takesPictures: false });
  closing.defer(() => documents.close());
  return {
    read: async (file, signal) => {
      try {
        const content = await documents.read(file, signal);
        if (content.kind === 'text') return content;
        throw new UnreadableDocument(file.name, 'it is a picture.');
      } catch (error) {
        if (!(error instanceof UnreadableDocument)) throw error;
        throw new KnowledgeError('KNOWLEDGE_DOCUMENT_UNREADABLE', error.message, { cause: error });
      }
    },
  };
}
