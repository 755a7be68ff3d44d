// The gateway over HTTP: routing, cooldowns, errors, operator actions.
import { describe, expect, it } from 'vitest';
import { gatewayWorld } from '../support/gateway/gateway-world.ts';
import type { GatewayWorld } from '../support/gateway/gateway-world.ts';

interface ErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly code: string;
    readonly headworks_code: string;
    readonly param: string | null;
    readonly models?: readonly {
      readonly model: string;
      readonly outcome: string;
      readonly available_at: string | null;
    }[];
  };
}
interface ModelBody {
  readonly id: number;
  readonly name: string;
  readonly available_at: string | null;
  readonly request_count: number;
  readonly success_count: number;
  readonly reliability_score: number;
  readonly effective_reliability_score: number;
  readonly decision_reason: string;
  readonly average_response_time: number;
  readonly recent_request_count: number | null;
  readonly cooldowns: readonly {
    readonly cause: string;
    readonly source: string;
    readonly reason: string | null;
  }[];
}

const three = ['alpha', 'beta', 'gamma'].map((name) => ({ name, models: [{ name: `${name}-1` }] }));
const idOf = async (at: GatewayWorld, name: string): Promise<number> => {
  const models = (await (await at.call('GET', '/api/v1/models')).json()) as readonly ModelBody[];
  return models.find((model) => model.name === name)?.id ?? 0;
};
const model = async (at: GatewayWorld, name: string): Promise<ModelBody> =>
  (await (await at.call('GET', `/api/v1/models/${await idOf(at, name)}`)).json()) as ModelBody;

describe('a rate-limited model', () => {
  it('is called once, not once per request, without losing reliability', async () => {
    const at = await gatewayWorld({
      providers: [
        {
          name: 'alpha',
          models: [{ name: 'a', faults: [{ fault: 429, hint: 'retry-after', seconds: 60, probability: 1 }] }],
        },
        { name: 'beta', models: [{ name: 'b' }] },
        { name: 'gamma', models: [{ name: 'c' }] },
      ],
    });
    for (let request = 0; request < 5; request++)
      expect((await at.chat({ model: 'alpha/a' })).headers.get('x-headworks-model')).toBe('beta/b');
    expect(at.calls('a')).toBe(1);
    const limited = await model(at, 'alpha/a');
    expect(limited.request_count).toBe(0);
    expect(limited.reliability_score).toBe(0.5);
    expect(Math.abs(Date.parse(limited.available_at ?? '') - Date.now() - 60_000)).toBeLessThan(10_000);
    expect(limited.cooldowns[0]).toMatchObject({ cause: 'rate-limit', source: 'retry-after' });
    const emitted = at.events.map(({ name, spec }) => [name, spec.message]);
    expect(emitted).toContainEqual(['gateway:rate-limit-detected', 'rate_limit_detected']);
    expect(emitted).toContainEqual(['gateway:availability-updated', 'availability_updated']);
  });

  it('gets manual cooldowns with a reason that are cleared manually and never shortened', async () => {
    const at = await gatewayWorld({ providers: three });
    const id = await idOf(at, 'alpha/alpha-1');
    const cool = async (query: string) =>
      (await (await at.call('PATCH', `/api/v1/models/${id}/availability?${query}`)).json()) as ModelBody;
    const long = await cool('retry_after_seconds=600&reason=billing');
    expect(long.cooldowns[0]).toMatchObject({ cause: 'manual', source: 'admin', reason: 'billing' });
    expect((await cool('retry_after_seconds=5')).available_at).toBe(long.available_at);
    const available = (await (
      await at.call('GET', '/api/v1/models?available_only=true')
    ).json()) as ModelBody[];
    expect(available.map(({ id: each }) => each)).not.toContain(id);
    for (const query of [
      '',
      'retry_after_seconds=',
      'retry_after_seconds=%20',
      'retry_after_seconds=2678401',
    ]) {
      const refused = await at.call('PATCH', `/api/v1/models/${id}/availability?${query}`);
      expect([query, refused.status]).toEqual([query, 400]);
      expect(await refused.text()).toContain('from 0 to 2678400');
    }
    expect((await model(at, 'alpha/alpha-1')).available_at).toBe(long.available_at);
    expect((await cool('retry_after_seconds=0')).available_at).toBeNull();
  });
});

