// The catalog, keys in the environment, and definitions of added models.
import { describe, expect, it } from 'vitest';
import { modelsOption } from '../options.ts';
import type { ModelDefinition } from '../types.ts';
import { baseUrlProblem, isLocalUrl, urlVariables } from './model-definition.ts';
import { builtInProviders, effectiveCatalog, modelIdentity } from './catalog.ts';
import { envVarProblem } from './model-definition.ts';
import { ProviderKeys, describeMissing } from './provider-keys.ts';
import { checkModelDefinition, parseModelDefinition } from './model-definition.ts';

const { builtIn: catalog } = effectiveCatalog([], []);

const named = (name: string): ModelDefinition => {
  const found = catalog.find((model) => model.name === name);
  if (!found) throw new Error(`no ${name} in the catalog`);
  return found;
};

describe('the catalog', () => {
  it("has the founding document's fourteen providers, other services and local servers", () => {
    const found = new Map(builtInProviders.map(({ name, envVar }) => [name, envVar]));
    expect(Object.fromEntries(found)).toEqual({
      groq: 'GROQ_API_KEY',
      cerebras: 'CEREBRAS_API_KEY',
      sambanova: 'SAMBANOVA_API_KEY',
      huggingface: 'HUGGINGFACE_API_KEY',
      cloudflare: 'CLOUDFLARE_API_TOKEN',
      deepseek: 'DEEPSEEK_API_KEY',
      openrouter: 'OPENROUTER_API_KEY',
      github: 'GITHUB_TOKEN',
      fireworks: 'FIREWORKS_API_KEY',
      hyperbolic: 'HYPERBOLIC_API_KEY',
      novita: 'NOVITA_API_KEY',
      scaleway: 'SCALEWAY_API_KEY',
      kluster: 'KLUSTER_API_KEY',
      nebius: 'NEBIUS_API_KEY',
      openai: 'OPENAI_API_KEY',
      anthropic: 'ANTHROPIC_API_KEY',
      gemini: 'GEMINI_API_KEY',
      azure: 'AZURE_OPENAI_API_KEY',
      bedrock: 'AWS_BEARER_TOKEN_BEDROCK',
      mistral: 'MISTRAL_API_KEY',
      together: 'TOGETHER_API_KEY',
      xai: 'XAI_API_KEY',
      cohere: 'COHERE_API_KEY',
      ollama: 'OLLAMA_API_KEY',
      lmstudio: 'LMSTUDIO_API_KEY',
      vllm: 'VLLM_API_KEY',
      llamacpp: 'LLAMACPP_API_KEY',
    });
  });

  it('has unique names of provider and model, without commas or spaces', () => {
    expect(new Set(catalog.map(({ name }) => name)).size).toBe(catalog.length);
    for (const { name, provider, upstreamModel } of catalog) {
      expect(name).toBe(`${provider}/${upstreamModel}`);
      expect(name).not.toMatch(/[,\s]/);
    }
  });

  it('satisfies the rules for variables and base URLs', () => {
    for (const { envVar, baseUrl } of catalog) {
      expect(envVarProblem(envVar ?? '')).toBeUndefined();
      expect(baseUrl).not.toMatch(/\/$/);
      if (urlVariables(baseUrl).length === 0) expect(baseUrlProblem(baseUrl)).toBeUndefined();
    }
  });

  it('allows embeddings to fall back between providers of the same model', () => {
    const same = catalog.filter(
      ({ upstreamModel }) => modelIdentity(upstreamModel) === 'text-embedding-3-small',
    );
    expect(same.map(({ provider }) => provider).sort()).toEqual(['github', 'openai', 'openrouter']);
    expect(same.every(({ capabilities }) => capabilities.embeddings)).toBe(true);
    expect(modelIdentity('anything/else')).toBe('anything/else');
  });
});

