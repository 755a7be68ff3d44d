// Reads one chunk (with a model if one is available, else by rules), resolves its mentions and writes both.
import type { Clock, Log } from '../../core/index.ts';
import { withTimeout, kindOf, messageOf } from '../../core/index.ts';
import type { LedgerRecorder } from '../../ledger/index.ts';
import type { CircuitBreaker } from '../../resilience/index.ts';
import type { ArtifactStore } from '../artifacts/artifact-store.ts';
import type { Chunk, ChunkStepResult, Revision } from '../artifacts/types.ts';
import {
  ingestDegradations,
  isFatalForJob,
  isStaleRevision,
  retryOnConflict,
  truncationOf,
} from '../degradations.ts';
import type { DocumentModel } from '../documents/document.ts';
import type { TextThreads } from '../documents/text-threads.ts';
import type { EntityRepairs } from '../entities/reconcile.ts';
import type { EntityResolver } from '../entities/resolve-mentions.ts';
import type { EventStore } from '../events/event-store.ts';
import type { KnowledgeOptions } from '../options.ts';
import type { GraphSync } from '../graph/graph-sync.ts';
import type { Reading } from '../reading/types.ts';
import type { Reader, Readers } from '../reading/rules-reader.ts';
import type { Spaces } from '../spaces/spaces.ts';
import type { Embedders } from '../vectors/embedders.ts';
import type { VectorIndex } from '../vectors/vector-index.ts';

export interface ReadTask {
  readonly chunk: Chunk;
  readonly revision: Revision;
  readonly document: DocumentModel;
  /** Billed caller: `org:ID`, or `admin`. */
  readonly caller: string;
}

type ReadDeps = Pick<
  IngestDeps,
  'events' | 'readers' | 'texts' | 'resolver' | 'graph' | 'ledger' | 'clock' | 'log' | 'options'
>;

/** Data without prose: its structured mentions are known already, and no model is billed for it. */
const emptyReading: Reading = { method: 'structured', mentions: [], events: [], dropped: [] };

/** Writes nothing. Fails only when the signal aborts or the rules fail. */
export async function readChunk(
  deps: ReadDeps,
  task: ReadTask,
  signal: AbortSignal,
  breaker?: CircuitBreaker,
): Promise<Reading> {
  const [hasProse] = await deps.texts.hasProse(task.document, [task.chunk], { signal, group: task.caller });
  if (!hasProse) return emptyReading;
  const model = deps.readers.model();
  if (!model) return deps.readers.rules.read(task, signal);
  try {
    const read = () => readWithModel(deps, model, task, signal);
    return await (breaker ? breaker.execute(read, signal) : read());
  } catch (error) {
    signal.throwIfAborted();
    recordFallback(deps, task, error);
    return { ...(await deps.readers.rules.read(task, signal)), fallbackFor: kindOf(error) };
  }
}

/** Writes nothing. Fails when the model does or times out. */
export function readWithModel(
  { clock, options }: Pick<ReadDeps, 'clock' | 'options'>,
  model: Reader,
  task: ReadTask,
  signal: AbortSignal,
): Promise<Reading> {
  return withTimeout((callSignal) => model.read(task, callSignal), {
    clock,
    timeoutMs: options.readingTimeoutMs,
    operation: 'reading a chunk',
    signal,
  });
}

function recordFallback({ ledger, log }: ReadDeps, task: ReadTask, error: unknown): void {
  const details = detailsOf(task, error);
  log.warn('chunk read by rules after a failed model call', details);
  void ledger.record({
    kind: ingestDegradations.readByRules,
    subject: String(task.chunk.chunkId),
    cause: kindOf(error),
    message:
      'The model call failed, so rules read this chunk: fewer mentions and events, at lower confidence.',
    details,
  });
}

const detailsOf = ({ chunk, revision }: ReadTask, error: unknown) => ({
  artifact_id: revision.artifactUid,
  revision_id: chunk.revisionId,
  chunk_id: chunk.chunkId,
  space_id: chunk.spaceId,
  error_type: kindOf(error),
  error_message: messageOf(error),
});