describe('a model without credit', () => {
  it('cools down without losing reliability', async () => {
    const at = await gatewayWorld({
      providers: [
        { name: 'alpha', models: [{ name: 'a', faults: [{ fault: 402, probability: 1 }] }] },
        { name: 'beta', models: [{ name: 'b' }] },
      ],
    });
    expect((await at.chat({ model: 'alpha/a' })).headers.get('x-headworks-model')).toBe('beta/b');
    expect(await model(at, 'alpha/a')).toMatchObject({
      cooldowns: [{ cause: 'payment' }],
      request_count: 0,
      reliability_score: 0.5,
    });
  });
});

describe('when no model is available', () => {
  const limited = { fault: 429, hint: 'retry-after', seconds: 90, probability: 1 };

  it('returns 429 with Retry-After when all are rate-limited', async () => {
    const at = await gatewayWorld({
      providers: [
        { name: 'alpha', models: [{ name: 'a', faults: [limited] }] },
        { name: 'beta', models: [{ name: 'b', faults: [{ ...limited, seconds: 40 }] }] },
      ],
    });
    const answer = await at.chat();
    expect(answer.status).toBe(429);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(35);
    expect(Number(answer.headers.get('retry-after'))).toBeLessThanOrEqual(40);
    const { error } = (await answer.json()) as ErrorBody;
    expect(error).toMatchObject({
      type: 'rate_limit_error',
      code: 'rate_limit_exceeded',
      headworks_code: 'GATEWAY_ALL_RATE_LIMITED',
    });
    expect(error.models?.map(({ model: name, outcome }) => [name, outcome])).toEqual([
      ['alpha/a', 'rate-limit'],
      ['beta/b', 'rate-limit'],
    ]);
    const prompted = await at.call('POST', '/api/v1/prompts/process', { prompt: 'hello' });
    expect(prompted.status).toBe(429);
    expect(await prompted.json()).toMatchObject({
      error: 'all_rate_limited',
      attempts: 0,
      providers_tried: 0,
      providers_available: 2,
    });
    expect([at.calls('a'), at.calls('b')]).toEqual([1, 1]);
  });

  it('returns 503 after exactly 1 + MAX_RETRIES attempts of each, with the result of each', async () => {
    const at = await gatewayWorld({
      providers: [
        { name: 'alpha', models: [{ name: 'a', faults: [{ fault: 500, probability: 1 }] }] },
        { name: 'beta', models: [{ name: 'b', faults: [{ fault: 'reset', probability: 1 }] }] },
        { name: 'gamma', models: [{ name: 'c', faults: [{ fault: 401, probability: 1 }] }] },
      ],
    });
    const answer = await at.chat({ stream: true });
    expect(answer.status).toBe(503);
    const { error } = (await answer.json()) as ErrorBody;
    expect(error.models?.map(({ model: name, outcome }) => [name, outcome]).sort()).toEqual([
      ['alpha/a', 'server-error'],
      ['beta/b', 'network'],
      ['gamma/c', 'authentication'],
    ]);
    expect([at.calls('a'), at.calls('b'), at.calls('c')]).toEqual([3, 3, 1]);
    expect(answer.headers.get('x-should-retry')).toBe('false');
  });

  it('lists the variables to set when no model has a key', async () => {
    const at = await gatewayWorld({
      providers: three,
      env: { ALPHA_API_KEY: '', BETA_API_KEY: '', GAMMA_API_KEY: '' },
    });
    const answer = await at.chat();
    expect(answer.status).toBe(503);
    expect(((await answer.json()) as ErrorBody).error.message).toMatch(/GROQ_API_KEY/);
  });

  it('waits for the first available model with x-headworks-wait', async () => {
    const at = await gatewayWorld({
      providers: [
        { name: 'alpha', models: [{ name: 'a', script: [{ fault: 429, hint: 'retry-after', seconds: 1 }] }] },
      ],
    });
    const answer = await at.chat({}, { 'x-headworks-wait': '10' });
    expect(answer.status).toBe(200);
    expect(at.calls('a')).toBe(2);
  });
});

