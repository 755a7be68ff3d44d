// Definitions of providers: one schema for the shipped catalog and for `gateway.providers` of the configuration.
import { z } from 'zod';
import { withoutUndefined } from '../dialects/json.ts';
import type { JsonObject } from '../dialects/json.ts';
import type {
  Capabilities,
  KeyHeader,
  ModelDefinition,
  Price,
  Quotas,
  ModelTimeouts,
  ChatApi,
} from '../types.ts';
import { keyHeaders } from '../types.ts';
import {
  baseUrl,
  defaultKeyHeader,
  flag,
  headers,
  isLocalUrl,
  listOf,
  modelFields,
  problemOf,
  sharedFields,
  strict,
  tokenLimit,
} from './model-definition.ts';
import { mergedWithShipped } from './provider-data.ts';

/** What a chat model may support beyond streamed text. */
export const features = ['tools', 'json', 'vision', 'reasoning'] as const;
export type Feature = (typeof features)[number];

const comment = z.string('must be text').max(1_000).optional();

const pattern = z
  .string('must be text')
  .regex(/^[\w.:/@+*-]{1,200}$/, 'must be names of models, in which * stands for any text');
const patterns = z.array(pattern, 'must be a list of names, in which * stands for any text').max(100);

const discovery = strict({
  /** Default: the base URL + /models. */
  url: baseUrl.optional(),
  /** Parameters of its first page. */
  query: z
    .record(
      z.string().regex(/^\w{1,50}$/, 'must be names of parameters'),
      z.string('must be text').regex(/^[\x21-\x7e]{0,200}$/, 'must be plain text'),
      'must be names and values',
    )
    .optional(),
  /** In addition to those of the provider. */
  headers: headers.optional(),
  /** The most chat models to add; a quarter of it for embeddings. */
  limit: z
    .number('must be a whole number')
    .int('must be a whole number')
    .min(0, 'must not be negative')
    .max(1_000, 'must be at most 1000')
    .optional(),
  include: patterns.optional(),
  exclude: patterns.optional(),
  /** These first, in this order. */
  prefer: patterns.optional(),
  comment,
});

const catalogModel = strict({
  ...modelFields,
  /** Default: `supports` of the provider. */
  supports: listOf(features).optional(),
  isEmbedding: flag.optional(),
  contextTokens: tokenLimit,
  maxOutputTokens: tokenLimit,
  comment,
});

const schema = strict({
  name: z
    .string('must be a name')
    .regex(/^[A-Za-z0-9][\w.-]{0,63}$/, 'must be letters, digits and . _ -, at most 64'),
  ...sharedFields,
  /** Default: it has no key and its address is one of this machine or a private network. */
  isLocal: flag.optional(),
  /** Where its embedding models are served, if not at `baseUrl`. */
  embeddings: strict({
    baseUrl,
    keyHeader: z.enum(keyHeaders, `must be one of ${keyHeaders.join(', ')}`).optional(),
  }).optional(),
  /** What its chat models support, unless they or its list say otherwise. Default of one that is not shipped: tools, json. */
  supports: listOf(features).optional(),
  models: z.array(catalogModel, 'must be a list of models').max(1_000).optional(),
  /** How its models are listed; false: never. */
  discovery: z
    .union([z.literal(false), discovery], 'must be false or an object with url, limit, …')
    .optional(),
  comment,
});

export interface CatalogModel {
  /** The provider's name for it. */
  readonly model: string;
  readonly supports: readonly Feature[];
  readonly isEmbedding: boolean;
  readonly contextTokens: number | null;
  readonly maxOutputTokens: number | null;
  readonly quotas: Quotas;
  readonly price: Price | null;
  readonly timeouts: ModelTimeouts;
}

export interface DiscoverySettings {
  readonly url: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  /** Null: the setting of the gateway. */
  readonly limit: number | null;
  /** Empty: all. */
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  readonly prefer: readonly string[];
}

export interface ProviderDefinition {
  readonly name: string;
  readonly baseUrl: string;
  readonly envVar: string | null;
  readonly apis: readonly ChatApi[];
  readonly keyHeader: KeyHeader;
  readonly headers: Readonly<Record<string, string>>;
  readonly isLocal: boolean;
  readonly embeddings: { readonly baseUrl: string; readonly keyHeader: KeyHeader };
  readonly supports: readonly Feature[];
  readonly models: readonly CatalogModel[];
  /** Null: its models are never listed. */
  readonly discovery: DiscoverySettings | null;
}

