// Models over HTTP: exhausted quotas, and adding, replacing and deleting models.
import { describe, expect, it } from 'vitest';
import type { GatewayWorld } from '../support/gateway/gateway-world.ts';
import { gatewayWorld } from '../support/gateway/gateway-world.ts';

interface ModelBody {
  readonly id: number;
  readonly name: string;
  readonly provider: string;
  readonly upstream_model: string;
  readonly api_endpoint: string;
  readonly origin: string;
  readonly is_active: boolean;
  readonly is_configured: boolean;
  readonly key_source: string | null;
  readonly needs: string | null;
  readonly available_at: string | null;
  readonly request_count: number;
  readonly quotas: object;
  readonly cooldowns: readonly { readonly cause: string; readonly source: string; readonly key_id: string }[];
}

interface Refusal {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly details?: {
      readonly problems?: readonly { readonly field: string; readonly message: string }[];
    };
  };
}

const two = ['alpha', 'beta'].map((name) => ({ name, models: [{ name: `${name}-1` }] }));

async function listed(at: GatewayWorld, query = ''): Promise<readonly ModelBody[]> {
  return (await (await at.call('GET', `/api/v1/models?active_only=false&${query}`)).json()) as ModelBody[];
}

async function named(at: GatewayWorld, name: string): Promise<ModelBody> {
  const found = (await listed(at)).find((model) => model.name === name);
  if (!found) throw new Error(`There is no ${name}.`);
  return found;
}

describe('a model whose declared quota is used up', () => {
  const quota = { models: { 'alpha/alpha-1': { quotas: { requestsPerMinute: 2 } } } };

  it('is shown as unavailable with the reason and time everywhere', async () => {
    const at = await gatewayWorld({ providers: two, ...quota });
    expect((await named(at, 'alpha/alpha-1')).available_at).toBeNull();
    for (let request = 0; request < 3; request++) await at.chat({ model: 'alpha/alpha-1' });
    expect(at.calls('alpha-1')).toBe(2);

    const model = await named(at, 'alpha/alpha-1');
    const leftMs = Date.parse(model.available_at ?? '') - Date.now();
    expect(leftMs).toBeGreaterThan(0);
    expect(leftMs).toBeLessThanOrEqual(61_000);
    expect(model.cooldowns).toMatchObject([{ cause: 'quota', source: 'quota' }]);
    const available = await listed(at, 'available_only=true&configured_only=true');
    expect(available.map(({ name }) => name)).toEqual(['beta/beta-1']);
    const one = (await (await at.call('GET', `/api/v1/models/${model.id}`)).json()) as ModelBody;
    expect(one.available_at).not.toBeNull();
    const explained = (await (await at.call('GET', `/api/v1/models/${model.id}/explain`)).json()) as {
      position: number | null;
      position_reason: string;
    };
    expect(explained).toMatchObject({
      position: null,
      position_reason: expect.stringMatching(/^its quota is used up until 2/) as string,
    });
    const other = await named(at, 'beta/beta-1');
    expect(await (await at.call('GET', `/api/v1/models/${other.id}/explain`)).json()).toMatchObject({
      position: 1,
    });
  });

  it('stays so when cooldowns are cleared, and is available while another key has quota', async () => {
    const env = { ALPHA_API_KEY: 'sk-alpha,sk-other' };
    const providers = [
      { ...two[0], name: 'alpha', models: [{ name: 'alpha-1' }], keys: ['sk-alpha', 'sk-other'] },
    ];
    const at = await gatewayWorld({ providers, env, ...quota });
    const { id } = await named(at, 'alpha/alpha-1');
    for (let request = 0; request < 3; request++) expect((await at.chat()).status).toBe(200);
    const half = await named(at, 'alpha/alpha-1');
    expect(half).toMatchObject({ available_at: null, cooldowns: [{ cause: 'quota' }] });
    expect((await at.chat()).status).toBe(200);
    expect((await at.chat()).status).toBe(429);
    const warmed = await at.call('PATCH', `/api/v1/models/${id}/availability?retry_after_seconds=0`);
    const view = (await warmed.json()) as ModelBody;
    expect(view.available_at).not.toBeNull();
    expect(view.cooldowns).toHaveLength(2);
  });
});

