// Embeds chunks in batches; a refused text is isolated. Also the job that embeds chunks without a vector of the current model.
import { z } from 'zod';
import type { Clock, JobDefinition, JobHandler, JobQueue, Log } from '../../core/index.ts';
import { abortable, kindOf, messageOf } from '../../core/index.ts';
import { withDeadline } from '../../resilience/index.ts';
import { hasActiveJob } from '../artifacts/artifact-store.ts';
import { ingestDegradations, isFatalForJob } from '../degradations.ts';
import { KnowledgeError } from '../errors.ts';
import type { KnowledgeOptions } from '../options.ts';
import type { ArtifactStore } from '../artifacts/artifact-store.ts';
import type { Chunk, ChunkStepResult } from '../artifacts/types.ts';
import type { Embedder, Embedders, UnembeddedChunk } from '../vectors/types.ts';
import { refusedCause } from '../vectors/types.ts';
import type { VectorIndex } from '../vectors/vector-index.ts';
import type { IngestDeps } from './deps.ts';

type EmbedParts = Pick<
  IngestDeps,
  'artifacts' | 'embedders' | 'vectors' | 'ledger' | 'clock' | 'log' | 'options'
>;

/** For embedders that do not say how many texts a call may take. */
export const defaultBatchSize = 32;
/** An embedder that failed so often in a row is away: the rest waits for the repair. */
const mostFailures = 2;

/** It is there and will not have the text: others may be fine. */
const isRefusal = (error: unknown): boolean =>
  error instanceof KnowledgeError && error.code === 'KNOWLEDGE_EMBEDDING_FAILED' && !error.isRetryable;

/** What is embedded of a chunk: its artifact's title says what it is about, unless the text begins with it anyway. */
export function embeddedText(title: string, { heading, text }: Pick<Chunk, 'heading' | 'text'>): string {
  const words = (given: string): string => given.replaceAll(/\s+/g, ' ').trim();
  const begins = words(text.slice(0, title.length * 2)).startsWith(words(title));
  return [begins ? '' : title, heading, text].filter((part) => part !== null && part !== '').join('\n');
}

/**
 * Marks each chunk as done, failed or skipped, and records what is missing. Nothing happens where nobody embeds. Fails
 * only when the state store is away or the signal aborts.
 */
export async function embedChunks(
  parts: EmbedParts,
  title: string,
  chunks: readonly Chunk[],
  signal: AbortSignal,
): Promise<void> {
  let failures = 0;
  let why: unknown = null;
  for (let first = 0; first < chunks.length;) {
    const state = parts.embedders.current();
    if (state.state === 'not-configured') return;
    const batch = chunks.slice(first, first + (state.embedder.maxBatchSize ?? defaultBatchSize));
    first += batch.length;
    const isAway = failures >= mostFailures;
    if (!isAway) why = await embedBatch(parts, state.embedder, title, batch, signal);
    // One text that is refused costs itself, not those it was sent with.
    const isParted = !isAway && isRefusal(why) && batch.length > 1;
    let hasSome = why === null;
    for (const own of isParted ? batch.map((chunk) => [chunk]) : [batch]) {
      if (isParted) why = await embedBatch(parts, state.embedder, title, own, signal);
      hasSome ||= why === null;
      await settleEmbedding(parts, own, state.embedder.model, why === null ? null : { isAway, error: why });
    }
    failures = hasSome ? 0 : failures + 1;
  }
}

/** What it failed with; null when the vectors are kept. */
async function embedBatch(
  { vectors, clock, options }: EmbedParts,
  embedder: Embedder,
  title: string,
  chunks: readonly Chunk[],
  signal: AbortSignal,
): Promise<unknown> {
  const deadline = withDeadline(signal, options.embeddingTimeoutMs, clock, 'embedding');
  try {
    const texts = chunks.map((chunk) => embeddedText(title, chunk));
    const made = await abortable(embedder.embed(texts, deadline.signal), deadline.signal);
    const rows = chunks.flatMap(({ chunkId }, index) => {
      const vector = made[index];
      return vector === undefined ? [] : [{ chunkId, vector }];
    });
    if (rows.length < chunks.length) return new RangeError('fewer vectors than texts');
    await vectors.put(chunks[0]?.spaceId ?? 0, embedder.model, rows);
    return null;
  } catch (error) {
    if (isFatalForJob(error, signal)) throw error;
    return error;
  } finally {
    deadline.dispose();
  }
}

