// Embeds chunks in batches; a rejected text is isolated. Also the job that embeds chunks without a vector of the
// current model, after it was changed or was unavailable.
import { z } from 'zod';
import type { JobDefinition, JobHandler, JobQueue } from '../../core/index.ts';
import { withTimeout, kindOf, messageOf } from '../../core/index.ts';
import type { ArtifactStore } from '../artifacts/artifact-store.ts';
import type { Chunk, ChunkStepResult } from '../artifacts/types.ts';
import { ingestDegradations, isFatalForJob } from '../degradations.ts';
import { KnowledgeError } from '../errors.ts';
import type { Embedder } from '../vectors/embedders.ts';
import type { UnembeddedChunk, VectorIndex } from '../vectors/vector-index.ts';
import { rejectedCause } from '../vectors/vector-index.ts';
import type { IngestDeps } from './read-step.ts';

type EmbedDeps = Pick<IngestDeps, 'embedders' | 'vectors' | 'ledger' | 'clock' | 'log'> & {
  readonly artifacts: Pick<ArtifactStore, 'saveSteps'>;
  readonly options: Pick<IngestDeps['options'], 'embeddingTimeoutMs'>;
};

type EmbeddableChunk = Pick<Chunk, 'chunkId' | 'spaceId' | 'revisionId' | 'heading' | 'text'> & {
  readonly title: string;
  readonly artifactUid?: string;
};

/** Batch size for embedders without a limit of their own. */
export const defaultBatchSize = 32;
/** After this many failed batches in a row the rest is skipped and left to the repair. */
const maxFailures = 2;

/** The embedder is available and rejects the text; other texts may be fine. */
const isRejection = (error: unknown): boolean =>
  error instanceof KnowledgeError && error.code === 'KNOWLEDGE_EMBEDDING_FAILED' && !error.isRetryable;

/** The embedded text of a chunk: with the artifact's title, unless the text begins with it. */
export function embeddedText({
  title,
  heading,
  text,
}: Pick<EmbeddableChunk, 'title' | 'heading' | 'text'>): string {
  const collapsed = (given: string): string => given.replaceAll(/\s+/g, ' ').trim();
  const beginsWithTitle = collapsed(text.slice(0, title.length * 2)).startsWith(collapsed(title));
  return [beginsWithTitle ? '' : title, heading, text]
    .filter((part) => part !== null && part !== '')
    .join('\n');
}

/**
 * Saves the step result of each chunk and records failures. Does nothing when no embedder is configured. Fails only
 * when the database is unavailable or the signal aborts.
 */
export async function embedChunks(
  deps: EmbedDeps,
  title: string,
  chunks: readonly Chunk[],
  signal: AbortSignal,
): Promise<readonly ChunkStepResult[]> {
  const results: ChunkStepResult[] = [];
  let failures = 0;
  let last: Error | null = null;
  while (results.length < chunks.length) {
    const state = deps.embedders.current();
    if (state.state === 'not-configured') break;
    const { embedder } = state;
    const batch = chunks
      .slice(results.length, results.length + (embedder.maxBatchSize ?? defaultBatchSize))
      .map((chunk) => ({ ...chunk, title }));
    const isSkipped = failures >= maxFailures;
    const errors = isSkipped ? batch.map(() => last) : await embedBatch(deps, embedder, batch, signal);
    last = errors.at(-1) ?? null;
    failures = errors.includes(null) ? 0 : failures + 1;
    const status = isSkipped ? 'skipped' : 'failed';
    results.push(...(await saveResults(deps, embedder.model, batch, errors, status)));
  }
  return results;
}

/**
 * Stores the vectors. Returns the error of each chunk, or null; a rejected text fails alone, not the texts it was sent
 * with. Throws only errors that are fatal for the job.
 */