describe('streams', () => {
  it('fall back to another model before the first content', async () => {
    const at = await gatewayWorld({
      providers: [
        {
          name: 'alpha',
          models: [{ name: 'a', script: ['cut-early', 'error-event', 'empty', 'malformed', 'hang'] }],
        },
        { name: 'beta', models: [{ name: 'b', completion: 'all is well' }] },
      ],
      options: { firstTokenTimeoutSeconds: 4 },
    });
    for (let request = 0; request < 5; request++) {
      const answer = await at.chat({ model: 'alpha/a', stream: true });
      expect(answer.headers.get('x-headworks-model')).toBe('beta/b');
      expect(await answer.text()).toContain('[DONE]');
    }
    expect(at.calls('a')).toBe(5);
  });

  it('end with an error event when they are interrupted after that, and count as a failure', async () => {
    const at = await gatewayWorld({
      providers: [
        {
          name: 'alpha',
          models: [{ name: 'a', completion: 'one two three four five six', script: ['cut'] }],
        },
        { name: 'beta', models: [{ name: 'b' }] },
      ],
    });
    const answer = await at.chat({ model: 'alpha/a', stream: true });
    expect(answer.status).toBe(200);
    const text = await answer.text();
    expect(text).toContain('one');
    const last = text.trim().split('\n\n').at(-1)?.replace('data: ', '') ?? '';
    expect((JSON.parse(last) as ErrorBody).error.headworks_code).toBe('GATEWAY_STREAM_INTERRUPTED');
    expect(text).not.toContain('[DONE]');
    await expect.poll(async () => (await model(at, 'alpha/a')).request_count).toBe(1);
    expect((await model(at, 'alpha/a')).success_count).toBe(0);
  });

  it('run a thousand at once without mixing them up', { timeout: 300_000 }, async () => {
    const at = await gatewayWorld({
      providers: [{ name: 'alpha', models: [{ name: 'a', token_ms: 30 }] }],
      options: {
        connectTimeoutSeconds: 60,
        firstTokenTimeoutSeconds: 120,
        idleTimeoutSeconds: 120,
        requestTimeoutSeconds: 240,
      },
    });
    const send = async (number: number) => {
      const answer = await at.chat({
        stream: true,
        messages: [{ role: 'user', content: `I am number ${number} indeed` }],
      });
      const text = await answer.text();
      return [...text.matchAll(/"content":"([^"]*)"/g)].map(([, piece]) => piece).join('');
    };
    const answers = await Promise.all(Array.from({ length: 1_000 }, (_, number) => send(number)));
    expect(answers).toEqual(
      Array.from({ length: 1_000 }, (_, number) => `This is a. You said: I am number ${number} indeed`),
    );
  });
});

