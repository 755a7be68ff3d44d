// The gateway in whole servers on a real Postgres: several servers, restarts, outages.
import { expect, it, onTestFinished } from 'vitest';
import { startServer } from '../../src/app/start.ts';
import type { RunningServer } from '../../src/app/index.ts';
import type { Config } from '../../src/config/index.ts';
import type { ModelsSimulator } from '../../src/simulators/models/simulator.ts';
import { readScenario } from '../../src/simulators/models/scenario.ts';
import { startModelsSimulator } from '../../src/simulators/models/simulator.ts';
import { startPrivatePostgres } from '../support/private-servers.ts';
import { redisUrl, uniqueName } from '../support/services.ts';
import { callAsAdmin, testConfig } from '../support/test-server.ts';

const keys = { ALPHA_API_KEY: 'sk-alpha-secret-1', BETA_API_KEY: 'sk-beta-secret-2' };

async function simulated(models: Readonly<Record<string, object>> = {}): Promise<ModelsSimulator> {
  const simulator = await startModelsSimulator({
    scenario: readScenario({
      providers: ['alpha', 'beta'].map((name) => ({ name, models: [{ name, ...models[name] }] })),
    }),
  });
  onTestFinished(() => simulator.stop());
  return simulator;
}

async function start(config: Config): Promise<RunningServer> {
  const server = await startServer(config, { role: 'serve', env: keys });
  onTestFinished(() => server.stop());
  return server;
}

async function addModels(server: RunningServer, simulator: ModelsSimulator): Promise<void> {
  for (const name of ['alpha', 'beta']) {
    const body = { name, base_url: simulator.baseUrl(name), env_var: `${name.toUpperCase()}_API_KEY` };
    expect((await callAsAdmin(server, 'POST', '/api/v1/models', body)).status).toBe(201);
  }
}

const chat = (server: RunningServer, model = 'auto') =>
  callAsAdmin(server, 'POST', '/v1/chat/completions', {
    model,
    messages: [{ role: 'user', content: 'hello' }],
  });

interface Seen {
  readonly id: number;
  readonly name: string;
  readonly available_at: string | null;
  readonly request_count: number;
}

async function seen(server: RunningServer, name: string): Promise<Seen | undefined> {
  const { body } = await callAsAdmin(server, 'GET', '/api/v1/models');
  return (body as readonly Seen[]).find((model) => model.name === name);
}

const shared = (more: Readonly<Record<string, string>> = {}) =>
  ({
    HEADWORKS_DATABASE_SCHEMA: uniqueName('gateway'),
    // Two servers on one database need it.
    REDIS_URL: redisUrl(),
    HEADWORKS_REDIS_KEY_PREFIX: `${uniqueName('gateway')}:`,
    ...more,
  }) as const;