async function embedBatch(
  deps: Pick<EmbedDeps, 'vectors' | 'clock' | 'options'>,
  embedder: Embedder,
  chunks: readonly EmbeddableChunk[],
  signal: AbortSignal,
): Promise<readonly (Error | null)[]> {
  const failure = await embedAndStore(deps, embedder, chunks, signal);
  if (!isRejection(failure) || chunks.length === 1) return chunks.map(() => failure);
  const errors: (Error | null)[] = [];
  for (const chunk of chunks) errors.push(await embedAndStore(deps, embedder, [chunk], signal));
  return errors;
}

/** All chunks or none. */
async function embedAndStore(
  { vectors, clock, options }: Pick<EmbedDeps, 'vectors' | 'clock' | 'options'>,
  embedder: Embedder,
  chunks: readonly EmbeddableChunk[],
  signal: AbortSignal,
): Promise<Error | null> {
  try {
    const texts = chunks.map(embeddedText);
    const made = await withTimeout((callSignal) => embedder.embed(texts, callSignal), {
      clock,
      timeoutMs: options.embeddingTimeoutMs,
      operation: 'embedding',
      signal,
    });
    const rows = chunks.flatMap(({ chunkId, spaceId }, index) => {
      const vector = made[index];
      return vector === undefined ? [] : [{ chunkId, spaceId, vector }];
    });
    if (rows.length < chunks.length) return new RangeError('fewer vectors than texts');
    for (const [spaceId, own] of Map.groupBy(rows, (row) => row.spaceId))
      await vectors.put(spaceId, embedder.model, own);
    return null;
  } catch (error) {
    if (isFatalForJob(error, signal)) throw error;
    return error instanceof Error ? error : new Error(String(error), { cause: error });
  }
}

async function saveResults(
  { artifacts, ledger, log }: Pick<EmbedDeps, 'artifacts' | 'ledger' | 'log'>,
  model: string,
  chunks: readonly EmbeddableChunk[],
  errors: readonly (Error | null)[],
  failedStatus: 'failed' | 'skipped' = 'failed',
): Promise<readonly ChunkStepResult[]> {
  const results = chunks.map(({ chunkId }, index): ChunkStepResult => {
    const error = errors[index] ?? null;
    if (error === null) return { chunkId, step: 'embed', status: 'completed', method: model };
    const cause = isRejection(error) ? rejectedCause : kindOf(error);
    const message = `This chunk has no vector: ${messageOf(error)} Search finds it by its words; a repair embeds it.`;
    return { chunkId, step: 'embed', status: failedStatus, method: model, cause, message };
  });
  for (const [spaceId, own] of Map.groupBy(results, (_, index) => chunks[index]?.spaceId ?? 0))
    await artifacts.saveSteps(spaceId, own);
  let logged: Error | null = null;
  for (const [index, { spaceId, revisionId, artifactUid = null }] of chunks.entries()) {
    const { chunkId, cause, message = '' } = results[index] ?? {};
    const error = errors[index] ?? null;
    if (error === null || cause === undefined) continue;
    const why = { error_type: kindOf(error), error_message: messageOf(error) };
    const details = { artifact_id: artifactUid, revision_id: revisionId, space_id: spaceId, model, ...why };
    // One line for a batch that failed as a whole.
    if (error !== logged) log.warn('chunks not embedded', { ...details, cause });
    logged = error;
    void ledger.record({
      kind: ingestDegradations.notEmbedded,
      subject: String(chunkId),
      cause,
      message,
      details,
    });
  }
  return results;
}

export const reembedJob: JobDefinition<Record<string, never>> = {
  name: 'knowledge.reembed',
  description: 'Embeds chunks without a vector of the current embedding model.',
  parse: (raw) => z.strictObject({}).parse(raw),
  // No retries: it runs on a schedule.
  retries: 0,
  retryDelayMs: 0,
  retryBackoff: false,
  concurrency: 1,
  timeoutMs: 6 * 3_600_000,
};
/** Deduplicates requested runs. */
export const reembedKey = 'now';
/** With nothing to do, a run is one fast query. */
export const reembedCron = '*/5 * * * *';

