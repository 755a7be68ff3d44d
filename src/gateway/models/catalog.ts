// The built-in providers and models. The data is in providers.json; unknown values are absent, and a wrong one costs a
// fallback.
import type { ModelDefinition } from '../types.ts';
import { shippedProviders } from './provider-data.ts';
import type { ProviderDefinition } from './provider-definition.ts';
import { checkProviderDefinition, modelDefinition } from './provider-definition.ts';

export const builtInProviders: readonly ProviderDefinition[] = shippedProviders.map((provider) => {
  const checked = checkProviderDefinition(provider);
  if ('value' in checked) return checked.value;
  throw new Error(`providers.json: ${String(provider['name'])}: ${checked.problems.join('; ')}`);
});

/** What the settings make of the catalog. */
export interface EffectiveCatalog {
  readonly providers: readonly ProviderDefinition[];
  readonly builtIn: readonly ModelDefinition[];
  /** Defined in `gateway.providers` and `gateway.models`. */
  readonly configured: readonly ModelDefinition[];
}

/** A provider of the settings, with what it takes over from the built-in one of its name. */
export interface ConfiguredProvider {
  readonly definition: ProviderDefinition;
  /** The models that the settings define, by the provider's names. */
  readonly ownModels: readonly string[];
}

/** `models` have precedence over models of the same name that `providers` define. */
export function effectiveCatalog(
  providers: readonly ConfiguredProvider[],
  models: readonly ModelDefinition[],
): EffectiveCatalog {
  const given = new Map(providers.map((each) => [each.definition.name, each]));
  const kept = builtInProviders.filter(({ name }) => !given.has(name));
  const named = new Set(models.map(({ name }) => name));
  const definitionsOf = (isOwn: boolean) =>
    providers.flatMap(({ definition, ownModels }) =>
      definition.models
        .filter(({ model }) => ownModels.includes(model) === isOwn)
        .map((model) => modelDefinition(definition, model)),
    );
  return {
    providers: [...kept, ...providers.map(({ definition }) => definition)],
    builtIn: [
      ...kept.flatMap((provider) => provider.models.map((model) => modelDefinition(provider, model))),
      ...definitionsOf(false),
    ],
    configured: [...models, ...definitionsOf(true).filter(({ name }) => !named.has(name))],
  };
}

/** Providers that use different names for the same model. */
const aliases: Readonly<Record<string, string>> = {
  'openai/gpt-4o-mini': 'gpt-4o-mini',
  'openai/text-embedding-3-small': 'text-embedding-3-small',
  'BAAI/bge-multilingual-gemma2': 'bge-multilingual-gemma2',
};

/** One name for the same model at every provider. Vectors of two models are interchangeable only if it is equal. */
export function modelIdentity(upstreamModel: string): string {
  return aliases[upstreamModel] ?? upstreamModel;
}
