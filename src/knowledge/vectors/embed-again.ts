// Gives vectors of the embedder of today to chunks that have none: it was changed, or it was away. Search goes on
// meanwhile: by words, and by the vectors there are.
import { z } from 'zod';
import type { Clock, JobDefinition, JobHandler, JobQueue, Log } from '../../core/index.ts';
import { abortable, kindOf, messageOf } from '../../core/index.ts';
import { withDeadline } from '../../resilience/index.ts';
import { defaultBatchSize, embeddedText, isRefusal, settleEmbedding } from '../ingest/embed-chunks.ts';
import type { StepParts } from '../ingest/step-ports.ts';
import { hasActiveJob } from '../ingest/under-way.ts';
import type { KnowledgeOptions } from '../options.ts';
import type { ArtifactStore, Embedder, Embedders, UnembeddedChunk } from '../ports.ts';
import type { VectorIndex } from './vector-index.ts';

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

export interface ReembedDeps {
  readonly embedders: Embedders;
  readonly vectors: Pick<VectorIndex, 'lacking' | 'put' | 'forgetOthers'>;
  readonly artifacts: Pick<ArtifactStore, 'saveSteps' | 'revision'>;
  readonly jobs: Pick<JobQueue, 'get'>;
  readonly ledger: StepParts['ledger'];
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
      const page = await parts.vectors.lacking({
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
    for (const spaceId of spaces) await parts.vectors.forgetOthers(spaceId, embedder.model);
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
    await embedBatch(parts, embedder, chunks, signal);
    return chunks.length;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    const [only, ...others] = chunks;
    if (only && others.length === 0) refused.push({ chunk: only, error });
    else
      for (const chunk of chunks)
        await embedBatch(parts, embedder, [chunk], signal).catch((why: unknown) => {
          if (!isRefusal(why)) throw why;
          refused.push({ chunk, error: why });
        });
    if (!hasSome && refused.length === chunks.length) throw error;
  }
  for (const { chunk, error } of refused)
    await settleEmbedding(parts, [chunk], embedder.model, { isAway: false, error });
  return chunks.length - refused.length;
}

async function embedBatch(
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