describe('ProviderKeys', () => {
  it('splits several keys at commas, trimmed, unique, in their order', () => {
    const keys = new ProviderKeys({ GROQ_API_KEY: ' b-key ,a-key,, b-key\n' }).keysOf(
      named('groq/llama-3.3-70b-versatile'),
    );
    expect(keys.map(({ secret }) => secret)).toEqual(['b-key', 'a-key']);
    expect(keys.every(({ id, secret }) => /^[0-9a-f]{12}$/.test(id) && !id.includes(secret ?? '!'))).toBe(
      true,
    );
    expect(new Set(keys.map(({ id }) => id)).size).toBe(2);
  });

  it('gives a key the same id in any position', () => {
    const model = named('groq/llama-3.3-70b-versatile');
    const [one] = new ProviderKeys({ GROQ_API_KEY: 'k1,k2' }).keysOf(model);
    const [, other] = new ProviderKeys({ GROQ_API_KEY: 'k2,k1' }).keysOf(model);
    expect(one?.id).toBe(other?.id);
  });

  it.each([undefined, '', ' ', ',', 'schlüssel', 'two words', 'a\nb'])(
    'finds no key in the variable %j',
    (value) => {
      expect(new ProviderKeys({ GROQ_API_KEY: value }).keysOf(named('groq/llama-3.3-70b-versatile'))).toEqual(
        [],
      );
    },
  );

  it('needs no key for a model without a variable', () => {
    expect(new ProviderKeys({}).keysOf({ ...named('groq/llama-3.3-70b-versatile'), envVar: null })).toEqual([
      { id: 'none', secret: null },
    ]);
  });

  it("fills in Cloudflare's account id, which cannot change the path", () => {
    const model = named('cloudflare/@cf/baai/bge-m3');
    const ring = (id?: string) => new ProviderKeys({ CLOUDFLARE_ACCOUNT_ID: id }).baseUrlOf(model);
    expect(ring('abc')).toBe('https://api.cloudflare.com/client/v4/accounts/abc/ai/v1');
    expect(ring()).toBeUndefined();
    expect(ring('../../x?y#z')).toBe(
      'https://api.cloudflare.com/client/v4/accounts/..%2F..%2Fx%3Fy%23z/ai/v1',
    );
  });

  it('treats Ollama as configured only when its URL or key is set', () => {
    const model = named('ollama/llama3.2');
    const seen = (env: Record<string, string>) => {
      const ring = new ProviderKeys(env);
      return [ring.keysOf(model).map(({ secret }) => secret), ring.baseUrlOf(model)];
    };
    expect(seen({})[0]).toEqual([]);
    expect(seen({ OLLAMA_API_KEY: 'key' })).toEqual([['key'], 'http://127.0.0.1:11434/v1']);
    expect(seen({ OLLAMA_BASE_URL: 'http://box:1/' })).toEqual([[null], 'http://box:1/v1']);
    expect(seen({ OLLAMA_BASE_URL: 'http://box:1/v1/' })[1]).toBe('http://box:1/v1');
    expect(seen({ OLLAMA_BASE_URL: 'http://user:word@box' })[1]).toBeUndefined();
  });

  it.each<[string, Record<string, string>, string]>([
    ['cloudflare/@cf/baai/bge-m3', {}, 'CLOUDFLARE_API_TOKEN together with CLOUDFLARE_ACCOUNT_ID'],
    ['cloudflare/@cf/baai/bge-m3', { CLOUDFLARE_API_TOKEN: 'x' }, 'CLOUDFLARE_ACCOUNT_ID'],
    ['cloudflare/@cf/baai/bge-m3', { CLOUDFLARE_ACCOUNT_ID: 'x' }, 'CLOUDFLARE_API_TOKEN'],
    ['cloudflare/@cf/baai/bge-m3', { CLOUDFLARE_API_TOKEN: 'x', CLOUDFLARE_ACCOUNT_ID: 'y' }, ''],
    ['ollama/llama3.2', {}, 'OLLAMA_BASE_URL or OLLAMA_API_KEY'],
    ['ollama/llama3.2', { OLLAMA_BASE_URL: 'http://box:1' }, ''],
    ['ollama/llama3.2', { OLLAMA_BASE_URL: 'http://user:word@box' }, 'OLLAMA_BASE_URL'],
    ['github/openai/gpt-4o-mini', {}, 'GITHUB_MODELS_TOKEN or GITHUB_TOKEN'],
    ['groq/llama-3.3-70b-versatile', { GROQ_API_KEY: 'x' }, ''],
  ])('lists what is missing for %s with %j', (name, env, words) => {
    expect(describeMissing(new ProviderKeys(env).missingEnvVars(named(name)))).toBe(words);
  });

  it('prefers GITHUB_MODELS_TOKEN over GITHUB_TOKEN and reports the source', () => {
    const model = named('github/openai/gpt-4o-mini');
    const seen = (env: Record<string, string>) => {
      const ring = new ProviderKeys(env);
      return [ring.keysOf(model).map(({ secret }) => secret), ring.keySourceOf(model)];
    };
    expect(seen({ GITHUB_TOKEN: 'any', GITHUB_MODELS_TOKEN: 'own' })).toEqual([
      ['own'],
      'GITHUB_MODELS_TOKEN',
    ]);
    expect(seen({ GITHUB_TOKEN: 'any', GITHUB_MODELS_TOKEN: ' ' })).toEqual([['any'], 'GITHUB_TOKEN']);
    expect(seen({})).toEqual([[], null]);
  });

  it('lists every secret for the redactor', () => {
    const ring = new ProviderKeys({ GROQ_API_KEY: 'a1,b1', OPENAI_API_KEY: 'c1', OTHER_API_KEY: 'd1' });
    expect(ring.secretsOf(catalog)).toEqual(['a1', 'b1', 'c1']);
  });
});

