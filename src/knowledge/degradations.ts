// Degradations of knowledge in the ledger, and what a failure means for the rest of a job.
import type { Clock } from '../core/index.ts';
import { CoreError, HeadworksError, kindOf } from '../core/index.ts';
import type { LedgerRecorder } from '../ledger/index.ts';
import { CircuitBreaker } from '../resilience/index.ts';
import type { ChunkStepResult } from './artifacts/types.ts';
import type { ReviewReason } from './entities/types.ts';
import { truncationReasons } from './reading/types.ts';

/** Ledger kinds of ingest. Subjects: a chunk id, or a folder id with a path. */
export const ingestDegradations = {
  fileNotIngested: 'knowledge.file-not-ingested',
  readByRules: 'knowledge.chunk-read-by-rules',
  notRead: 'knowledge.chunk-not-read',
  truncated: 'knowledge.reading-truncated',
  notEmbedded: 'knowledge.chunk-not-embedded',
} as const;

/** Ledger kinds of entity resolution, by review reason; the subject is the entity. */
export const resolutionDegradations = {
  'embedding-missing': 'knowledge.entity-embedding-missing',
  'candidates-unknown': 'knowledge.candidates-unknown',
  'confirmation-failed': 'knowledge.confirmation-failed',
  'resolution-failed': 'knowledge.resolution-failed',
} as const satisfies Readonly<Record<Exclude<ReviewReason, 'uncertain'>, string>>;

/** Ledger kinds of the graph. Subjects: a chunk id, an entity id, or `space:ID` for a failed removal. */
export const graphDegradations = {
  /** The graph was unavailable; nothing was tried. */
  skipped: 'knowledge.graph-skipped',
  /** The graph was available and rejected some nodes or edges. */
  failed: 'knowledge.graph-failed',
} as const;

/** Ledger kinds of search. The subject is the space, or the embedding model. */
export const searchDegradations = {
  /** The graph was unavailable or too slow. */
  expansion: 'knowledge.expansion-failed',
  /** The events of a result could not be loaded; `chunk_ids` lists them. */
  lookup: 'knowledge.chunk-lookup-failed',
  /** One row per model, however many searches ran without it. */
  withoutVectors: 'knowledge.search-without-vectors',
} as const;

/** Records nothing: a repair's outcome has the failure, and its row is already open. */
export const noopLedger: LedgerRecorder = { record: async () => undefined };

/** The database is unavailable, or the job must stop: nothing more can be done, and no step result may be written. */
export function isFatalForJob(error: unknown, signal: AbortSignal): boolean {
  return signal.aborted || kindOf(error).startsWith('STATE_');
}

/** The revision was removed or superseded in the meantime: the job is skipped, and nothing is lost. */
export const isStaleRevision = (error: unknown): boolean =>
  error instanceof CoreError && error.code === 'CONFLICT' && !error.isRetryable;

const maxConflicts = 3;

/** Resolves and writes again when an entity was removed between the two. */
export async function retryOnConflict<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      const canRetry = error instanceof CoreError && error.code === 'CONFLICT' && error.isRetryable;
      if (!canRetry || attempt === maxConflicts) throw error;
    }
  }
}

const truncatedNouns: Readonly<Record<(typeof truncationReasons)[number], string>> = {
  'mentions-too-many': 'mentions',
  'events-too-many': 'events',
  'actors-too-many': 'actors of events',
  'quotes-too-many': 'further quotes of events',
};

/** What exceeded the limits of one reading and was not stored; null when nothing did. */
export function truncationOf({
  dropped = [],
}: Pick<ChunkStepResult, 'dropped'>): { readonly cause: string; readonly message: string } | null {
  const parts = truncationReasons.flatMap((reason) => {
    const count = dropped.find((each) => each.reason === reason)?.count ?? 0;
    return count === 0 ? [] : [`${count} ${truncatedNouns[reason]}`];
  });
  if (parts.length === 0) return null;
  return {
    cause: 'READING_TOO_LARGE',
    message: `The reading exceeds the limits of one chunk. Not stored: ${parts.join(', ')}. A repair reads the chunk again.`,
  };
}

/** Codes of answers that arrived and could not be used: the model is available. */
const unusableAnswers: ReadonlySet<string> = new Set([
  'KNOWLEDGE_READING_FAILED',
  'KNOWLEDGE_CONFIRMATION_FAILED',
]);

/**
 * Shared by reading and confirmation of all jobs of a process, because they call the same models. After two failures
 * in a row no model is called until the cooldown ends; then one chunk is tried with a model, and the others use rules until
 * that succeeds.
 */
export const modelCircuitBreaker = (
  clock: Clock,
  { cooldownSeconds }: { readonly cooldownSeconds: number },
): CircuitBreaker =>
  new CircuitBreaker({
    clock,
    failureThreshold: 2,
    resetTimeoutMs: cooldownSeconds * 1_000,
    isFailure: (error) =>
      !(error instanceof HeadworksError && unusableAnswers.has(error.code) && !error.isRetryable),
  });
