// What a failure while working on a chunk means for the rest.
import { CoreError, kindOf } from '../../core/index.ts';

/** The state store is away, or the job is to stop: nothing more can be done now, and nothing may be marked. */
export function isFatalForJob(error: unknown, signal: AbortSignal): boolean {
  return signal.aborted || kindOf(error).startsWith('STATE_');
}

/** What was worked on has been removed meanwhile: there is nothing to do any more, and nothing is lost. */
export const isStaleRevision = (error: unknown): boolean =>
  error instanceof CoreError && error.code === 'CONFLICT' && !error.isRetryable;

/** An entity that was found may be removed before it is mentioned: then it is looked for again, so often. */
const mostConflicts = 3;

/** Finds and writes, again when an entity went in between. */
export async function retryOnConflict<T>(work: () => Promise<T>): Promise<T> {
  for (let turn = 1; ; turn++) {
    try {
      return await work();
    } catch (error) {
      const mayHelp = error instanceof CoreError && error.code === 'CONFLICT' && error.isRetryable;
      if (!mayHelp || turn === mostConflicts) throw error;
    }
  }
}

/** Rows of the ledger that ingest writes; their subjects are chunk ids, or folders with a path. */
export const ingestDegradations = {
  fileNotIngested: 'knowledge.file-not-ingested',
  readByRules: 'knowledge.chunk-read-by-rules',
  notRead: 'knowledge.chunk-not-read',
  truncated: 'knowledge.reading-truncated',
  notEmbedded: 'knowledge.chunk-not-embedded',
} as const;