describe('a request', () => {
  it('is forwarded unchanged except for the model name', async () => {
    const at = await gatewayWorld({ providers: [{ name: 'alpha', models: [{ name: 'a' }] }] });
    const strange =
      '{ "x" : 1e2, "model":"auto" ,"messages":[{"role":"user","content":"h\\u00e9llo 😀"}],"seed":12345678901234567890}';
    const answer = await at.call('POST', '/v1/chat/completions', strange);
    expect(answer.status).toBe(200);
    expect(
      ((await answer.json()) as { choices: { message: { content: string } }[] }).choices[0]?.message.content,
    ).toContain('héllo 😀');
  });

  it.each([
    ['no JSON', '{"model"', 400],
    ['not an object', '[1]', 400],
    ['no messages', '{"model":"auto"}', 400],
    ['a model that is no text', '{"model":7,"messages":[{"role":"user","content":"x"}]}', 400],
    ['nesting without end', `{"messages":${'['.repeat(5_000)}${']'.repeat(5_000)}}`, 400],
    ['an unknown model', '{"model":"nope","messages":[{"role":"user","content":"x"}]}', 404],
  ])('is rejected when it is %s', async (_what, body, status) => {
    const at = await gatewayWorld({ providers: three });
    const answer = await at.call('POST', '/v1/chat/completions', body);
    expect(answer.status).toBe(status);
    const { error } = (await answer.json()) as ErrorBody;
    expect(error.type).toBe('invalid_request_error');
    expect(error.message.length).toBeGreaterThan(10);
    expect(three.reduce((sum, { name }) => sum + at.calls(`${name}-1`), 0)).toBe(0);
  });

  it('is rejected in the same format when it is too large or has another content type', async () => {
    const at = await gatewayWorld({ providers: three, options: { maxBodyBytes: 2_048 } });
    const large = await at.chat({ messages: [{ role: 'user', content: 'x'.repeat(3_000) }] });
    expect(large.status).toBe(413);
    expect(((await large.json()) as ErrorBody).error).toMatchObject({
      headworks_code: 'HTTP_BODY_TOO_LARGE',
      message: 'The request body is larger than 2 KiB. Send less at once, or raise gateway.maxBodyBytes.',
    });
    const typed = await at.call('POST', '/v1/chat/completions', 'model: auto', {
      'content-type': 'text/yaml',
    });
    expect(typed.status).toBe(415);
    const header = await at.chat({}, { 'x-headworks-timeout': 'soon' });
    expect(header.status).toBe(400);
    expect(((await header.json()) as ErrorBody).error.param).toBe('x-headworks-timeout');
  });

  it('may take as long as the deadline when no other model is left', async () => {
    const at = await gatewayWorld({
      providers: [
        { name: 'alpha', models: [{ name: 'a', script: [{ fault: 'slow', ms: 2_500, times: 9 }] }] },
      ],
      options: {
        responseTimeoutSeconds: 1,
        firstTokenTimeoutSeconds: 1,
        idleTimeoutSeconds: 1,
        maxRetries: 0,
      },
    });
    expect((await at.chat({}, { 'x-headworks-timeout': '2' })).status).toBe(503);
    for (const stream of [false, true])
      for (const headers of [undefined, { 'x-headworks-timeout': '600' }]) {
        const answer = await at.chat({ stream }, headers);
        expect(answer.status).toBe(200);
        await answer.text();
      }
  });

  it('uses the named models first, only them without fallback, and several separated by commas', async () => {
    const at = await gatewayWorld({ providers: three });
    const modelFor = async (name: string, headers: Record<string, string> = {}) =>
      (await at.chat({ model: name }, headers)).headers.get('x-headworks-model');
    expect(await modelFor('gamma/gamma-1')).toBe('gamma/gamma-1');
    expect(await modelFor('gamma-1')).toBe('gamma/gamma-1');
    at.simulator.script('gamma-1', [{ fault: '500' }]);
    expect(await modelFor('gamma/gamma-1,beta/beta-1')).toBe('beta/beta-1');
    at.simulator.script('gamma-1', [{ fault: '500', times: 10 }]);
    const alone = await at.chat({ model: 'gamma/gamma-1' }, { 'x-headworks-fallback': 'none' });
    expect(alone.status).toBe(503);
  });
});

describe('an alias', () => {
  it('is listed, and requests for it use its models', async () => {
    const at = await gatewayWorld({
      providers: three,
      options: {
        aliases: [
          { name: 'gpt-4o-mini', models: ['gamma/gamma-1', 'auto'] },
          { name: 'beta/beta-1', models: ['alpha/alpha-1'] },
          { name: 'lost', models: ['gone'] },
        ],
        modelOrder: ['beta/beta-1', 'missing'],
      },
    });
    const listed = (await (await at.call('GET', '/v1/models')).json()) as { data: { id: string }[] };
    expect(listed.data.map(({ id }) => id)).toEqual([
      'auto',
      'gpt-4o-mini',
      'beta/beta-1',
      'alpha/alpha-1',
      'gamma/gamma-1',
    ]);
    expect((await at.call('GET', '/v1/models/gpt-4o-mini')).status).toBe(200);
    const modelFor = async (name: string) =>
      (await at.chat({ model: name })).headers.get('x-headworks-model');
    expect(await modelFor('gpt-4o-mini')).toBe('gamma/gamma-1');
    expect(await modelFor('beta/beta-1')).toBe('alpha/alpha-1');
    expect(await modelFor('auto')).toBe('beta/beta-1');
    const lost = await at.chat({ model: 'lost' });
    expect(lost.status).toBe(404);
    expect(((await lost.json()) as ErrorBody).error.message).toContain('The alias "lost" stands for gone');
    const warned = at.events.filter(({ name }) => name === 'gateway:unknown-names');
    expect(warned.map(({ payload }) => payload)).toContainEqual({
      setting: 'gateway.aliases.lost',
      names: 'gone',
    });
    expect(warned.at(-1)?.payload).toMatchObject({ setting: 'gateway.modelOrder' });
    const explained = await at.call('GET', `/api/v1/models/${await idOf(at, 'gamma/gamma-1')}/explain`);
    expect(await explained.text()).toContain('The alias gpt-4o-mini refers to it.');
  });
});