describe('an added model', () => {
  const own = {
    name: 'own/large',
    base_url: 'https://llm.example.com/v1',
    env_var: 'ALPHA_API_KEY',
    quotas: { requests_per_minute: 30 },
  };
  const change = (at: GatewayWorld, method: 'PUT' | 'DELETE', id: number, body?: object) =>
    at.call(method, `/api/v1/models/${id}`, body);

  it('is replaced: it keeps id, state and scores, and loses cooldowns of the old endpoint', async () => {
    const at = await gatewayWorld({ providers: two });
    const { id } = (await (await at.call('POST', '/api/v1/models', own)).json()) as ModelBody;
    await at.call('POST', `/api/v1/models/${id}/increment-success?response_time=1`);
    await at.call('PATCH', `/api/v1/models/${id}/availability?retry_after_seconds=600`);
    await at.call('PATCH', `/api/v1/models/${id}/active`, { is_active: false });

    const narrower = await change(at, 'PUT', id, { ...own, quotas: { tokens_per_day: 5_000 } });
    expect(narrower.status).toBe(200);
    expect(await narrower.json()).toMatchObject({
      id,
      quotas: { tokens_per_day: 5_000 },
      cooldowns: [{ cause: 'manual' }],
    });
    const moved = { ...own, base_url: at.simulator.baseUrl('alpha'), model: 'alpha-1', quotas: {} };
    expect(await (await change(at, 'PUT', id, moved)).json()).toMatchObject({
      id,
      name: 'own/large',
      origin: 'custom',
      upstream_model: 'alpha-1',
      quotas: {},
      price: null,
      timeouts: {},
      cooldowns: [],
      available_at: null,
      is_active: false,
      request_count: 1,
    });
    await at.call('PATCH', `/api/v1/models/${id}/active`, { is_active: true });
    const answer = await at.chat({ model: 'own/large' });
    expect(answer.headers.get('x-headworks-model')).toBe('own/large');
    const renamed = await change(at, 'PUT', id, { ...moved, name: 'other' });
    expect(renamed.status).toBe(400);
    expect(((await renamed.json()) as Refusal).error.message).toContain(
      'The name of own/large cannot be changed',
    );
    expect(at.auditRows.map(({ action, subject, outcome }) => [action, subject, outcome])).toContainEqual([
      'models.update',
      `id=${id}`,
      'completed',
    ]);
  });

  it('is replaced during a call, which does not affect the new endpoint', async () => {
    const slow = { ...two[0], name: 'alpha', models: [{ name: 'alpha-1' }], latency_ms: 300 };
    const at = await gatewayWorld({ providers: [slow, { name: 'beta', models: [{ name: 'beta-1' }] }] });
    const { id } = await named(at, 'alpha/alpha-1');
    at.simulator.script('alpha-1', [{ fault: '429', hint: 'retry-after', seconds: 600 }]);
    const pending = at.chat({ model: 'alpha/alpha-1' }, { 'x-headworks-fallback': 'none' });
    await expect.poll(() => at.calls('alpha-1')).toBe(1);
    const moved = {
      name: 'alpha/alpha-1',
      base_url: at.simulator.baseUrl('beta'),
      model: 'beta-1',
      env_var: 'BETA_API_KEY',
    };
    expect((await change(at, 'PUT', id, moved)).status).toBe(200);
    expect((await pending).status).toBe(429);
    expect(await named(at, 'alpha/alpha-1')).toMatchObject({ available_at: null, cooldowns: [] });
    expect((await at.chat({ model: 'alpha/alpha-1' })).headers.get('x-headworks-attempts')).toBe('1');
    expect(at.calls('beta-1')).toBe(1);
  });

  it('is deleted: it is no longer listed, its usage stays, and its name can be reused', async () => {
    const at = await gatewayWorld({ providers: two });
    const { id } = await named(at, 'alpha/alpha-1');
    expect((await at.chat({ model: 'alpha/alpha-1' })).status).toBe(200);
    expect(await (await change(at, 'DELETE', id)).json()).toMatchObject({ id, name: 'alpha/alpha-1' });
    expect((await listed(at)).map(({ name }) => name)).not.toContain('alpha/alpha-1');
    expect((await change(at, 'DELETE', id)).status).toBe(404);
    expect((await change(at, 'PUT', id, own)).status).toBe(404);
    expect((await at.chat({ model: 'alpha/alpha-1' })).status).toBe(404);
    expect((await at.chat()).headers.get('x-headworks-model')).toBe('beta/beta-1');
    const { usage } = (await (await at.call('GET', '/api/v1/usage')).json()) as {
      usage: { model: string }[];
    };
    expect(usage.map(({ model }) => model).sort()).toEqual(['alpha/alpha-1', 'beta/beta-1']);
    const again = await at.call('POST', '/api/v1/models', { ...own, name: 'alpha/alpha-1' });
    expect(again.status).toBe(201);
    expect(await again.json()).toMatchObject({ request_count: 0 });
    expect(at.auditRows.map(({ action, subject }) => [action, subject])).toContainEqual([
      'models.delete',
      `id=${id}`,
    ]);
  });

  it('can be replaced and deleted; others are rejected with an alternative', async () => {
    const configured = {
      name: 'set',
      provider: 'set',
      baseUrl: 'https://set.example.com/v1',
      apis: ['chat' as const],
      keyHeader: 'authorization' as const,
      upstreamModel: 'set',
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
    };
    const at = await gatewayWorld({ providers: two, options: { models: [configured] } });
    for (const [name, why] of [
      ['groq/llama-3.3-70b-versatile', 'it is built in'],
      ['set', 'is defined in the settings'],
    ] as const) {
      const { id } = await named(at, name);
      for (const answer of [await change(at, 'DELETE', id), await change(at, 'PUT', id, { ...own, name })]) {
        expect(answer.status).toBe(409);
        const { error } = (await answer.json()) as Refusal;
        expect(error.code).toBe('CONFLICT');
        expect(error.message).toContain(why);
        expect(error.message).toContain(`headworks models disable ${name}`);
      }
      expect((await named(at, name)).id).toBe(id);
    }
  });

  it('that is invalid reports every problem at once with the names of the body', async () => {
    const at = await gatewayWorld({ providers: two });
    const wrong = {
      name: 'a,b',
      base_url: 'ftp://x',
      env_var: 'PATH',
      provider: 'a b',
      capabilities: { context_tokens: 0, tools: 'yes' },
      quotas: { requests_per_minute: 1.5, tokens_per_day: 2e12 },
      color: 'red',
    };
    const { id } = await named(at, 'alpha/alpha-1');
    for (const answer of [
      await at.call('POST', '/api/v1/models', wrong),
      await change(at, 'PUT', id, wrong),
    ]) {
      expect(answer.status).toBe(400);
      const { error } = (await answer.json()) as Refusal;
      expect(error.details?.problems?.map(({ field }) => field).sort()).toEqual([
        'body.base_url',
        'body.capabilities.context_tokens',
        'body.capabilities.tools',
        'body.color',
        'body.env_var',
        'body.name',
        'body.provider',
        'body.quotas.requests_per_minute',
        'body.quotas.tokens_per_day',
      ]);
      expect(error.message).not.toMatch(/baseUrl|envVar|requestsPer|contextTokens/);
      expect(error.message).toContain('body.base_url: must start with http:// or https://');
    }
    for (const body of [[], 'x', null, 7]) {
      const answer = await at.call('POST', '/api/v1/models', JSON.stringify(body));
      expect([body, answer.status]).toEqual([body, 400]);
    }
  });

  it('gets provider and upstream name from its name and base URL', async () => {
    const at = await gatewayWorld({ providers: two });
    const made = async (body: object) =>
      (await (await at.call('POST', '/api/v1/models', { ...own, ...body })).json()) as ModelBody;
    const seen = ({ provider, upstream_model }: ModelBody) => [provider, upstream_model];
    expect(seen(await made({ name: 'acme/one' }))).toEqual(['acme', 'acme/one']);
    expect(seen(await made({ name: 'acme/two', provider: 'acme' }))).toEqual(['acme', 'two']);
    expect(seen(await made({ name: 'three' }))).toEqual(['llm.example.com', 'three']);
    expect(seen(await made({ name: 'four', provider: 'acme', model: 'x' }))).toEqual(['acme', 'x']);
  });
});

