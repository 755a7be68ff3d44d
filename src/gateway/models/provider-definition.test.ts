// Providers of the catalog and of the settings.
import { describe, expect, it } from 'vitest';
import { gatewayOptions } from '../options.ts';
import { builtInProviders, effectiveCatalog } from './catalog.ts';
import { ProviderKeys } from './provider-keys.ts';
import { checkProviderDefinition, modelDefinition } from './provider-definition.ts';

const { builtIn: catalog } = effectiveCatalog([], []);

const { parse } = gatewayOptions.fields.providers;

function providersOf(list: readonly unknown[]) {
  const parsed = parse(list);
  if ('value' in parsed) return parsed.value;
  throw new Error(parsed.problem);
}

const problemOf = (list: unknown) => {
  const parsed = parse(list);
  return 'problem' in parsed ? parsed.problem : undefined;
};

const isConfigured = (name: string, env: Readonly<Record<string, string>>) => {
  const provider = builtInProviders.find((each) => each.name === name);
  if (!provider) throw new Error(`no ${name}`);
  const model = modelDefinition(provider, {
    model: 'm',
    supports: [],
    isEmbedding: false,
    contextTokens: null,
    maxOutputTokens: null,
    quotas: {},
    price: null,
    timeouts: {},
  });
  const keys = new ProviderKeys(env);
  return keys.isConfigured(model) ? keys.baseUrlOf(model) : false;
};

describe('built-in providers', () => {
  it('that run on this machine are configured by their address only', () => {
    for (const [name, variable] of [
      ['ollama', 'OLLAMA_BASE_URL'],
      ['lmstudio', 'LMSTUDIO_BASE_URL'],
      ['vllm', 'VLLM_BASE_URL'],
      ['llamacpp', 'LLAMACPP_BASE_URL'],
    ] as const) {
      expect(isConfigured(name, {})).toBe(false);
      expect(isConfigured(name, { [variable]: 'http://10.0.0.5:9000/v1' })).toBe('http://10.0.0.5:9000/v1');
    }
  });

  it('that run on this machine support tools and JSON unless they reject them: their lists do not say', () => {
    const local = builtInProviders.filter(({ isLocal }) => isLocal);
    expect(local.map(({ name, supports }) => [name, supports])).toEqual(
      ['ollama', 'lmstudio', 'vllm', 'llamacpp'].map((name) => [name, ['tools', 'json']]),
    );
  });

  it('at addresses of the account need all of their variables', () => {
    const azure = { AZURE_OPENAI_API_KEY: 'k', AZURE_OPENAI_ENDPOINT: 'https://mine.openai.azure.com/' };
    expect(isConfigured('azure', azure)).toBe('https://mine.openai.azure.com/openai/v1');
    expect(isConfigured('azure', { AZURE_OPENAI_API_KEY: 'k' })).toBe(false);
    const bedrock = { AWS_BEARER_TOKEN_BEDROCK: 'k', AWS_REGION: 'us-west-2' };
    expect(isConfigured('bedrock', bedrock)).toBe(
      'https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1',
    );
    expect(isConfigured('bedrock', { ...bedrock, AWS_REGION: 'x.evil.example/' })).toBe(false);
  });

  it('of other APIs than chat have their paths and headers', () => {
    expect(catalog.find(({ provider }) => provider === 'anthropic')).toMatchObject({
      apis: ['messages'],
      keyHeader: 'x-api-key',
    });
    const gemini = catalog.filter(({ provider }) => provider === 'gemini');
    expect(gemini).toMatchObject([
      { apis: ['gemini'], keyHeader: 'x-goog-api-key', baseUrl: expect.stringMatching(/v1beta$/) },
      { apis: ['chat'], keyHeader: 'authorization', baseUrl: expect.stringMatching(/openai$/) },
    ]);
  });
});

