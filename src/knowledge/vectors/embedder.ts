// Embedders: their types, a guard that validates vectors and stops calling a failing one, and their weight in a search.
import type { Clock, HeadworksErrorOptions } from '../../core/index.ts';
import { HeadworksError, messageOf } from '../../core/index.ts';
import { CircuitBreaker } from '../../resilience/index.ts';
import { KnowledgeError } from '../errors.ts';

/** How a vector ranking is combined with the lexical one. */
export type Blend =
  /** Reciprocal rank fusion, for embedders that are as good as BM25 or better. */
  | { readonly kind: 'rrf'; readonly k: number }
  /** The best `depth` lexical results re-ranked: (1 − weight) · BM25/max + weight · cosine. */
  | { readonly kind: 'rerank'; readonly weight: number; readonly depth: number };

export interface Embedder {
  /** Vectors of different models are never compared. */
  readonly model: string;
  readonly blend: Blend;
  /** Texts per call, so that it completes in time even on a busy machine. Default 32. */
  readonly maxBatchSize?: number | undefined;
  /** One unit-length vector per text. Fails with KNOWLEDGE_EMBEDDING_FAILED. */
  embed(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]>;
}

export type EmbedderState =
  | { readonly state: 'ready'; readonly embedder: Embedder }
  /** Not a degradation: no rows, no alerts. */
  | { readonly state: 'not-configured'; readonly why: string };

/** One implementation: `openEmbedders`. Tests and benchmarks bring embedders of their own. */
export interface Embedders {
  /** Evaluated at every use: models are added and removed. */
  current(): EmbedderState;
}

export interface GuardOptions {
  readonly clock: Clock;
  /** How long it is not called after a failure. */
  readonly cooldownMs: number;
  /** Called when it succeeds again after a failure. */
  readonly onRecovered?: () => void;
}

/** A rejected text and the caller's abort do not open the circuit; a timeout does. */
const isOutage = (error: unknown): boolean => error instanceof KnowledgeError && error.isRetryable;

/** Every failure except the caller's abort becomes KNOWLEDGE_EMBEDDING_FAILED. */
export class GuardedEmbedder implements Embedder {
  readonly model: string;
  readonly blend: Blend;
  readonly maxBatchSize: number | undefined;
  readonly #embedder: Embedder;
  readonly #options: GuardOptions;
  #breaker: CircuitBreaker;
  #hasFailed = false;

  constructor(embedder: Embedder, options: GuardOptions) {
    this.model = embedder.model;
    this.blend = embedder.blend;
    this.maxBatchSize = embedder.maxBatchSize;
    this.#embedder = embedder;
    this.#options = options;
    this.#breaker = this.#newBreaker();
  }

  /** The next text is sent at once. */
  resetCooldown(): void {
    this.#breaker = this.#newBreaker();
  }

  async embed(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]> {
    if (texts.length === 0) return [];
    const { state } = this.#breaker;
    if (state.is === 'open')
      throw embeddingFailed(
        `${messageOf(state.error)} It is called again in ${Math.ceil(state.retryAfterMs / 1000)} s.`,
        { isRetryable: true, retryAfterMs: state.retryAfterMs },
      );
    try {
      const vectors = await this.#breaker.execute(() => embedValid(this.#embedder, texts, signal));
      if (this.#hasFailed) this.#options.onRecovered?.();
      this.#hasFailed = false;
      return vectors;
    } catch (error) {
      if (isOutage(error)) this.#hasFailed = true;
      throw error;
    }
  }

  #newBreaker(): CircuitBreaker {
    const { clock, cooldownMs } = this.#options;
    return new CircuitBreaker({
      clock,
      failureThreshold: 1,
      resetTimeoutMs: cooldownMs,
      isFailure: isOutage,
    });
  }
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
function unitVector(vector: Float32Array): Float32Array {
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
