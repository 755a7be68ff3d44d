// The providers: the fourteen of the founding document, then OpenAI, Gemini, Mistral, Together and Ollama.
// Context lengths and abilities are those the providers publish; they fall out of date, and a wrong one costs a fallback.
import type { Quotas } from '../ports.ts';

export interface ProviderData {
  readonly provider: string;
  readonly baseUrl: string;
  readonly envVar: string;
  /** Looked into before `envVar`, where that is often set for something else. */
  readonly ownEnvVar?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly isLocal?: true;
  readonly models: readonly CataloguedModel[];
}

export interface CataloguedModel {
  /** What the provider calls it. */
  readonly model: string;
  /** Beyond plain talk, which every chat model can stream. */
  readonly can?: readonly ('tools' | 'json' | 'vision')[];
  /** Makes vectors and nothing else. */
  readonly isEmbedder?: true;
  readonly contextTokens?: number;
  /** Only what holds for every account: a quota of the free tier would throttle those who pay. */
  readonly quotas?: Quotas;
}

export const providers: readonly ProviderData[] = [
  {
    provider: 'groq',
    baseUrl: 'https://api.groq.com/openai/v1',
    envVar: 'GROQ_API_KEY',
    models: [{ model: 'llama-3.3-70b-versatile', can: ['tools', 'json'], contextTokens: 131_072 }],
  },
  {
    provider: 'cerebras',
    baseUrl: 'https://api.cerebras.ai/v1',
    envVar: 'CEREBRAS_API_KEY',
    // 64k on the free tier, 128k else: absent.
    models: [{ model: 'llama-3.3-70b', can: ['tools', 'json'] }],
  },
  {
    provider: 'sambanova',
    baseUrl: 'https://api.sambanova.ai/v1',
    envVar: 'SAMBANOVA_API_KEY',
    models: [{ model: 'Meta-Llama-3.3-70B-Instruct', can: ['tools', 'json'], contextTokens: 131_072 }],
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
      { model: '@cf/meta/llama-3.3-70b-instruct-fp8-fast', can: ['tools', 'json'], contextTokens: 24_000 },
      { model: '@cf/baai/bge-m3', isEmbedder: true },
    ],
  },
  {
    provider: 'deepseek',
    baseUrl: 'https://api.deepseek.com/v1',
    envVar: 'DEEPSEEK_API_KEY',
    models: [{ model: 'deepseek-chat', can: ['tools', 'json'], contextTokens: 131_072 }],
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
      { model: 'openai/text-embedding-3-small', isEmbedder: true, contextTokens: 8_192 },
    ],
  },
  {
    provider: 'github',
    baseUrl: 'https://models.github.ai/inference',
    // As GitHub's own examples and document 003's origin have it. CI and the gh tool set it, too.
    envVar: 'GITHUB_TOKEN',
    ownEnvVar: 'GITHUB_MODELS_TOKEN',
    // What an account may send depends on its plan: no context length here.
    models: [
      { model: 'openai/gpt-4o-mini', can: ['tools', 'json', 'vision'] },
      { model: 'openai/text-embedding-3-small', isEmbedder: true },
    ],
  },
  {
    provider: 'fireworks',
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    envVar: 'FIREWORKS_API_KEY',
    models: [
      { model: 'accounts/fireworks/models/gpt-oss-20b', can: ['tools', 'json'], contextTokens: 131_072 },
      { model: 'nomic-ai/nomic-embed-text-v1.5', isEmbedder: true, contextTokens: 8_192 },
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
      { model: 'llama-3.1-70b-instruct', can: ['tools', 'json'] },
      { model: 'bge-multilingual-gemma2', isEmbedder: true },
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
      { model: 'meta-llama/Meta-Llama-3.1-70B-Instruct', can: ['tools', 'json'], contextTokens: 131_072 },
      { model: 'BAAI/bge-multilingual-gemma2', isEmbedder: true },
      { model: 'BAAI/bge-en-icl', isEmbedder: true },
    ],
  },
  {
    provider: 'openai',
    baseUrl: 'https://api.openai.com/v1',
    envVar: 'OPENAI_API_KEY',
    models: [
      { model: 'gpt-4o-mini', can: ['tools', 'json', 'vision'], contextTokens: 128_000 },
      { model: 'text-embedding-3-small', isEmbedder: true, contextTokens: 8_192 },
    ],
  },
  {
    provider: 'gemini',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    envVar: 'GEMINI_API_KEY',
    models: [
      { model: 'gemini-2.5-flash', can: ['tools', 'json', 'vision'], contextTokens: 1_048_576 },
      { model: 'gemini-embedding-001', isEmbedder: true, contextTokens: 2_048 },
    ],
  },
  {
    provider: 'mistral',
    baseUrl: 'https://api.mistral.ai/v1',
    envVar: 'MISTRAL_API_KEY',
    models: [
      { model: 'mistral-small-latest', can: ['tools', 'json', 'vision'], contextTokens: 131_072 },
      { model: 'mistral-embed', isEmbedder: true, contextTokens: 8_192 },
    ],
  },
  {
    provider: 'together',
    baseUrl: 'https://api.together.xyz/v1',
    envVar: 'TOGETHER_API_KEY',
    models: [
      { model: 'meta-llama/Llama-3.3-70B-Instruct-Turbo', can: ['tools', 'json'], contextTokens: 131_072 },
      { model: 'BAAI/bge-base-en-v1.5', isEmbedder: true, contextTokens: 512 },
    ],
  },
  {
    provider: 'ollama',
    baseUrl: '{OLLAMA_BASE_URL=http://127.0.0.1:11434}/v1',
    envVar: 'OLLAMA_API_KEY',
    isLocal: true,
    // How much it reads is set on that machine.
    models: [
      { model: 'llama3.2', can: ['tools', 'json'] },
      { model: 'nomic-embed-text', isEmbedder: true },
    ],
  },
];