describe('an environment variable', () => {
  it.each([
    'GROQ_API_KEY',
    'CLOUDFLARE_API_TOKEN',
    'GITHUB_TOKEN',
    'GITHUB_MODELS_TOKEN',
    'MY_LLM_API_KEY',
    'CITY_AI_API_KEY',
  ])('%s is allowed for keys', (name) => {
    expect(envVarProblem(name)).toBeUndefined();
  });
  it.each([
    'HEADWORKS_ADMIN_TOKEN',
    'HEADWORKS_GATEWAY_API_KEY',
    'DATABASE_URL',
    'REDIS_URL',
    'DATABASE_API_KEY',
    'MAX_RETRIES',
    'RETRY_DELAY_SECONDS',
    'PATH',
    'HOME',
    'PGPASSWORD',
    'AWS_SECRET_ACCESS_KEY',
    'SSH_PRIVATE_KEY',
    'STRIPE_API_KEY',
    'LOOKER_CLIENT_SECRET',
    'NPM_TOKEN',
    'GITLAB_TOKEN',
    'HELPDESK_TOKEN',
    'JWT_KEY',
    'TLS_KEY',
    'MY_LLM_KEY',
    'SESSION_SECRET_KEY',
    'groq_api_key',
    'X_KEY=1',
    '',
    '_KEY',
  ])('%j is not allowed', (name) => {
    expect(envVarProblem(name)).toMatch(/^(must|is) /);
  });
  it.each(['K', 'K1', 'MY_LLM_KEY'])('%s is rejected for its ending, not for its characters', (name) => {
    expect(envVarProblem(name)).toMatch(/only variables that end in _API_KEY or _API_TOKEN/);
  });
});

describe('a base URL', () => {
  it.each([
    'http://localhost:11434/v1',
    'http://127.0.0.1/v1',
    'http://[::1]:8080/v1',
    'http://10.0.0.5/v1',
    'http://192.168.1.2/v1',
    'http://172.20.1.1/v1',
    'http://[fd00::1]/v1',
    'http://ollama:11434/v1',
    'http://box.local/v1',
    'http://models.internal/v1',
  ])('%s is local', (address) => {
    expect(isLocalUrl(address)).toBe(true);
  });
  it.each([
    'https://api.groq.com/v1',
    'http://8.8.8.8/v1',
    'http://172.32.0.1/v1',
    'http://100.1.2.3/',
    'https://local.example.com',
    'https://10.example.com',
    'nonsense',
  ])('%s is not', (address) => {
    expect(isLocalUrl(address)).toBe(false);
  });
});