describe('embeddings', () => {
  it('fall back only to providers of the same model', async () => {
    const embed = (name: string) => ({ name, kind: 'embeddings', dimensions: 8 });
    const at = await gatewayWorld({
      providers: [
        { name: 'alpha', models: [{ ...embed('shared'), faults: [{ fault: 500, probability: 1 }] }] },
        { name: 'beta', models: [embed('shared')] },
        { name: 'gamma', models: [embed('other')] },
      ],
      options: { maxRetries: 0 },
    });
    const send = (name: string) => at.call('POST', '/v1/embeddings', { model: name, input: 'one' });
    expect((await send('alpha/shared')).headers.get('x-headworks-model')).toBe('beta/shared');
    at.simulator.script('beta/shared', [{ fault: '500', times: 5 }]);
    expect((await send('shared')).status).toBe(503);
    expect(at.calls('other')).toBe(0);
    expect((await at.chat({ model: 'shared' })).status).toBe(400);
  });
});

describe('scores', () => {
  it("count each model's own time and failures, and can be explained", async () => {
    const at = await gatewayWorld({
      providers: [
        {
          name: 'alpha',
          models: [{ name: 'a', faults: [{ fault: 500, probability: 1 }], first_token_ms: 300 }],
        },
        { name: 'beta', models: [{ name: 'b' }] },
      ],
    });
    at.simulator.script('a', [{ fault: 'slow', ms: 10 }]);
    for (let request = 0; request < 4; request++) await at.chat({ model: 'alpha/a' });
    const [alpha, beta] = [await model(at, 'alpha/a'), await model(at, 'beta/b')];
    expect([alpha.request_count, alpha.success_count]).toEqual([4, 1]);
    expect([beta.request_count, beta.success_count]).toEqual([3, 3]);
    expect(beta.average_response_time).toBeLessThan(0.25);
    expect(beta.effective_reliability_score).toBeGreaterThan(alpha.effective_reliability_score);
    const explained = (await (await at.call('GET', `/api/v1/models/${alpha.id}/explain`)).json()) as {
      steps: string[];
      position: number;
      recent_attempts: { outcome: string }[];
    };
    expect(explained.steps.join(' ')).toContain('1 of 4 requests succeeded');
    expect(explained.position).toBe(2);
    expect(explained.recent_attempts.map(({ outcome }) => outcome)).toEqual([
      'server-error',
      'server-error',
      'server-error',
      'success',
    ]);
  });

  it('show a key only its own attempts', async () => {
    const at = await gatewayWorld({ providers: [{ name: 'alpha', models: [{ name: 'a' }] }] });
    const made = async (name: string) => at.gateway.keys.create({ name, expiresAt: null });
    const [one, other] = [await made('one'), await made('other')];
    for (const { key } of [one, other, other]) await at.chat({}, { authorization: `Bearer ${key}` });
    const path = `/api/v1/models/${await idOf(at, 'alpha/a')}/explain`;
    const callers = async (headers: Record<string, string> = {}) => {
      const explained = (await (await at.call('GET', path, undefined, headers)).json()) as {
        recent_attempts: { caller: string }[];
      };
      return explained.recent_attempts.map(({ caller }) => caller);
    };
    expect(await callers({ authorization: `Bearer ${one.key}` })).toEqual([`key:${one.record.id}`]);
    expect(await callers()).toHaveLength(3);
  });

  it('accept manual attempts and omit recent numbers unless requested', async () => {
    const at = await gatewayWorld({ providers: three });
    const id = await idOf(at, 'alpha/alpha-1');
    await at.call('POST', `/api/v1/models/${id}/increment-success?response_time=2`);
    await at.call('POST', `/api/v1/models/${id}/increment-failure?response_time=1`);
    const list = async (query: string) =>
      ((await (await at.call('GET', `/api/v1/models?${query}`)).json()) as ModelBody[]).find(
        (each) => each.id === id,
      );
    expect(await list('')).toMatchObject({
      request_count: 2,
      success_count: 1,
      recent_request_count: null,
      reliability_score: 0.62,
    });
    expect(await list('include_recent=true&window_days=3')).toMatchObject({ recent_request_count: 2 });
    await at.call('POST', `/api/v1/models/${id}/increment-success`);
    expect(await list('')).toMatchObject({ success_count: 2, average_response_time: 2 });
    expect((await at.call('POST', '/api/v1/models/999/increment-success')).status).toBe(404);
    expect((await at.call('GET', '/api/v1/models?window_days=0')).status).toBe(400);
    const count = async (query: string) =>
      ((await (await at.call('GET', `/api/v1/models?${query}`)).json()) as ModelBody[]).length;
    await at.call('PATCH', `/api/v1/models/${id}/active`, { is_active: false });
    expect([await count('active_only=True'), await count('active_only=False')]).toEqual([
      await count('active_only=true'),
      (await count('active_only=true')) + 1,
    ]);
  });
});