/** The problems are sentences without a period: `baseUrl must start with …`. */
export function checkProviderDefinition(
  input: JsonObject,
): { readonly value: ProviderDefinition } | { readonly problems: readonly string[] } {
  const merged = mergedWithShipped(input);
  const parsed = schema.safeParse(merged);
  if (parsed.success) return { value: definitionOf(parsed.data) };
  const problems = parsed.error.issues.map((issue) => problemOf(issue, merged));
  return {
    problems: problems.map(({ path, message }) => `${path.length === 0 ? 'it' : path.join('.')} ${message}`),
  };
}

function definitionOf(given: z.infer<typeof schema>): ProviderDefinition {
  const apis = given.apis ?? ['chat'];
  const keyHeader = given.keyHeader ?? defaultKeyHeader(apis[0] ?? 'chat');
  const supports = given.supports ?? [];
  return {
    name: given.name,
    baseUrl: given.baseUrl,
    envVar: given.envVar ?? null,
    apis,
    keyHeader,
    headers: given.headers ?? {},
    isLocal: given.isLocal ?? ((given.envVar ?? null) === null && isLocalUrl(given.baseUrl)),
    embeddings: {
      baseUrl: given.embeddings?.baseUrl ?? given.baseUrl,
      keyHeader: given.embeddings?.keyHeader ?? keyHeader,
    },
    supports,
    models: (given.models ?? []).map((model) => ({
      model: model.model,
      supports: model.supports ?? supports,
      isEmbedding: model.isEmbedding ?? false,
      contextTokens: model.contextTokens ?? null,
      maxOutputTokens: model.maxOutputTokens ?? null,
      quotas: withoutUndefined(model.quotas ?? {}),
      price: model.price ? withoutUndefined(model.price) : null,
      timeouts: withoutUndefined(model.timeouts ?? {}),
    })),
    discovery:
      given.discovery === false
        ? null
        : {
            url: given.discovery?.url ?? `${given.baseUrl}/models`,
            query: given.discovery?.query ?? {},
            headers: given.discovery?.headers ?? {},
            limit: given.discovery?.limit ?? null,
            include: given.discovery?.include ?? [],
            exclude: given.discovery?.exclude ?? [],
            prefer: given.discovery?.prefer ?? [],
          },
  };
}

/** Where the models of a provider are called. */
export function endpointOf(
  provider: ProviderDefinition,
  isEmbedding: boolean,
): Pick<ModelDefinition, 'provider' | 'baseUrl' | 'apis' | 'keyHeader' | 'envVar' | 'headers' | 'isLocal'> {
  const { name, baseUrl: chatUrl, keyHeader, apis, envVar, headers: fixed, isLocal, embeddings } = provider;
  return {
    provider: name,
    baseUrl: isEmbedding ? embeddings.baseUrl : chatUrl,
    apis: isEmbedding ? ['chat'] : apis,
    keyHeader: isEmbedding ? embeddings.keyHeader : keyHeader,
    envVar,
    headers: fixed,
    isLocal,
  };
}

/** Named `provider/model`. */
export function modelDefinition(provider: ProviderDefinition, model: CatalogModel): ModelDefinition {
  return {
    name: `${provider.name}/${model.model}`,
    ...endpointOf(provider, model.isEmbedding),
    upstreamModel: model.model,
    capabilities: capabilitiesOf(model),
    quotas: model.quotas,
    price: model.price,
    timeouts: model.timeouts,
  };
}

function capabilitiesOf({
  supports,
  isEmbedding,
  contextTokens,
  maxOutputTokens,
}: CatalogModel): Capabilities {
  const has = (feature: Feature) => !isEmbedding && supports.includes(feature);
  return {
    streaming: !isEmbedding,
    tools: has('tools'),
    json: has('json'),
    vision: has('vision'),
    reasoning: has('reasoning'),
    embeddings: isEmbedding,
    endpoints: [],
    contextTokens,
    maxOutputTokens,
  };
}
