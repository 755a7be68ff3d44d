// The models that come with the product, as data. What nobody could look up is absent rather than guessed.
import type { Capabilities, ModelDefinition } from '../ports.ts';
import type { CataloguedModel } from './provider-data.ts';
import { providers } from './provider-data.ts';

/** Named `provider/model`. Groq first, then in the order of the founding document, then the others. */
export const catalogue: readonly ModelDefinition[] = providers.flatMap((provider) =>
  provider.models.map((model) => ({
    name: `${provider.provider}/${model.model}`,
    provider: provider.provider,
    baseUrl: provider.baseUrl,
    upstreamModel: model.model,
    envVar: provider.envVar,
    headers: provider.headers ?? {},
    isLocal: provider.isLocal ?? false,
    capabilities: capabilitiesOf(model),
    quotas: model.quotas ?? {},
  })),
);

function capabilitiesOf({ can = [], isEmbedder, contextTokens }: CataloguedModel): Capabilities {
  return {
    streaming: !isEmbedder,
    tools: can.includes('tools'),
    json: can.includes('json'),
    vision: can.includes('vision'),
    embeddings: isEmbedder ?? false,
    contextTokens: contextTokens ?? null,
  };
}

/** Providers that call the very same model by different names. */
const otherNames: Readonly<Record<string, string>> = {
  'openai/gpt-4o-mini': 'gpt-4o-mini',
  'openai/text-embedding-3-small': 'text-embedding-3-small',
  'BAAI/bge-multilingual-gemma2': 'bge-multilingual-gemma2',
};

/** One name for the very same model wherever it runs. Two models make interchangeable vectors only if it is equal. */
export function modelIdentity(upstreamModel: string): string {
  return otherNames[upstreamModel] ?? upstreamModel;
}
