// Reads one chunk (with a model if one is available, else by rules), resolves its mentions and writes both.
import { abortable, kindOf, messageOf } from '../../core/index.ts';
import { withDeadline } from '../../resilience/index.ts';
import {
  ingestDegradations,
  isFatalForJob,
  isStaleRevision,
  retryOnConflict,
  truncationOf,
} from '../degradations.ts';
import { hasProse, proseOf } from '../documents/json.ts';
import type { Chunk, ChunkStepResult, Revision } from '../artifacts/types.ts';
import type { Reader, Reading, ReadingTask } from '../reading/types.ts';
import type { CircuitBreaker } from '../../resilience/index.ts';
import type { IngestDeps } from './deps.ts';

export interface ReadChunkTask {
  readonly chunk: Chunk;
  readonly revision: Revision & { readonly text: string };
  /** Who pays: `org:ID`, or `admin`. */
  readonly caller: string;
}

type ReadParts = Pick<
  IngestDeps,
  'events' | 'readers' | 'resolver' | 'graph' | 'ledger' | 'clock' | 'log' | 'options'
>;

/**
 * Nothing is written yet. Fails only when the signal aborts, or rules fail. With `breaker` a model that is away is not
 * asked every time.
 */
export async function readingOf(
  parts: ReadParts,
  task: ReadChunkTask,
  signal: AbortSignal,
  breaker?: CircuitBreaker,
): Promise<Reading> {
  if (!hasProse(task.revision, task.chunk)) return nothingToRead;
  const model = parts.readers.model();
  if (!model) return parts.readers.rules.read(rulesTask(task), signal);
  try {
    const read = () => readByModel(parts, model, task, signal);
    return await (breaker ? breaker.execute(read, signal) : read());
  } catch (error) {
    signal.throwIfAborted();
    recordFallback(parts, task, error);
    return { ...(await parts.readers.rules.read(rulesTask(task), signal)), fallbackFor: kindOf(error) };
  }
}

/** Of data without a sentence: what its fields say is known already, and no model is paid for it. */
const nothingToRead: Reading = { method: 'structured', mentions: [], events: [], dropped: [] };

/** Fails when the model does, or takes longer than it may. Nothing is written yet. */
export async function readByModel(
  { clock, options }: Pick<ReadParts, 'clock' | 'options'>,
  model: Reader,
  task: ReadChunkTask,
  signal: AbortSignal,
): Promise<Reading> {
  const deadline = withDeadline(signal, options.readingTimeoutMs, clock, 'reading a chunk');
  try {
    // A reader that does not listen is left behind.
    return await abortable(model.read(readingTask(task), deadline.signal), deadline.signal);
  } finally {
    deadline.dispose();
  }
}

function readingTask({ chunk, revision, caller }: ReadChunkTask): ReadingTask {
  const { text, startChar, heading } = chunk;
  const { title, type, sourceTs } = revision;
  return {
    chunk: { text, startChar, heading },
    artifact: { title, type, sourceTs, text: revision.text },
    caller,
  };
}

/** Names of fields look like names of people to rules: of data they get the sentences only. */
function rulesTask(task: ReadChunkTask): ReadingTask {
  const { chunk, artifact, caller } = readingTask(task);
  const text = proseOf(task.revision);
  return {
    chunk: { ...chunk, text: text.slice(task.chunk.startChar, task.chunk.endChar) },
    artifact: { ...artifact, text },
    caller,
  };
}

function recordFallback(
  { ledger, log }: ReadParts,
  { chunk, revision }: ReadChunkTask,
  error: unknown,
): void {
  const cause = kindOf(error);
  const details = detailsOf(chunk, revision, error);
  log.warn('a chunk was read by rules: no model read it', details);
  void ledger.record({
    kind: ingestDegradations.readByRules,
    subject: String(chunk.chunkId),
    cause,
    message: 'No model read this chunk, so rules did: fewer mentions and events, at lower confidence.',
    details,
  });
}

const detailsOf = (chunk: Chunk, { artifactUid }: Revision, error: unknown) => ({
  artifact_uid: artifactUid,
  revision_id: chunk.revisionId,
  chunk_id: chunk.chunkId,
  space_id: chunk.spaceId,
  error_type: kindOf(error),
  error_message: messageOf(error),
});

/**
 * Resolves the mentions and writes all of it. The step's mark, with what was listed and not taken; fails only when
 * nothing more can be done now.
 */
export async function writeReading(
  parts: ReadParts,
  task: ReadChunkTask,
  reading: Reading,
  signal: AbortSignal,
): Promise<ChunkStepResult> {
  const { chunk } = task;
  const { chunkId, spaceId, artifactUid, revisionId } = chunk;
  const place = { spaceId, artifactUid, revisionId, chunkId, relation: null };
  const { mentions, events, method } = reading;
  try {
    const gone = await retryOnConflict(async () => {
      const results = await parts.resolver.resolve(mentions, place, task.caller, signal);
      return parts.events.write(place, method, { mentions, results, events });
    });
    if (gone.eventIds.length + gone.entityIds.length > 0) await parts.graph.forget(spaceId, gone);
    const { fallbackFor: cause, dropped } = reading;
    return {
      chunkId,
      step: 'read',
      status: 'done',
      method,
      ...(cause === undefined ? {} : { cause }),
      ...(dropped.length === 0 ? {} : { dropped }),
    };
  } catch (error) {
    return notRead(parts, task, error, signal);
  }
}

/** A row in the ledger where a reading had more than one may hold. What was refused is no loss, and has none. */
export function recordTruncation(
  { ledger, log }: Pick<ReadParts, 'ledger' | 'log'>,
  { chunk, revision }: ReadChunkTask,
  mark: ChunkStepResult,
): void {
  const left = truncationOf(mark);
  if (left === null) return;
  const { chunkId, revisionId, spaceId } = chunk;
  const details = {
    artifact_uid: revision.artifactUid,
    revision_id: revisionId,
    chunk_id: chunkId,
    space_id: spaceId,
    truncated: Object.fromEntries((mark.dropped ?? []).map(({ reason, count }) => [reason, count])),
  };
  log.warn('a reading was too large to be taken whole', details);
  void ledger.record({
    kind: ingestDegradations.truncated,
    subject: String(chunkId),
    cause: left.cause,
    message: left.message,
    details,
  });
}

/** This chunk is lost for now, the others are not. */
export function notRead(
  { ledger, log }: Pick<ReadParts, 'ledger' | 'log'>,
  { chunk, revision }: ReadChunkTask,
  error: unknown,
  signal: AbortSignal,
): ChunkStepResult {
  if (isFatalForJob(error, signal) || isStaleRevision(error)) throw error;
  const details = detailsOf(chunk, revision, error);
  log.error('a chunk could not be read', details);
  const message = 'Mentions and events of this chunk are missing. It is read again by "headworks repair".';
  const cause = kindOf(error);
  void ledger.record({
    kind: ingestDegradations.notRead,
    subject: String(chunk.chunkId),
    cause,
    message,
    details,
  });
  return { chunkId: chunk.chunkId, step: 'read', status: 'failed', cause, message };
}
