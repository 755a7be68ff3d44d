// Embedders of the server: a model of the gateway, the offline model in a thread, or none.
import type { Clock, IdSource } from '../core/index.ts';
import { CoreError } from '../core/index.ts';
import type { Model, Gateway } from '../gateway/index.ts';
import type {
  GuardedEmbedder,
  Embedder,
  Embedders,
  EmbedderState,
  KnowledgeOptions,
} from '../knowledge/index.ts';
import { blendOf, guardEmbedder } from '../knowledge/index.ts';
import {
  isOfflineModelInstalled,
  localModelMissing,
  openLocalEmbedder,
} from '../knowledge/vectors/local-embedder.ts';

/** The part of the gateway that embedding needs. */
export interface EmbeddingGateway {
  readonly client: Pick<Gateway['client'], 'embed'>;
  readonly models: Pick<Gateway['models'], 'listCallable'>;
}

export interface EmbedderDeps {
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

export interface ServerEmbedders extends Embedders {
  /** Embedders in cooldown are called again at the next use. */
  resetCooldown(): void;
  /** Why the configured model cannot embed, and the remedy; null when it can, or none is configured. */
  problem(): { readonly why: string; readonly remedy: string } | null;
}

/** Evaluated at every use: models are added and removed. Threads end with `closing`. Fails with CONFIG_INVALID. */
export function createEmbedders(parts: EmbedderDeps, closing: AsyncDisposableStack): ServerEmbedders {
  const { options, clock, onRecovered = () => undefined } = parts;
  const care = { clock, cooldownMs: options.cooldownSeconds * 1_000, onRecovered };
  if (options.embedder === 'none') return fixed({ state: 'not-configured', why: 'EMBEDDER is none.' });
  if (options.embedder === 'local') {
    if (!isOfflineModelInstalled()) throw new CoreError('CONFIG_INVALID', localModelMissing);
    const local = openLocalEmbedder(clock, options.embeddingBlend);
    closing.defer(() => local.close());
    const embedder = guardEmbedder(local, care);
    return fixed({ state: 'ready', embedder }, () => embedder.resetCooldown());
  }
  const known = new Map<string, GuardedEmbedder>();
  let last: string | null = null;
  return {
    current: () => {
      const model = chosenModel(parts);
      if (model === null) return { state: 'not-configured', why: noEmbedderReason(options) };
      const embedder = known.get(model) ?? guardEmbedder(gatewayEmbedder(parts, model), care);
      known.set(model, embedder);
      const isAnother = model !== last;
      last = model;
      if (isAnother) parts.onModelChanged?.();
      return { state: 'ready', embedder };
    },
    resetCooldown: () => {
      for (const embedder of known.values()) embedder.resetCooldown();
    },
    problem: () => problemOfNamed(parts),
  };
}

const fixed = (state: EmbedderState, resetCooldown: () => void = () => undefined): ServerEmbedders => ({
  current: () => state,
  resetCooldown,
  problem: () => null,
});

function problemOfNamed({ options, gateway }: EmbedderDeps): ReturnType<ServerEmbedders['problem']> {
  const { embeddingModel: name } = options;
  if (name === null) return null;
  const model = gateway.models.listCallable().find((other) => other.name === name);
  if (model?.capabilities.embeddings) return null;
  const why = model ? 'it does not embed' : 'there is no model of this name that has a key';
  return {
    why: `EMBEDDING_MODEL is ${name}, but ${why}: no vectors are made, and search goes by words.`,
    remedy:
      'Set EMBEDDING_MODEL to a model that embeds, or nothing to take the first; "headworks models list --all" shows them and the keys they need.',
  };
}

/** The configured model, even without a key (then embedding fails and says so), else the first by id. */
function chosenModel({ options, gateway }: EmbedderDeps): string | null {
  if (options.embeddingModel !== null) return options.embeddingModel;
  const able = gateway.models.listCallable().filter(({ capabilities }) => capabilities.embeddings);
  return (
    able.reduce<Model | null>((first, model) => (first && first.id < model.id ? first : model), null)?.name ??
    null
  );
}

function noEmbedderReason({ embedder }: EmbedderDeps['options']): string {
  return embedder === 'gateway'
    ? 'EMBEDDER is gateway, but no model that embeds is configured; "headworks models list" shows what each needs.'
    : 'No model that embeds is configured; set the key of one, or EMBEDDER=local.';
}

/** Calls one model without fallback: vectors of different models are never compared. */
function gatewayEmbedder({ gateway, ids, options }: EmbedderDeps, model: string): Embedder {
  return {
    model,
    blend: blendOf(model, options.embeddingBlend),
    embed: (texts, signal) =>
      gateway.client.embed({ requestId: ids.uuid(), caller: 'knowledge', model, texts, signal }),
  };
}