it('reports where a key was found and what is missing', async () => {
  const at = await gatewayWorld({ providers: two, env: { GITHUB_TOKEN: 'ghp_of-ci' } });
  expect(await named(at, 'github/openai/gpt-4o-mini')).toMatchObject({
    is_configured: true,
    key_source: 'GITHUB_TOKEN',
    needs: null,
  });
  expect(await named(at, 'cloudflare/@cf/baai/bge-m3')).toMatchObject({
    is_configured: false,
    key_source: null,
    needs: 'CLOUDFLARE_API_TOKEN together with CLOUDFLARE_ACCOUNT_ID',
  });
});

describe('an unknown URL below /v1', () => {
  it.each([
    ['GET', '/v1/%zz', 400, 'INPUT_INVALID'],
    ['POST', '/v1/chat/%', 400, 'INPUT_INVALID'],
    ['GET', '/v1/models/%E0%A4%A', 400, 'INPUT_INVALID'],
    ['GET', '/v1/nothing', 404, 'NOT_FOUND'],
    ['GET', '/v1', 404, 'NOT_FOUND'],
    ['GET', '/v1?x=1', 404, 'NOT_FOUND'],
    ['GET', '/v1/chat/completions', 405, 'HTTP_METHOD_NOT_ALLOWED'],
    ['PUT', '/v1/models', 405, 'HTTP_METHOD_NOT_ALLOWED'],
  ])('%s %s is rejected in OpenAI’s format', async (method, path, status, code) => {
    const at = await gatewayWorld({ providers: two });
    const answer = await at.server.inject({ method: method as 'GET', url: path });
    expect(answer.statusCode).toBe(status);
    expect(answer.headers['x-request-id']).toBeDefined();
    expect(answer.json()).toMatchObject({
      error: { type: 'invalid_request_error', headworks_code: code, param: null },
    });
  });

  it('elsewhere has our own format', async () => {
    const at = await gatewayWorld({ providers: two });
    for (const path of ['/v12/%zz', '/api/v1/%zz', '/%zz/v1/models']) {
      const body: object = (await at.server.inject({ method: 'GET', url: path })).json();
      expect(body).toMatchObject({ error: { code: 'INPUT_INVALID' } });
      expect(body).not.toHaveProperty('error.type');
    }
  });
});
