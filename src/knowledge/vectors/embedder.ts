// An embedder as the others may trust it: unit vectors, one for each text, all of one length; and one that failed is left
// alone for a while, so that not every search waits for it.
import type { Clock, HeadworksErrorOptions } from '../../core/index.ts';
import { HeadworksError, messageOf } from '../../core/index.ts';
import { KnowledgeError } from '../errors.ts';
import type { Blend, Embedder } from './types.ts';

export interface GuardOptions {
  readonly clock: Clock;
  /** How long it is left alone after it failed. */
  readonly cooldownMs: number;
  /** It failed before, and answers again. */
  readonly onRecovered?: () => void;
}

export interface GuardedEmbedder extends Embedder {
  /** Somebody has a reason to think that it is back: the next text is put to it, however lately it failed. */
  resetCooldown(): void;
}

/** Every failure but the caller's own abort becomes KNOWLEDGE_EMBEDDING_FAILED. */
export function guardEmbedder(
  embedder: Embedder,
  { clock, cooldownMs, onRecovered = () => undefined }: GuardOptions,
): GuardedEmbedder {
  let failed: { readonly at: number; readonly message: string } | null = null;
  let isAway = false;
  return {
    ...embedder,
    resetCooldown: () => {
      failed = null;
    },
    embed: async (texts, signal) => {
      if (texts.length === 0) return [];
      const restsMs = failed === null ? 0 : failed.at + cooldownMs - clock.monotonic();
      if (failed !== null && restsMs > 0)
        throw embeddingFailed(`${failed.message} It is asked again in ${Math.ceil(restsMs / 1000)} s.`, {
          isRetryable: true,
          retryAfterMs: restsMs,
        });
      try {
        const vectors = (await embedder.embed(texts, signal)).map(unitVector);
        if (vectors.length !== texts.length)
          throw new TypeError(`It gave ${vectors.length} vectors for ${texts.length} texts.`);
        if (new Set(vectors.map(({ length }) => length)).size > 1)
          throw new TypeError('It gave vectors of different lengths.');
        failed = null;
        if (isAway) onRecovered();
        isAway = false;
        return vectors;
      } catch (error) {
        if (signal.aborted && !isTimeout(signal.reason)) throw error;
        // What fails then fails because of the deadline, whatever it says of its caller.
        const message = signal.aborted
          ? `The embedder ${embedder.model} did not answer in time.`
          : `The embedder ${embedder.model} failed: ${messageOf(error)}`;
        // What it refuses for good is the text's fault, not a sign that it is away.
        const isRefusal = error instanceof HeadworksError && !error.isRetryable && !signal.aborted;
        if (!isRefusal) {
          failed = { at: clock.monotonic(), message };
          isAway = true;
        }
        throw embeddingFailed(message, { isRetryable: !isRefusal, cause: error });
      }
    },
  };
}

/** Fails with a TypeError when it has no direction. */
export function unitVector(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  if (!(length > 0) || !Number.isFinite(length)) throw new TypeError('It gave a vector without a direction.');
  return vector.map((value) => value / length);
}

const isTimeout = (reason: unknown): boolean =>
  reason instanceof HeadworksError && reason.code === 'DEADLINE_EXCEEDED';

function embeddingFailed(message: string, options: HeadworksErrorOptions): KnowledgeError {
  return new KnowledgeError('KNOWLEDGE_EMBEDDING_FAILED', message, options);
}

// How much an embedder's word counts, where that is known.

/** Safe with any embedder that was tried, and a gain with most. */
export const cautiousBlend: Blend = { kind: 'rerank', weight: 0.2, depth: 100 };
/** For embedders that rank as well as BM25 or better by themselves. */
export const equalBlend: Blend = { kind: 'rrf', k: 60 };

/** Measured on public collections: from 0.08 on it costs more than 0.005 of Cranfield's MRR@10, below it gains less. */
const measured: Readonly<Record<string, number>> = { 'use-lite-en-0.2.0': 0.07 };

/** Families whose published figures on BEIR are well above BM25. `npm run eval -- beir --calibrate` measures any. */
const strong =
  /(^|[/:_-])(text-embedding-(3|00[45])|gemini-embedding|voyage-|embed-(english|multilingual)-v[34]|embed-v4|bge-|gte-|e5-|multilingual-e5|mxbai-embed|nomic-embed|snowflake-arctic-embed|jina-embeddings-v[234]|qwen3-embedding)/i;

/** What the setting says (`rrf`, or a weight), else what is known of the model. */
export function blendOf(model: string, setting: string | null): Blend {
  if (setting === 'rrf') return equalBlend;
  const weight = setting === null ? measured[model] : Number(setting);
  if (weight !== undefined) return { kind: 'rerank', weight, depth: 100 };
  return strong.test(model) ? equalBlend : cautiousBlend;
}