type ReembedDeps = Omit<EmbedDeps, 'artifacts' | 'vectors'> & {
  readonly artifacts: Pick<ArtifactStore, 'saveSteps' | 'revision'>;
  readonly vectors: Pick<VectorIndex, 'listUnembedded' | 'put' | 'deleteOtherModels'>;
  readonly jobs: Pick<JobQueue, 'get'>;
};

/** Is skipped when no embedder is configured or it fails; the next run continues. */
export function reembedHandler(deps: ReembedDeps): JobHandler<Record<string, never>> {
  return async (_, { signal, progress }) => {
    const state = deps.embedders.current();
    if (state.state === 'not-configured') return { skipped: state.why };
    const { embedder } = state;
    const spaces = new Set<number>();
    const withoutActiveJob = activeJobFilter(deps);
    let done = 0;
    for (let after = 0; ;) {
      signal.throwIfAborted();
      const page = await deps.vectors.listUnembedded({
        model: embedder.model,
        after,
        limit: embedder.maxBatchSize ?? defaultBatchSize,
      });
      const last = page.at(-1);
      if (!last) break;
      after = last.chunkId;
      const chunks = await withoutActiveJob(page);
      if (chunks.length === 0) continue;
      try {
        done += await reembedBatch(deps, embedder, chunks, done > 0, signal);
      } catch (error) {
        if (isFatalForJob(error, signal)) throw error;
        deps.log.warn('chunks not reembedded', { done, cause: kindOf(error), error });
        return { skipped: `${messageOf(error)} Chunks done before: ${done}. The next run retries.` };
      }
      for (const { spaceId } of chunks) spaces.add(spaceId);
      progress({ done });
    }
    for (const spaceId of spaces) await deps.vectors.deleteOtherModels(spaceId, embedder.model);
    return { result: { chunks: done } };
  };
}

/** New chunks are embedded by the queued or running job of their revision. Each revision is looked up once. */
function activeJobFilter({
  artifacts,
  jobs,
}: ReembedDeps): (chunks: readonly UnembeddedChunk[]) => Promise<readonly UnembeddedChunk[]> {
  const known = new Map<string, boolean>();
  const hasActiveJob = async ({ spaceId, revisionId }: UnembeddedChunk): Promise<boolean> => {
    const revision = await artifacts.revision(spaceId, revisionId);
    const job = revision?.jobId ? await jobs.get(revision.jobId) : null;
    return job?.state === 'queued' || job?.state === 'running';
  };
  return async (chunks) => {
    const free: UnembeddedChunk[] = [];
    for (const chunk of chunks) {
      if (!chunk.wasTried && !known.has(chunk.revisionId))
        known.set(chunk.revisionId, await hasActiveJob(chunk));
      if (chunk.wasTried || known.get(chunk.revisionId) === false) free.push(chunk);
    }
    return free;
  };
}

/**
 * Returns how many were embedded; rejected texts are recorded. Fails when the embedder does, and when it rejects
 * every text although none was embedded before: then the texts are not the reason.
 */
async function reembedBatch(
  deps: ReembedDeps,
  embedder: Embedder,
  chunks: readonly UnembeddedChunk[],
  hasSuccess: boolean,
  signal: AbortSignal,
): Promise<number> {
  const errors = await embedBatch(deps, embedder, chunks, signal);
  const embedded = chunks.filter((_, index) => errors[index] === null);
  const outage = errors.find((error) => error !== null && !isRejection(error));
  const failure = outage ?? (hasSuccess || embedded.length > 0 ? null : errors[0]);
  if (failure) {
    await saveResults(deps, embedder.model, embedded, []);
    throw failure;
  }
  await saveResults(deps, embedder.model, chunks, errors);
  return embedded.length;
}