describe('gateway.providers', () => {
  it('supports tools and JSON unless it says otherwise, as models that operators create', () => {
    const acme = { name: 'acme', baseUrl: 'https://llm.example.com/v1' };
    const supports = (more: object) =>
      effectiveCatalog(providersOf([{ ...acme, ...more }]), []).providers.at(-1)?.supports;
    expect(supports({})).toEqual(['tools', 'json']);
    expect(supports({ supports: [] })).toEqual([]);
  });

  it('adds a provider with its models', () => {
    const { providers, configured, builtIn } = effectiveCatalog(
      providersOf([
        {
          name: 'acme',
          baseUrl: 'https://llm.example.com/v1',
          envVar: 'ACME_API_KEY',
          supports: ['tools'],
          models: [
            { model: 'large-2', contextTokens: 32_000, price: { inputPerMillion: 1, outputPerMillion: 2 } },
          ],
        },
      ]),
      [],
    );
    expect(providers.at(-1)).toMatchObject({
      name: 'acme',
      discovery: { url: 'https://llm.example.com/v1/models', limit: null },
      isLocal: false,
    });
    expect(configured).toMatchObject([
      {
        name: 'acme/large-2',
        provider: 'acme',
        upstreamModel: 'large-2',
        capabilities: { tools: true, json: false, contextTokens: 32_000 },
        price: { inputPerMillion: 1, outputPerMillion: 2 },
      },
    ]);
    expect(builtIn).toEqual(catalog);
  });

  it('changes a built-in provider: its models stay, its own are configured', () => {
    const { providers, configured, builtIn } = effectiveCatalog(
      providersOf([
        { name: 'azure', models: [{ model: 'my-deployment' }] },
        { name: 'openai', discovery: { include: ['gpt-*'], limit: 3 } },
        { name: 'groq', baseUrl: 'https://proxy.example/groq', discovery: false },
      ]),
      [],
    );
    expect(configured.map(({ name, keyHeader, apis }) => ({ name, keyHeader, apis }))).toEqual([
      { name: 'azure/my-deployment', keyHeader: 'api-key', apis: ['responses', 'chat'] },
    ]);
    const openai = providers.find(({ name }) => name === 'openai');
    expect(openai?.discovery).toMatchObject({ include: ['gpt-*'], limit: 3 });
    expect(openai?.discovery?.exclude).not.toEqual([]);
    expect(providers.find(({ name }) => name === 'groq')?.discovery).toBeNull();
    expect(builtIn.find(({ provider }) => provider === 'groq')?.baseUrl).toBe('https://proxy.example/groq');
    expect(builtIn).toHaveLength(catalog.length);
    expect(providers).toHaveLength(builtInProviders.length);
  });

  it('reads the same as JSON in the environment', () => {
    const text = JSON.stringify([{ name: 'mine', baseUrl: 'http://127.0.0.1:8000/v1' }]);
    expect(parse(text)).toMatchObject({
      value: [{ definition: { name: 'mine', isLocal: true, envVar: null } }],
    });
  });

  it('rejects what is wrong, with the path of each problem', () => {
    const problem = problemOf([
      {
        name: 'acme',
        baseUrl: 'https://llm.example.com/v1/chat/completions',
        envVar: 'DATABASE_URL',
        headers: { authorization: 'Bearer x' },
        models: [{ model: 'a', price: { inputPerMillion: -1, outputPerMillion: 1 } }],
        discovery: { limit: -1 },
      },
      { name: 'twice', baseUrl: 'https://a.example' },
      { name: 'twice', baseUrl: 'https://b.example' },
      { name: 'nowhere' },
    ]);
    for (const part of [
      'provider 1 (acme): ',
      'baseUrl must end before /chat/completions',
      'envVar is not allowed',
      'headers must not contain credentials',
      'models.0.price.inputPerMillion must not be negative',
      'discovery.limit must not be negative',
      'the name twice is used twice',
      'provider 4 (nowhere): baseUrl is missing',
    ])
      expect(problem).toContain(part);
    expect(problemOf('{}')).toContain('must be a list of providers');
    expect(problemOf([5])).toContain('name is missing');
  });

  it('substitutes no secrets in addresses', () => {
    const checked = (baseUrl: string) => checkProviderDefinition({ name: 'x', baseUrl });
    expect(checked('https://evil.example/{OPENAI_API_KEY}')).toHaveProperty('problems');
    expect(checked('https://evil.example/{MINE_BASE_URL}')).toHaveProperty('problems');
    expect(checked('{DATABASE_ENDPOINT}/v1')).toHaveProperty('problems');
    expect(checked('{MINE_ENDPOINT}/v1')).toHaveProperty('value');
  });
});