describe('an added model', () => {
  const least = { name: 'acme/llama', baseUrl: 'https://llm.acme.example/v1/' };

  it('gets its defaults', () => {
    expect(parseModelDefinition(least)).toEqual({
      name: 'acme/llama',
      provider: 'acme',
      baseUrl: 'https://llm.acme.example/v1',
      apis: ['chat'],
      keyHeader: 'authorization',
      upstreamModel: 'acme/llama',
      envVar: null,
      headers: {},
      isLocal: false,
      capabilities: {
        streaming: true,
        tools: true,
        json: true,
        vision: false,
        reasoning: false,
        embeddings: false,
        endpoints: [],
        contextTokens: null,
        maxOutputTokens: null,
      },
      quotas: {},
      price: null,
      timeouts: {},
    });
    expect(parseModelDefinition({ ...least, name: 'mine' })).toMatchObject({
      provider: 'llm.acme.example',
      upstreamModel: 'mine',
    });
    expect(parseModelDefinition({ ...least, provider: 'acme' }).upstreamModel).toBe('llama');
    expect(parseModelDefinition({ ...least, baseUrl: 'http://127.0.0.1:9/v1' }).isLocal).toBe(true);
    expect(parseModelDefinition({ ...least, capabilities: { embeddings: true } }).capabilities).toMatchObject(
      { streaming: false, tools: false },
    );
  });

  it('uses the given values instead of defaults', () => {
    const given = {
      ...least,
      model: 'Llama 3',
      provider: 'acme-east',
      envVar: 'ACME_API_KEY',
      headers: { 'X-Team': 'core' },
      capabilities: { vision: true, tools: false, contextTokens: 8192 },
      quotas: { requestsPerMinute: 30, tokensPerDay: 1_000_000 },
    };
    expect(parseModelDefinition(given)).toMatchObject({
      upstreamModel: 'Llama 3',
      provider: 'acme-east',
      envVar: 'ACME_API_KEY',
      headers: { 'X-Team': 'core' },
      capabilities: { vision: true, tools: false, json: true, contextTokens: 8192 },
      quotas: { requestsPerMinute: 30, tokensPerDay: 1_000_000 },
    });
  });

  it.each<[string, unknown, RegExp]>([
    ['nothing', undefined, /a model must be an object with name/],
    ['a text', 'x', /a model must be an object/],
    ['no name', { baseUrl: least.baseUrl }, /name is missing/],
    ['no address', { name: 'x' }, /baseUrl is missing/],
    ['a comma in the name', { ...least, name: 'a,b' }, /name must be letters/],
    ['a blank in the name', { ...least, name: 'a b' }, /name must be letters/],
    ['auto', { ...least, name: 'auto' }, /name must not be "auto"/],
    ['another scheme', { ...least, baseUrl: 'file:///etc/passwd' }, /baseUrl must start with http/],
    ['no address at all', { ...least, baseUrl: 'acme' }, /baseUrl must be a URL/],
    ['credentials', { ...least, baseUrl: 'https://u:p@acme.example' }, /baseUrl must not contain a user/],
    [
      'the whole address of an endpoint',
      { ...least, baseUrl: 'https://acme.example/v1/chat/completions/' },
      /baseUrl must end before \/chat\/completions, which is appended to it: https:\/\/acme\.example\/v1$/,
    ],
    [
      'that of embeddings',
      { ...least, baseUrl: 'https://acme.example/v1/embeddings' },
      /before \/embeddings/,
    ],
    ['a query', { ...least, baseUrl: 'https://acme.example/?key=1' }, /baseUrl must not contain a query/],
    [
      'a variable of ours in the address',
      { ...least, baseUrl: 'https://evil.example/{DATABASE_URL}' },
      /\{DATABASE_URL\}, which is not allowed/,
    ],
    [
      'a key in the address',
      { ...least, baseUrl: 'https://evil.example/{OPENAI_API_KEY}' },
      /is not allowed in a base URL/,
    ],
    ['a variable of ours', { ...least, envVar: 'HEADWORKS_ADMIN_TOKEN' }, /envVar is not allowed/],
    ['another variable', { ...least, envVar: 'PATH' }, /envVar must look like a provider key/],
    ['an unknown key', { ...least, apiKey: 'sk-1' }, /has no "apiKey"; allowed: name, baseUrl/],
    [
      'a credential as header',
      { ...least, headers: { Authorization: 'x' } },
      /headers must not contain credentials/,
    ],
    [
      'a header with a line break',
      { ...least, headers: { 'X-A': 'a\r\nb' } },
      /headers.X-A must be plain text/,
    ],
    [
      'a quota of nothing',
      { ...least, quotas: { requestsPerMinute: 0 } },
      /quotas.requestsPerMinute must be at least 1/,
    ],
    ['half a quota', { ...least, quotas: { requestsPerMinute: 1.5 } }, /must be a whole number/],
    ['an unknown quota', { ...least, quotas: { perHour: 1 } }, /quotas has no "perHour"/],
    ['an unknown ability', { ...least, capabilities: { magic: true } }, /capabilities has no "magic"/],
  ])('is rejected: %s', (_what, input, problem) => {
    const checked = checkModelDefinition(input);
    expect('problems' in checked ? checked.problems.join('; ') : checked).toMatch(problem);
    expect(() => parseModelDefinition(input)).toThrow(expect.objectContaining({ code: 'INPUT_INVALID' }));
  });

  it('may have an account id variable in its base URL', () => {
    expect(
      parseModelDefinition({ ...least, baseUrl: 'https://x.example/{ACME_ACCOUNT_ID}/v1' }).baseUrl,
    ).toContain('{ACME_ACCOUNT_ID}');
  });

  it('reports every problem at once', () => {
    const checked = checkModelDefinition({
      name: 'a b',
      baseUrl: 'ftp://x/{DATABASE_URL}',
      envVar: 'PATH',
      quotas: { requestsPerMinute: 0 },
      color: 'red',
    });
    expect('problems' in checked && checked.problems).toEqual([
      expect.stringMatching(/^name must be letters/),
      expect.stringMatching(/^baseUrl must start with http/),
      expect.stringMatching(/^baseUrl contains \{DATABASE_URL\}, which is not allowed/),
      expect.stringMatching(/^envVar must look like a provider key/),
      'quotas.requestsPerMinute must be at least 1',
      expect.stringMatching(/^a model has no "color"; allowed: name, baseUrl/),
    ]);
    expect(checkModelDefinition({ baseUrl: 7, envVar: 8 })).toEqual({
      problems: [
        'name is missing',
        'baseUrl must be a URL',
        'envVar must be the name of an environment variable',
      ],
    });
  });
});

describe('the option gateway.models', () => {
  const model = { name: 'a', baseUrl: 'http://127.0.0.1:1/v1' };
  const problem = (raw: unknown) => {
    const parsed = modelsOption.parse(raw);
    return 'problem' in parsed ? parsed.problem : undefined;
  };

  it('accepts a list, or the same as JSON', () => {
    expect(modelsOption.parse([model])).toMatchObject({ value: [{ name: 'a', isLocal: true }] });
    expect(modelsOption.parse(JSON.stringify([model]))).toMatchObject({ value: [{ name: 'a' }] });
    expect(modelsOption.parse([])).toEqual({ value: [] });
  });

  it('reports which model is invalid and why', () => {
    expect(problem('groq')).toMatch(/must be a list of models/);
    expect(problem({ model })).toMatch(/must be a list of models/);
    expect(problem([model, { name: 'b' }])).toMatch(/model 2 \(b\): baseUrl is missing/);
    expect(problem([null, { baseUrl: 'x' }])).toMatch(/model 1: a model must.*; model 2: name is missing/);
    expect(problem([model, model])).toMatch(/model 2: the name a is used twice/);
  });
});
