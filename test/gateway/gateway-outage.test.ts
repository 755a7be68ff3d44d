// A total outage of all providers, as operators see it: everywhere, at once, and over again without a restart (T3).
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import type { RunningServer } from '../../src/app/index.ts';
import { startServer } from '../../src/app/start.ts';
import { callAsAdmin, testConfig } from '../support/test-server.ts';

type Fault = 'broken' | 'refusing' | 'hanging' | 'unauthorized';
const faults: readonly Fault[] = ['broken', 'refusing', 'hanging', 'unauthorized'];

const completion = JSON.stringify({
  id: '1',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
});

/** An OpenAI-compatible server of the test's own, until `heal` with a fault. */
async function startProvider(fault: Fault) {
  let isHealthy = false;
  const provider = createServer((request, response) => {
    request.resume().on('end', () => {
      if (isHealthy) response.writeHead(200, { 'content-type': 'application/json' }).end(completion);
      else if (fault === 'broken') response.writeHead(500).end('{"error":{"message":"broken"}}');
      else if (fault === 'unauthorized') response.writeHead(401).end('{"error":{"message":"invalid key"}}');
    });
  });
  const port = await listen(provider);
  onTestFinished(() => provider.close().closeAllConnections());
  if (fault === 'refusing') await new Promise((done) => provider.close(done));
  const heal = async () => {
    isHealthy = true;
    if (!provider.listening) await listen(provider, port);
  };
  return { name: `acme/${fault}`, url: `http://127.0.0.1:${port}/v1`, heal };
}

async function listen(server: Server, port = 0): Promise<number> {
  await new Promise<void>((done) => server.listen(port, '127.0.0.1', done));
  return (server.address() as AddressInfo).port;
}

/** What each part of the product says about the models. */
async function statusOf(server: RunningServer) {
  const get = async <Body>(path: string) => (await callAsAdmin(server, 'GET', path)).body as Body;
  const models = await get<{ name: string; state: string; health: { success_rate: number | null } }[]>(
    '/api/v1/models?configured_only=true',
  );
  const { gateway } = await get<{ gateway: { available: number; failing: { name: string }[] } }>(
    '/api/v1/overview/flow',
  );
  const { alerts } = await get<{ alerts: { name: string; state: string; labels: { model?: string } }[] }>(
    '/api/v1/alerts',
  );
  const { entries } = await get<{ entries: { kind: string; subject: string }[] }>('/api/v1/ledger');
  const { checks } = await get<{ checks: { name: string; state: string }[] }>('/api/v1/doctor');
  const ready = await fetch(`${server.url}/readyz`);
  const { status, alerts: critical } = (await ready.json()) as { status: string; alerts: string[] };
  const checkOf = (name: string) => checks.find((check) => check.name === name)?.state;
  return {
    models: Object.fromEntries(models.map(({ name, state }) => [name, state])),
    rates: [...new Set(models.map(({ health }) => health.success_rate))],
    flow: { available: gateway.available, failing: gateway.failing.map(({ name }) => name).toSorted() },
    alerts: alerts
      .filter(({ name, state }) => state === 'firing' && /HeadworksModel(Failing|sUnavailable)/.test(name))
      .map(({ name, labels }) => (labels.model === undefined ? name : `${name} ${labels.model}`))
      .toSorted(),
    ledger: entries.map(({ kind, subject }) => `${kind} ${subject}`).toSorted(),
    doctor: { models: checkOf('models'), alerts: checkOf('alerts') },
    readyz: [ready.status, status, critical],
  };
}

it('is shown by models, flow, alerts, ledger, doctor and /readyz, and is over when the providers are back (T3)', async () => {
  const config = await testConfig({
    MAX_RETRIES: '2',
    RETRY_DELAY_SECONDS: '0',
    HEADWORKS_GATEWAY_RESPONSE_TIMEOUT_SECONDS: '3',
  });
  const server = await startServer(config, { role: 'serve', env: { ACME_API_KEY: 'sk-acme-000001' } });
  onTestFinished(() => server.stop());
  const providers = await Promise.all(faults.map(startProvider));
  for (const { name, url } of providers)
    await callAsAdmin(server, 'POST', '/api/v1/models', {
      name,
      provider: 'acme',
      base_url: url,
      env_var: 'ACME_API_KEY',
    });
  const prompt = async (model: string) =>
    (
      await callAsAdmin(server, 'POST', '/v1/chat/completions', {
        model,
        messages: [{ role: 'user', content: 'hi' }],
      })
    ).status;
  const status = expect.poll(() => statusOf(server), { timeout: 120_000, interval: 250 });

  expect(await prompt('auto')).toBe(503);
  const failing = ['acme/broken', 'acme/hanging', 'acme/refusing'];
  await status.toEqual({
    models: {
      'acme/broken': 'failing',
      'acme/hanging': 'failing',
      'acme/refusing': 'failing',
      'acme/unauthorized': 'cooling-down',
    },
    rates: [0],
    flow: { available: 0, failing },
    alerts: [...failing.map((name) => `HeadworksModelFailing ${name}`), 'HeadworksModelsUnavailable'],
    ledger: [
      'gateway.key-rejected acme/unauthorized',
      ...failing.map((name) => `gateway.model-failing ${name}`),
    ],
    doctor: { models: 'problem', alerts: 'problem' },
    readyz: [200, 'degraded', ['HeadworksModelsUnavailable']],
  });

  for (const { heal } of providers) await heal();
  for (const name of failing) for (let count = 0; count < 3; count++) expect(await prompt(name)).toBe(200);
  await expect
    .poll(() => statusOf(server), { timeout: 120_000, interval: 250 })
    .toMatchObject({
      models: { 'acme/broken': 'available', 'acme/hanging': 'available', 'acme/refusing': 'available' },
      flow: { available: 3, failing: [] },
      alerts: [],
      ledger: ['gateway.key-rejected acme/unauthorized'],
      doctor: { models: 'ok', alerts: 'ok' },
      readyz: [200, 'ready', []],
    });
});
