// Readers of chunks, and their input.
import type { DocumentModel } from '../documents/document.ts';
import type { Reading } from './types.ts';

export interface ReadingTask {
  readonly chunk: { readonly text: string; readonly startChar: number; readonly heading: string | null };
  /** The whole document: people introduced elsewhere (attendees, senders) are known in every chunk. */
  readonly document: DocumentModel;
  /** Billed caller: `org:ID`, or `admin`. */
  readonly caller: string;
}

export interface Reader {
  readonly method: 'model' | 'rules';
  /** Fails with KNOWLEDGE_READING_FAILED (model: rejected, timed out or unusable twice); rules do not fail. */
  read(task: ReadingTask, signal: AbortSignal): Promise<Reading>;
}

/**
 * The model reader while a model is configured and enabled, else rules; evaluated for every chunk. One implementation:
 * tests replace it with readers that fail.
 */
export interface Readers {
  readonly rules: Reader;
  model(): Reader | null;
}