/** Of one space. What was embedded is marked; what was not is marked and recorded. */
async function settleEmbedding(
  {
    artifacts,
    ledger,
    log,
  }: Pick<EmbedParts, 'ledger' | 'log'> & {
    readonly artifacts: Pick<EmbedParts['artifacts'], 'saveSteps'>;
  },
  chunks: readonly (Pick<Chunk, 'chunkId' | 'spaceId' | 'revisionId'> & { readonly artifactUid?: string })[],
  model: string,
  failure: { readonly isAway: boolean; readonly error: unknown } | null,
): Promise<void> {
  const spaceId = chunks[0]?.spaceId ?? 0;
  const cause = failure === null ? '' : isRefusal(failure.error) ? refusedCause : kindOf(failure.error);
  const reason = failure === null ? '' : messageOf(failure.error);
  const message = `This chunk has no vector: ${reason} Search finds it by its words; "headworks repair" embeds it.`;
  const marks = chunks.map(({ chunkId }): ChunkStepResult =>
    failure === null
      ? { chunkId, step: 'embed', status: 'done', method: model }
      : {
          chunkId,
          step: 'embed',
          status: failure.isAway ? 'skipped' : 'failed',
          method: model,
          cause,
          message,
        },
  );
  await artifacts.saveSteps(spaceId, marks);
  if (failure === null) return;
  const { artifactUid = null, revisionId = null } = chunks[0] ?? {};
  const why = { error_type: kindOf(failure.error), error_message: reason };
  log.warn('chunks were not embedded', { chunks: chunks.length, artifactUid, revisionId, cause, ...why });
  for (const { chunkId } of chunks)
    void ledger.record({
      kind: ingestDegradations.notEmbedded,
      subject: String(chunkId),
      cause,
      message,
      details: { artifact_uid: artifactUid, revision_id: revisionId, space_id: spaceId, model, ...why },
    });
}

export const reembedJob: JobDefinition<Record<string, never>> = {
  name: 'knowledge.reembed',
  description: 'Embeds chunks that have no vector of the embedder of today.',
  parse: (raw) => z.strictObject({}).parse(raw),
  // It comes again by itself.
  retries: 0,
  retryDelayMs: 0,
  retryBackoff: false,
  concurrency: 1,
  timeoutMs: 6 * 3_600_000,
};
/** While one that somebody asked for waits or runs, another is not added. */
export const reembedKey = 'now';
/** When there is nothing to do, that is one quick query. */
export const reembedCron = '*/5 * * * *';

interface ReembedDeps {
  readonly embedders: Embedders;
  readonly vectors: Pick<VectorIndex, 'listUnembedded' | 'put' | 'deleteOtherModels'>;
  readonly artifacts: Pick<ArtifactStore, 'saveSteps' | 'revision'>;
  readonly jobs: Pick<JobQueue, 'get'>;
  readonly ledger: IngestDeps['ledger'];
  readonly clock: Clock;
  readonly log: Log;
  readonly options: Pick<KnowledgeOptions, 'embeddingTimeoutMs'>;
}

