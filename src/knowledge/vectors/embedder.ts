// Guards an embedder: validates and normalizes its vectors, and a circuit breaker keeps searches from waiting for one that
// fails. How much weight an embedder gets in a search is here too.
import type { Clock, HeadworksErrorOptions } from '../../core/index.ts';
import { HeadworksError, messageOf } from '../../core/index.ts';
import { CircuitBreaker } from '../../resilience/index.ts';
import { KnowledgeError } from '../errors.ts';
import type { Blend, Embedder } from './types.ts';

export interface GuardOptions {
  readonly clock: Clock;
  /** How long it is not called after a failure. */
  readonly cooldownMs: number;
  /** Called when it succeeds again after a failure. */
  readonly onRecovered?: () => void;
}

export interface GuardedEmbedder extends Embedder {
  /** Ends a cooldown: the next text is sent at once. */
  resetCooldown(): void;
}

/** Every failure except the caller's abort becomes KNOWLEDGE_EMBEDDING_FAILED. */
export function guardEmbedder(
  embedder: Embedder,
  { clock, cooldownMs, onRecovered = () => undefined }: GuardOptions,
): GuardedEmbedder {
  // A rejected text and the caller's abort do not open the circuit; a timeout does.
  const isFailure = (error: unknown) => error instanceof KnowledgeError && error.isRetryable;
  const newBreaker = () =>
    new CircuitBreaker({ clock, failureThreshold: 1, resetTimeoutMs: cooldownMs, isFailure });
  let breaker = newBreaker();
  let hasFailed = false;
  return {
    ...embedder,
    resetCooldown: () => {
      breaker = newBreaker();
    },
    embed: async (texts, signal) => {
      if (texts.length === 0) return [];
      const { state } = breaker;
      if (state.is === 'open')
        throw embeddingFailed(
          `${messageOf(state.error)} It is called again in ${Math.ceil(state.retryAfterMs / 1000)} s.`,
          { isRetryable: true, retryAfterMs: state.retryAfterMs },
        );
      try {
        const vectors = await breaker.execute(() => embedValid(embedder, texts, signal));
        if (hasFailed) onRecovered();
        hasFailed = false;
        return vectors;
      } catch (error) {
        if (isFailure(error)) hasFailed = true;
        throw error;
      }
    },
  };
}

/** One unit vector per text, all of one length. */
async function embedValid(
  embedder: Embedder,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<readonly Float32Array[]> {
  try {
    const vectors = (await embedder.embed(texts, signal)).map(unitVector);
    if (vectors.length !== texts.length)
      throw new TypeError(`It returned ${vectors.length} vectors for ${texts.length} texts.`);
    if (new Set(vectors.map(({ length }) => length)).size > 1)
      throw new TypeError('It returned vectors of different lengths.');
    return vectors;
  } catch (error) {
    if (signal.aborted && !isTimeout(signal.reason)) throw error;
    if (signal.aborted)
      throw embeddingFailed(`The embedder ${embedder.model} did not respond in time.`, {
        isRetryable: true,
        cause: error,
      });
    const isRejectedText = error instanceof HeadworksError && !error.isRetryable;
    throw embeddingFailed(`The embedder ${embedder.model} failed: ${messageOf(error)}`, {
      isRetryable: !isRejectedText,
      cause: error,
    });
  }
}

/** Fails with a TypeError for a vector of zeros or of something other than numbers. */
export function unitVector(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  if (!(length > 0) || !Number.isFinite(length))
    throw new TypeError('It returned a vector without a direction.');
  return vector.map((value) => value / length);
}

const isTimeout = (reason: unknown): boolean =>
  reason instanceof HeadworksError && reason.code === 'DEADLINE_EXCEEDED';

function embeddingFailed(message: string, options: HeadworksErrorOptions): KnowledgeError {
  return new KnowledgeError('KNOWLEDGE_EMBEDDING_FAILED', message, options);
}

/** Did no harm with any embedder tried, and helps with most. */
export const cautiousBlend: Blend = { kind: 'rerank', weight: 0.2, depth: 100 };
/** For embedders that rank as well as BM25 on their own. */
export const equalBlend: Blend = { kind: 'rrf', k: 60 };

/** Measured on public collections: from 0.08 on it costs more than 0.005 of MRR@10 on Cranfield, below it gains less. */
const measured: Readonly<Record<string, number>> = { 'use-lite-en-0.2.0': 0.07 };

/** Model families whose published BEIR figures are well above BM25. `npm run eval -- beir --calibrate` measures any. */
const strong =
  /(^|[/:_-])(text-embedding-(3|00[45])|gemini-embedding|voyage-|embed-(english|multilingual)-v[34]|embed-v4|bge-|gte-|e5-|multilingual-e5|mxbai-embed|nomic-embed|snowflake-arctic-embed|jina-embeddings-v[234]|qwen3-embedding)/i;

/** The configured blend (`rrf` or a weight), else the default for the model. */
export function blendOf(model: string, setting: string | null): Blend {
  if (setting === 'rrf') return equalBlend;
  const weight = setting === null ? measured[model] : Number(setting);
  if (weight !== undefined) return { kind: 'rerank', weight, depth: 100 };
  return strong.test(model) ? equalBlend : cautiousBlend;
}