describe('models and keys', () => {
  it('are added once, disabled and enabled', async () => {
    const at = await gatewayWorld({ providers: three });
    const add = (body: object) => at.call('POST', '/api/v1/models', body);
    const own = { name: 'own', base_url: 'https://llm.example.com/v1', env_var: 'OWN_API_KEY' };
    expect((await add(own)).status).toBe(201);
    expect((await add(own)).status).toBe(409);
    for (const wrong of [
      { ...own, name: 'x', env_var: 'HEADWORKS_ADMIN_TOKEN' },
      { ...own, name: 'x', env_var: 'DATABASE_URL' },
      { ...own, name: 'x', base_url: 'file:///etc/passwd' },
      { ...own, name: 'x', base_url: 'https://user:pass@host/v1' },
      { ...own, name: 'a,b' },
      { ...own, name: 'x', color: 'red' },
    ])
      expect({ wrong, status: (await add(wrong)).status }).toEqual({ wrong, status: 400 });
    const id = await idOf(at, 'alpha/alpha-1');
    await at.call('PATCH', `/api/v1/models/${id}/active`, { is_active: false });
    const named = await at.chat({ model: 'alpha/alpha-1' });
    expect(named.headers.get('x-headworks-model')).not.toBe('alpha/alpha-1');
    await at.call('PATCH', `/api/v1/models/${id}/active`, { is_active: true });
    expect((await at.chat({ model: 'alpha/alpha-1' })).headers.get('x-headworks-model')).toBe(
      'alpha/alpha-1',
    );
  });

  it('are created, work until revoked or expired, and count tokens against a cap', async () => {
    const at = await gatewayWorld({ providers: three });
    const create = async (body: object) =>
      (await (await at.call('POST', '/api/v1/keys', body)).json()) as { id: string; key: string };
    const { id, key } = await create({ name: 'laptop' });
    const as = (credential: string) => at.chat({}, { authorization: `Bearer ${credential}` });
    expect((await as(key)).status).toBe(200);
    expect(JSON.stringify(await (await at.call('GET', '/api/v1/keys')).json())).not.toContain(key);
    const usage = (await (await at.call('GET', `/api/v1/usage?caller=key:${id}`)).json()) as {
      usage: { requests: number; prompt_tokens: number }[];
    };
    expect(usage.usage).toMatchObject([{ requests: 1 }]);
    expect(usage.usage[0]?.prompt_tokens).toBeGreaterThan(0);
    await at.call('DELETE', `/api/v1/keys/${id}`);
    const revoked = await as(key);
    expect(revoked.status).toBe(401);
    expect(((await revoked.json()) as ErrorBody).error.message).toMatch(/^This gateway key was revoked\./);
    expect(
      (await at.call('POST', '/api/v1/keys', { name: 'x', expires_at: '2020-01-01T00:00:00.000Z' })).status,
    ).toBe(400);

    const capped = await create({ name: 'capped', tokens_per_day: 5 });
    expect((await as(capped.key)).status).toBe(200);
    const over = await as(capped.key);
    expect(over.status).toBe(429);
    expect(((await over.json()) as ErrorBody).error).toMatchObject({
      code: 'insufficient_quota',
      headworks_code: 'GATEWAY_KEY_LIMIT_REACHED',
    });
    expect(Number(over.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('admit of a burst what a limit of tokens may allow, and nothing stays reserved', async () => {
    const at = await gatewayWorld({ providers: three });
    const created = await at.call('POST', '/api/v1/keys', { name: 'burst', tokens_per_day: 300 });
    const { id, key } = (await created.json()) as { id: string; key: string };
    const as = (body: object = {}) => at.chat(body, { authorization: `Bearer ${key}` });
    // Without usage: invalid, rejected by every model, and canceled.
    for (const model of ['alpha-1', 'beta-1', 'gamma-1'])
      at.simulator.script(model, [{ fault: '400', times: 5 }]);
    for (let index = 0; index < 5; index++) {
      expect((await as({ model: 'unknown' })).status).toBe(404);
      expect((await as()).status).toBe(400);
    }
    const statuses = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const response = await as({ stream: true });
        await response.text();
        return { status: response.status, retryAfter: response.headers.get('retry-after') };
      }),
    );
    const admitted = statuses.filter(({ status }) => status === 200);
    // Each reserves a tenth of the limit for its completion, and its prompt.
    expect(admitted.length).toBeGreaterThan(3);
    expect(admitted.length).toBeLessThan(15);
    expect(statuses).toContainEqual({ status: 429, retryAfter: '1' });
    // One more token: with anything still reserved, the next request would be rejected.
    const { keys } = (await (await at.call('GET', '/api/v1/keys')).json()) as {
      keys: { id: string; tokens_today: number }[];
    };
    const used = keys.find((each) => each.id === id)?.tokens_today ?? 0;
    await at.call('PATCH', `/api/v1/keys/${id}`, { tokens_per_day: used + 1 });
    expect((await as()).status).toBe(200);
    expect((await as()).status).toBe(429);
  });

  it('are probed within their limits with separate results', async () => {
    const at = await gatewayWorld({ providers: three });
    at.simulator.script('beta-1', [{ fault: '401' }]);
    const cooled = await idOf(at, 'gamma/gamma-1');
    await at.call('PATCH', `/api/v1/models/${cooled}/availability?retry_after_seconds=60`);
    const { probes } = (await (await at.call('POST', '/api/v1/models/probe', {})).json()) as {
      probes: { model: string; outcome: string }[];
    };
    expect(Object.fromEntries(probes.map(({ model: name, outcome }) => [name, outcome]))).toEqual({
      'alpha/alpha-1': 'success',
      'beta/beta-1': 'authentication',
      'gamma/gamma-1': 'skipped',
    });
    expect([at.calls('alpha-1'), at.calls('beta-1'), at.calls('gamma-1')]).toEqual([1, 1, 0]);
  });
});

describe('a prompt', () => {
  it('returns the response format of the founding document', async () => {
    const at = await gatewayWorld({ providers: three });
    at.simulator.script('alpha-1', [{ fault: '500' }]);
    const answer = await at.call('POST', '/api/v1/prompts/process', {
      prompt: 'hello',
      model_name: 'alpha/alpha-1',
      system_prompt: 'be kind',
      tags: ['x'],
    });
    expect(await answer.json()).toMatchObject({
      prompt: 'hello',
      response: 'This is beta-1. You said: hello',
      selected_model: 'beta/beta-1',
      provider: 'beta',
      success: true,
      attempts: 2,
      fallback_used: true,
    });
    expect((await at.call('POST', '/api/v1/prompts/process', { prompt: 'x'.repeat(10_001) })).status).toBe(
      400,
    );
    expect((await at.call('POST', '/api/v1/prompts/process', { prompt: '' })).status).toBe(400);
    const hasty = { 'x-headworks-timeout': '0.2', 'x-headworks-fallback': 'none' };
    at.simulator.script('alpha-1', [{ fault: 'hang' }]);
    const late = await at.call(
      'POST',
      '/api/v1/prompts/process',
      { prompt: 'hello', model_name: 'alpha/alpha-1' },
      hasty,
    );
    expect([late.status, await late.json()]).toMatchObject([
      503,
      { attempts: 1, models: [{ model: 'alpha/alpha-1', outcome: 'deadline-too-short' }] },
    ]);
    const wrong = { 'x-headworks-timeout': 'soon' };
    expect((await at.call('POST', '/api/v1/prompts/process', { prompt: 'hello' }, wrong)).status).toBe(400);
    const nulls = { model_name: null, system_prompt: null, response_format: null, tags: null };
    const plain = await at.call('POST', '/api/v1/prompts/process', { prompt: 'hello', ...nulls });
    expect([plain.status, await plain.json()]).toMatchObject([200, { success: true }]);
  });
});