/** Ends as skipped when nobody embeds or the embedder fails: then the next run goes on. */
export function reembedHandler(parts: ReembedDeps): JobHandler<Record<string, never>> {
  return async (_, { signal, progress }) => {
    const state = parts.embedders.current();
    if (state.state === 'not-configured') return { skipped: state.why };
    const { embedder } = state;
    const spaces = new Set<number>();
    const notUnderWay = ownersAsked(parts);
    let done = 0;
    for (let after = 0; ;) {
      signal.throwIfAborted();
      const page = await parts.vectors.listUnembedded({
        model: embedder.model,
        after,
        limit: embedder.maxBatchSize ?? defaultBatchSize,
      });
      const last = page.at(-1);
      if (!last) break;
      after = last.chunkId;
      const chunks = await notUnderWay(page);
      if (chunks.length === 0) continue;
      try {
        done += await embedOrPart(parts, embedder, chunks, done > 0, signal);
      } catch (error) {
        if (signal.aborted || kindOf(error).startsWith('STATE_')) throw error;
        parts.log.warn('chunks were not embedded again', { done, cause: kindOf(error), error });
        return {
          skipped: `${messageOf(error)} Chunks done before: ${done}. It is asked again in a few minutes.`,
        };
      }
      for (const { spaceId } of chunks) spaces.add(spaceId);
      progress({ done });
    }
    for (const spaceId of spaces) await parts.vectors.deleteOtherModels(spaceId, embedder.model);
    return { result: { chunks: done } };
  };
}

/** Chunks that came in just now are embedded by their own job. Each revision is asked about once. */
function ownersAsked(
  parts: ReembedDeps,
): (chunks: readonly UnembeddedChunk[]) => Promise<readonly UnembeddedChunk[]> {
  const known = new Map<string, boolean>();
  return async (chunks) => {
    const free: UnembeddedChunk[] = [];
    for (const chunk of chunks) {
      const isHeld = !chunk.wasTried && (known.get(chunk.revisionId) ?? (await hasActiveJob(parts, chunk)));
      if (!chunk.wasTried) known.set(chunk.revisionId, isHeld);
      if (!isHeld) free.push(chunk);
    }
    return free;
  };
}

/**
 * How many were embedded. One text that is refused costs itself, not those it was sent with: it is marked and recorded,
 * and the others go on. Fails when all are refused: then it is not the texts.
 */
async function embedOrPart(
  parts: ReembedDeps,
  embedder: Embedder,
  chunks: readonly UnembeddedChunk[],
  hasSome: boolean,
  signal: AbortSignal,
): Promise<number> {
  const refused: { readonly chunk: UnembeddedChunk; readonly error: unknown }[] = [];
  try {
    await reembedBatch(parts, embedder, chunks, signal);
    return chunks.length;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    const [only, ...others] = chunks;
    if (only && others.length === 0) refused.push({ chunk: only, error });
    else
      for (const chunk of chunks)
        await reembedBatch(parts, embedder, [chunk], signal).catch((why: unknown) => {
          if (!isRefusal(why)) throw why;
          refused.push({ chunk, error: why });
        });
    if (!hasSome && refused.length === chunks.length) throw error;
  }
  for (const { chunk, error } of refused)
    await settleEmbedding(parts, [chunk], embedder.model, { isAway: false, error });
  return chunks.length - refused.length;
}

async function reembedBatch(
  { vectors, artifacts, clock, options }: ReembedDeps,
  embedder: Embedder,
  chunks: readonly UnembeddedChunk[],
  signal: AbortSignal,
): Promise<void> {
  const deadline = withDeadline(signal, options.embeddingTimeoutMs, clock, 'embedding');
  try {
    const texts = chunks.map((chunk) => embeddedText(chunk.title, chunk));
    const made = await abortable(embedder.embed(texts, deadline.signal), deadline.signal);
    const rows = chunks.flatMap((chunk, index) => {
      const vector = made[index];
      return vector ? [{ ...chunk, vector }] : [];
    });
    for (const [spaceId, own] of Map.groupBy(rows, (row) => row.spaceId)) {
      await vectors.put(spaceId, embedder.model, own);
      await artifacts.saveSteps(
        spaceId,
        own.map(({ chunkId }) => ({ chunkId, step: 'embed', status: 'done', method: embedder.model })),
      );
    }
  } finally {
    deadline.dispose();
  }
}