it('shares cooldowns, models and keys between servers within a second, and keeps them over a restart', async () => {
  const limited = { script: [{ fault: 429, hint: 'groq-prose', seconds: 300 }] };
  const simulator = await simulated({ alpha: limited });
  const env = shared();
  const one = await start(await testConfig(env));
  const two = await start(await testConfig(env));
  await addModels(one, simulator);
  await expect.poll(async () => (await seen(two, 'alpha'))?.name).toBe('alpha');

  expect((await chat(one, 'alpha')).headers.get('x-headworks-model')).toBe('beta');
  await expect.poll(async () => (await seen(two, 'alpha'))?.available_at).not.toBeNull();
  expect((await chat(two, 'alpha')).headers.get('x-headworks-model')).toBe('beta');
  expect(simulator.stats().models['alpha']?.calls).toBe(1);

  const made = await callAsAdmin(one, 'POST', '/api/v1/keys', { name: 'shared' });
  const { id, key } = made.body as { id: string; key: string };
  const asKey = async () =>
    (await fetch(`${two.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status;
  await expect.poll(asKey).toBe(200);
  await callAsAdmin(one, 'DELETE', `/api/v1/keys/${id}`);
  await expect.poll(asKey).toBe(401);

  await one.stop();
  await two.stop();
  const three = await start(await testConfig(env));
  const alpha = await seen(three, 'alpha');
  expect(alpha?.available_at).toEqual(expect.any(String));
  expect((await seen(three, 'beta'))?.request_count).toBe(2);
  const warmed = await callAsAdmin(
    three,
    'PATCH',
    `/api/v1/models/${alpha?.id}/availability?retry_after_seconds=0`,
  );
  expect((warmed.body as Seen).available_at).toBeNull();
  expect((await chat(three, 'alpha')).headers.get('x-headworks-model')).toBe('alpha');
});

it('responds from memory while Postgres is unavailable, and stores attempts later', async () => {
  const postgres = await startPrivatePostgres();
  const simulator = await simulated();
  const env = shared({ DATABASE_URL: postgres.url });
  const server = await start(await testConfig(env));
  await addModels(server, simulator);
  const made = await callAsAdmin(server, 'POST', '/api/v1/keys', { name: 'outage' });
  const { key } = made.body as { key: string };
  await postgres.kill();
  simulator.script('alpha', [{ fault: '429', hint: 'retry-after', seconds: 600 }]);
  const asKey = () =>
    fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'alpha', messages: [{ role: 'user', content: 'hello' }] }),
    });
  for (let request = 0; request < 5; request++)
    expect((await asKey()).headers.get('x-headworks-model')).toBe('beta');
  expect(simulator.stats().models['alpha']?.calls).toBe(1);

  await postgres.restart();
  await expect
    .poll(
      async () => {
        const answer = await callAsAdmin(server, 'GET', '/api/v1/usage');
        return answer.status === 200 ? (answer.body as { usage: { requests: number }[] }).usage : [];
      },
      { timeout: 60_000 },
    )
    .toMatchObject([{ model: 'beta', requests: 5 }]);
  await server.stop();
  const again = await start(await testConfig(env));
  expect((await seen(again, 'alpha'))?.available_at).toEqual(expect.any(String));
});

it('applies a change at once and responds soon when Postgres accepts it but never responds', async () => {
  const postgres = await startPrivatePostgres();
  const simulator = await simulated();
  const env = shared({ DATABASE_URL: postgres.url });
  const server = await start(await testConfig(env));
  await addModels(server, simulator);
  const { id } = (await seen(server, 'alpha')) ?? { id: 0 };
  const path = (seconds: number) => `/api/v1/models/${id}/availability?retry_after_seconds=${seconds}`;
  expect((await callAsAdmin(server, 'PATCH', path(60))).status).toBe(200);
  const spare = { name: 'spare', base_url: simulator.baseUrl('beta') };
  const made = await callAsAdmin(server, 'POST', '/api/v1/models', spare);
  const { id: spareId } = made.body as Seen;
  postgres.pause();
  onTestFinished(() => postgres.resume());
  for (const [seconds, isCooling] of [
    [0, false],
    [600, true],
  ] as const) {
    const startedAt = performance.now();
    const answer = callAsAdmin(server, 'PATCH', path(seconds));
    // Long before the store responds.
    await expect
      .poll(async () => ((await seen(server, 'alpha'))?.available_at ?? null) !== null, { interval: 20 })
      .toBe(isCooling);
    const { status, body } = await answer;
    // One second for the store, two more for the audit row; a statement would time out after half a minute.
    expect(performance.now() - startedAt).toBeLessThan(25_000);
    expect(status).toBe(503);
    expect((body as { error: object }).error).toMatchObject({
      code: 'STATE_UNAVAILABLE',
      message: expect.stringMatching(/^In effect in this process, but/) as string,
    });
  }
  const startedAt = performance.now();
  const changes = [
    callAsAdmin(server, 'POST', '/api/v1/models', { ...spare, name: 'another' }),
    callAsAdmin(server, 'PUT', `/api/v1/models/${spareId}`, spare),
    callAsAdmin(server, 'PATCH', `/api/v1/models/${spareId}/active`, { is_active: true }),
    callAsAdmin(server, 'DELETE', `/api/v1/models/${spareId}`),
    callAsAdmin(server, 'POST', '/api/v1/keys', { name: 'late' }),
    callAsAdmin(server, 'GET', `/api/v1/models/${id}/explain`),
  ];
  expect((await chat(server, 'alpha')).headers.get('x-headworks-model')).toBe('beta');
  for (const { status, body } of await Promise.all(changes)) {
    expect(status).toBe(503);
    expect((body as { error: object }).error).toMatchObject({ code: 'STATE_UNAVAILABLE' });
  }
  // Three seconds for the store, two for the audit row.
  expect(performance.now() - startedAt).toBeLessThan(25_000);

  postgres.resume();
  const again = await start(await testConfig(env));
  const until = (await seen(server, 'alpha'))?.available_at;
  await expect.poll(async () => (await seen(again, 'alpha'))?.available_at, { timeout: 60_000 }).toBe(until);
});

it('reports to the doctor in which variables the keys were found', async () => {
  const config = await testConfig(shared());
  const server = await startServer(config, { role: 'serve', env: { ...keys, GITHUB_TOKEN: 'ghp_of-ci' } });
  onTestFinished(() => server.stop());
  await addModels(server, await simulated());
  const { body } = await callAsAdmin(server, 'GET', '/api/v1/doctor');
  const { checks } = body as { checks: readonly { name: string; state: string; detail: string }[] };
  const models = checks.find(({ name }) => name === 'models');
  expect(models?.state).toBe('ok');
  expect(models?.detail).toContain('github/openai/gpt-4o-mini (GITHUB_TOKEN)');
  expect(models?.detail).toContain('alpha (ALPHA_API_KEY)');
});

it('probes on schedule in one of several servers, without models that are cooling down', async () => {
  const simulator = await simulated();
  const env = shared({ HEALTH_CHECK_INTERVAL: '2' });
  const one = await start(await testConfig(env));
  await start(await testConfig(env));
  const startedAt = performance.now();
  await addModels(one, simulator);
  const { id } = (await seen(one, 'beta')) ?? { id: 0 };
  await callAsAdmin(one, 'PATCH', `/api/v1/models/${id}/availability?retry_after_seconds=600`);
  const calls = (model: string) => simulator.stats().models[model]?.calls ?? 0;
  // A round that had begun before the cooldown ends with this one.
  const earlier = calls('alpha');
  await expect.poll(() => calls('alpha')).toBeGreaterThan(earlier + 1);
  const ofBeta = calls('beta');
  await expect.poll(() => calls('alpha')).toBeGreaterThan(earlier + 2);
  const rounds = (performance.now() - startedAt) / 2_000;
  expect(calls('alpha')).toBeLessThanOrEqual(Math.ceil(rounds) + 1);
  expect(calls('beta')).toBe(ofBeta);
});

it('reads models from the configuration file and never shows a key', async () => {
  const simulator = await simulated({ alpha: { script: [401] } });
  const config = await testConfig(shared());
  const server = await start({
    ...config,
    gateway: {
      ...config.gateway,
      models: [
        {
          name: 'mine',
          provider: 'alpha',
          baseUrl: simulator.baseUrl('alpha'),
          apis: ['chat' as const],
          keyHeader: 'authorization' as const,
          upstreamModel: 'alpha',
          envVar: 'ALPHA_API_KEY',
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
        },
      ],
    },
  });
  const refused = await chat(server, 'mine');
  expect(refused.status).toBe(503);
  const places = [
    '/api/v1/models',
    '/api/v1/config',
    '/api/v1/doctor',
    '/metrics',
    '/api/v1/audit',
    '/api/v1/keys',
  ];
  for (const path of places) {
    const answer = await fetch(server.url + path, {
      headers: { authorization: `Bearer ${server.adminToken}` },
    });
    expect({ path, text: await answer.text() }).not.toMatchObject({
      text: expect.stringContaining('sk-alpha-secret') as string,
    });
  }
  expect((await seen(server, 'mine'))?.available_at).toEqual(expect.any(String));
});
