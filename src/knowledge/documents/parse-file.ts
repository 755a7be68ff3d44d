// Parses files into text, in threads that start on first use.
import type { Clock } from '../../core/index.ts';
import { Documents } from '../../platform/documents/documents.ts';
import { UnreadableDocument } from '../../platform/documents/media-types.ts';
import { KnowledgeError } from '../errors.ts';
import type { DocumentReader } from './parse-input.ts';

export function openFileParser(clock: Clock): DocumentReader & { close(): Promise<void> } {
  const documents = new Documents({ clock, acceptsImages: false });
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
    close: () => documents.close(),
  };
}
