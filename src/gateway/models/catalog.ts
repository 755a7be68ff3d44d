// The built-in models as data: the fourteen providers of the founding document, then OpenAI, Gemini, Mistral, Together
// and Ollama. Values come from the providers' documentation; unknown ones are absent, and a wrong one costs a fallback.
import type { Capabilities, ModelDefinition, Quotas } from '../types.ts';

interface ProviderEntry {
  readonly provider: string;
  readonly baseUrl: string;
  readonly envVar: string;
  /** Checked before `envVar`, which is often set for another purpose. */
  readonly preferredEnvVar?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly isLocal?: true;
  readonly models: readonly CatalogModel[];
}

interface CatalogModel {
  /** The provider's name for it. */
  readonly model: string;
  /** Beyond streamed text, which every chat model supports. */
  readonly supports?: readonly ('tools' | 'json' | 'vision')[];
  readonly isEmbedding?: true;
  readonly contextTokens?: number;
  /** Only limits that apply to every account: a free-tier quota would throttle paying ones. */
  readonly quotas?: Quotas;
}

const providers: readonly ProviderEntry[] = [
  {
    provider: 'groq',
    baseUrl: 'https://api.groq.com/openai/v1',
    envVar: 'GROQ_API_KEY',
    models: [{ model: 'llama-3.3-70b-versatile', supports: ['tools', 'json'], contextTokens: 131_072 }],
  },
  {
    provider: 'cerebras',
    baseUrl: 'https://api.cerebras.ai/v1',
    envVar: 'CEREBRAS_API_KEY',
    // No contextTokens: 64k on the free tier, 128k otherwise.
    models: [{ model: 'llama-3.3-70b', supports: ['tools', 'json'] }],
  },
  {
    provider: 'sambanova',
    baseUrl: 'https://api.sambanova.ai/v1',
    envVar: 'SAMBANOVA_API_KEY',
    models: [{ model: 'Meta-Llama-3.3-70B-Instruct', supports: ['tools', 'json'], contextTokens: 131_072 }],
  },
  {
    provider: 'huggingface',
    baseUrl: 'https://router.huggingface.co/v1',
    envVar: 'HUGGINGFACE_API_KEY',
    models: [{ model: 'meta-llama/Meta-Llama-3-8B-Instruct', contextTokens: 8_192 }],
  },
  {
    provider: 'cloudflare',
    baseUrl: 'https://api.cloudflare.com/client/v4/accounts/{CLOUDFLARE_ACCOUNT_ID}/ai/v1',
    envVar: 'CLOUDFLARE_API_TOKEN',
    models: [
      {
        model: '@cf/meta/llama-3.3-70b-instruct-fp8-fast',
        supports: ['tools', 'json'],
        contextTokens: 24_000,
      },
      { model: '@cf/baai/bge-m3', isEmbedding: true },
    ],
  },
  {
    provider: 'deepseek',
    baseUrl: 'https://api.deepseek.com/v1',
    envVar: 'DEEPSEEK_API_KEY',
    models: [{ model: 'deepseek-chat', supports: ['tools', 'json'], contextTokens: 131_072 }],
  },
  {
    provider: 'openrouter',
    baseUrl: 'https://openrouter.ai/api/v1',
    envVar: 'OPENROUTER_API_KEY',
    headers: { 'HTTP-Referer': 'https://www.npmjs.com/package/headworks', 'X-Title': 'Headworks' },
    models: [
      {
        model: 'deepseek/deepseek-r1-0528:free',
        contextTokens: 163_840,
        quotas: { requestsPerMinute: 20 },
      },
      { model: 'openai/text-embedding-3-small', isEmbedding: true, contextTokens: 8_192 },
    ],
  },
  {
    provider: 'github',
    baseUrl: 'https://models.github.ai/inference',
    // The name in GitHub's examples and in founding document 003. CI and the gh tool set it, too.
    envVar: 'GITHUB_TOKEN',
    preferredEnvVar: 'GITHUB_MODELS_TOKEN',
    // No contextTokens: the limit depends on the account's plan.
    models: [
      { model: 'openai/gpt-4o-mini', supports: ['tools', 'json', 'vision'] },
      { model: 'openai/text-embedding-3-small', isEmbedding: true },
    ],
  },
  {
    provider: 'fireworks',
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    envVar: 'FIREWORKS_API_KEY',
    models: [
      { model: 'accounts/fireworks/models/gpt-oss-20b', supports: ['tools', 'json'], contextTokens: 131_072 },
      { model: 'nomic-ai/nomic-embed-text-v1.5', isEmbedding: true, contextTokens: 8_192 },
    ],
  },
  {
    provider: 'hyperbolic',
    baseUrl: 'https://api.hyperbolic.xyz/v1',
    envVar: 'HYPERBOLIC_API_KEY',
    models: [{ model: 'meta-llama/Llama-3.3-70B-Instruct', contextTokens: 131_072 }],
  },
  {
    provider: 'novita',
    baseUrl: 'https://api.novita.ai/v3/openai',
    envVar: 'NOVITA_API_KEY',
    models: [{ model: 'meta-llama/llama-3.1-70b-instruct' }],
  },
  {
    provider: 'scaleway',
    baseUrl: 'https://api.scaleway.ai/v1',
    envVar: 'SCALEWAY_API_KEY',
    models: [
      { model: 'llama-3.1-70b-instruct', supports: ['tools', 'json'] },
      { model: 'bge-multilingual-gemma2', isEmbedding: true },
    ],
  },
  {
    provider: 'kluster',
    baseUrl: 'https://api.kluster.ai/v1',
    envVar: 'KLUSTER_API_KEY',
    models: [{ model: 'klusterai/Meta-Llama-3.3-70B-Instruct-Turbo' }],
  },
  {
    provider: 'nebius',
    baseUrl: 'https://api.studio.nebius.ai/v1',
    envVar: 'NEBIUS_API_KEY',
    models: [
      {
        model: 'meta-llama/Meta-Llama-3.1-70B-Instruct',
        supports: ['tools', 'json'],
        contextTokens: 131_072,
      },
      { model: 'BAAI/bge-multilingual-gemma2', isEmbedding: true },
      { model: 'BAAI/bge-en-icl', isEmbedding: true },
    ],
  },
  {
    provider: 'openai',
    baseUrl: 'https://api.openai.com/v1',
    envVar: 'OPENAI_API_KEY',
    models: [
      { model: 'gpt-4o-mini', supports: ['tools', 'json', 'vision'], contextTokens: 128_000 },
      { model: 'text-embedding-3-small', isEmbedding: true, contextTokens: 8_192 },
    ],
  },
  {
    provider: 'gemini',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    envVar: 'GEMINI_API_KEY',
    models: [
      { model: 'gemini-2.5-flash', supports: ['tools', 'json', 'vision'], contextTokens: 1_048_576 },
      { model: 'gemini-embedding-001', isEmbedding: true, contextTokens: 2_048 },
    ],
  },
  {
    provider: 'mistral',
    baseUrl: 'https://api.mistral.ai/v1',
    envVar: 'MISTRAL_API_KEY',
    models: [
      { model: 'mistral-small-latest', supports: ['tools', 'json', 'vision'], contextTokens: 131_072 },
      { model: 'mistral-embed', isEmbedding: true, contextTokens: 8_192 },
    ],
  },
  {
    provider: 'together',
    baseUrl: 'https://api.together.xyz/v1',
    envVar: 'TOGETHER_API_KEY',
    models: [
      {
        model: 'meta-llama/Llama-3.3-70B-Instruct-Turbo',
        supports: ['tools', 'json'],
        contextTokens: 131_072,
      },
      { model: 'BAAI/bge-base-en-v1.5', isEmbedding: true, contextTokens: 512 },
    ],
  },
  {
    provider: 'ollama',
    baseUrl: '{OLLAMA_BASE_URL=http://127.0.0.1:11434}/v1',
    envVar: 'OLLAMA_API_KEY',
    isLocal: true,
    // No contextTokens: it is configured on that machine.
    models: [
      { model: 'llama3.2', supports: ['tools', 'json'] },
      { model: 'nomic-embed-text', isEmbedding: true },
    ],
  },
];

/** Named `provider/model`. */
export const catalog: readonly ModelDefinition[] = providers.flatMap((provider) =>
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

function capabilitiesOf({ supports = [], isEmbedding, contextTokens }: CatalogModel): Capabilities {
  return {
    streaming: !isEmbedding,
    tools: supports.includes('tools'),
    json: supports.includes('json'),
    vision: supports.includes('vision'),
    embeddings: isEmbedding ?? false,
    contextTokens: contextTokens ?? null,
  };
}

/** Variables of the catalog; not all of them end like keys (GITHUB_TOKEN). */
export const catalogEnvVars: ReadonlySet<string> = new Set(
  providers.flatMap(({ envVar, preferredEnvVar }) => [envVar, preferredEnvVar ?? envVar]),
);

const preferredEnvVars: ReadonlyMap<string, string> = new Map(
  providers.flatMap(({ envVar, preferredEnvVar }) =>
    preferredEnvVar === undefined ? [] : [[envVar, preferredEnvVar]],
  ),
);

/** The variables to read for the keys of a model that names `envVar`; the first one with keys is used. */
export function keyVariables(envVar: string): readonly string[] {
  const preferred = preferredEnvVars.get(envVar);
  return preferred === undefined ? [envVar] : [preferred, envVar];
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