/** Resolves the mentions and writes them with the events. Fails only with errors that end the job. */
export async function writeReading(
  deps: ReadDeps,
  task: ReadTask,
  reading: Reading,
  signal: AbortSignal,
): Promise<ChunkStepResult> {
  const { chunkId, spaceId, artifactUid, revisionId } = task.chunk;
  const place = { spaceId, artifactUid, revisionId, chunkId };
  const { mentions, events, method, fallbackFor, dropped } = reading;
  try {
    const removed = await retryOnConflict(async () => {
      const results = await deps.resolver.resolve(mentions, place, task.caller, signal);
      return deps.events.write(place, method, { mentions, results, events });
    });
    if (removed.eventIds.length + removed.entityIds.length > 0) await deps.graph.remove(spaceId, removed);
    return {
      chunkId,
      step: 'read',
      status: 'completed',
      method,
      cause: fallbackFor,
      dropped: dropped.length === 0 ? undefined : dropped,
    };
  } catch (error) {
    return readFailed(deps, task, error, signal);
  }
}

/** Records a reading that exceeded the limits of one chunk. Rejected entries are no loss and are not recorded. */
export function recordTruncation(
  { ledger, log }: Pick<ReadDeps, 'ledger' | 'log'>,
  { chunk, revision }: ReadTask,
  result: ChunkStepResult,
): void {
  const truncation = truncationOf(result);
  if (truncation === null) return;
  const details = {
    artifact_id: revision.artifactUid,
    revision_id: chunk.revisionId,
    chunk_id: chunk.chunkId,
    space_id: chunk.spaceId,
    truncated: Object.fromEntries((result.dropped ?? []).map(({ reason, count }) => [reason, count])),
  };
  log.warn('reading truncated', details);
  void ledger.record({
    kind: ingestDegradations.truncated,
    subject: String(chunk.chunkId),
    ...truncation,
    details,
  });
}

/** The chunk failed; the others continue. Throws errors that end the job. */
export function readFailed(
  { ledger, log }: Pick<ReadDeps, 'ledger' | 'log'>,
  task: ReadTask,
  error: unknown,
  signal: AbortSignal,
): ChunkStepResult {
  if (isFatalForJob(error, signal) || isStaleRevision(error)) throw error;
  const details = detailsOf(task, error);
  log.error('chunk not read', details);
  const { chunkId } = task.chunk;
  const cause = kindOf(error);
  const message = 'Mentions and events of this chunk are missing. A repair reads it again.';
  void ledger.record({
    kind: ingestDegradations.notRead,
    subject: String(chunkId),
    cause,
    message,
    details,
  });
  return { chunkId, step: 'read', status: 'failed', cause, message };
}

// Dependencies of the ingest steps.

/** The graph as a step of ingest; it has its own timeouts and ledger rows. */
export type GraphStep = Pick<GraphSync, 'isEnabled' | 'put' | 'remove' | 'removeSpace'>;

export interface IngestDeps {
  readonly spaces: Pick<Spaces, 'get'>;
  readonly artifacts: ArtifactStore;
  readonly events: EventStore;
  readonly readers: Readers;
  readonly texts: TextThreads;
  readonly resolver: Pick<EntityResolver, 'resolve'>;
  readonly reconciler: Pick<EntityRepairs, 'reconcile'>;
  readonly embedders: Embedders;
  readonly vectors: Pick<VectorIndex, 'put'>;
  readonly graph: GraphStep;
  readonly ledger: LedgerRecorder;
  readonly clock: Clock;
  readonly log: Log;
  /** Circuit breaker of model calls, shared with entity resolution. */
  readonly breaker: CircuitBreaker;
  readonly options: Pick<KnowledgeOptions, 'readingTimeoutMs' | 'embeddingTimeoutMs' | 'backfill'>;
}
