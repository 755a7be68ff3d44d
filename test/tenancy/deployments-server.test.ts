// Deployments in a complete server, on the real stores of both kinds: limits, slots, executions from request to result.
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { RunningServer } from '../../src/app/index.ts';
import { resolveConfig } from '../../src/config/index.ts';
import type { ModelsSimulator } from '../../src/simulators/models/simulator.ts';
import {
  addModels,
  addTenant,
  callDeployment,
  drainAtOnce,
  storeKinds,
  simulatedModels,
  startTenantServer,
  usageOf,
} from '../support/tenancy/tenant-server.ts';
import { callAsAdmin } from '../support/test-server.ts';

const slowly = { timeout: 60_000, interval: 50 };

describe.each(storeKinds)('%s', (_name, stores) => {
  let folder: string;
  let simulator: ModelsSimulator;
  let server: RunningServer;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headworks-test-'));
    simulator = await simulatedModels();
    const quiet = {
      HEADWORKS_WEBHOOK_SECRET: 'a-secret-for-webhooks',
      HEADWORKS_WEBHOOK_ALLOW_PRIVATE: 'true',
      HEADWORKS_LOG_LEVEL: 'silent',
      HEADWORKS_PORT: '0',
      HEADWORKS_DRAIN_SECONDS: '5',
    };
    server = await startTenantServer(
      resolveConfig({ flags: {}, cwd: folder, env: { ...quiet, ...drainAtOnce, ...stores() } }),
    );
    await addModels(server, simulator);
  });
  afterAll(async () => {
    await server.stop();
    await simulator.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('executes a request to its result, and isolates tenants', async () => {
    const acme = await addTenant(server, 'quick');
    const globex = await addTenant(server, 'quick');

    const { status, body } = await callDeployment(server, acme, { query: '?timeout=60' });
    expect([status, body.status, body.result]).toEqual([200, 'completed', { text: 'Yes.', model: 'quick' }]);
    const query = `?execution_id=${body.execution_id}`;
    for (const method of ['GET', 'DELETE']) {
      const atTheirs = { ...globex, path: acme.path };
      expect(await callDeployment(server, atTheirs, { method, query })).toMatchObject({ status: 404 });
      expect(await callDeployment(server, globex, { method, query })).toMatchObject({ status: 404 });
      expect(await callDeployment(server, acme, { method, query })).toMatchObject({
        status: 200,
        body: { status: 'completed', result: { text: 'Yes.' } },
      });
    }
    const otherOrganization = await callDeployment(server, { ...globex, path: acme.path });
    const unknown = await callDeployment(server, { ...globex, path: '/deployment/api/unknown/ask' });
    expect([otherOrganization.status, otherOrganization.body]).toEqual([404, unknown.body]);
    expect(await callDeployment(server, acme, { body: { wrong: 1 } })).toMatchObject({
      status: 400,
      body: { type: 'validation_error' },
    });
    expect(await usageOf(server, acme)).toEqual([0, 0]);

    const listed = await callAsAdmin(server, 'GET', `/api/v1/executions?organization=${acme.organizationId}`);
    expect(listed.body).toMatchObject({ executions: [{ id: body.execution_id, result: null }], next: null });
    const released = await callAsAdmin(server, 'POST', `/api/v1/executions/${body.execution_id}/release`);
    expect(released.body).toEqual({ id: body.execution_id, is_released: false });
  });

  it('accepts files, and rejects one with a wrong media type', async () => {
    const acme = await addTenant(server, 'quick');
    const send = async (bytes: string, type: string) => {
      const form = new FormData();
      form.append('files', new Blob([bytes], { type }), 'a.bin');
      form.append('what', 'it');
      form.append('timeout', '60');
      const answer = await fetch(server.url + acme.path, {
        method: 'POST',
        headers: { authorization: `Bearer ${acme.key}` },
        body: form,
      });
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    };
    expect(await send('A plain text.', 'text/plain')).toMatchObject({
      status: 200,
      body: { status: 'completed' },
    });
    expect(await send('A plain text.', 'application/pdf')).toMatchObject({
      status: 400,
      body: { type: 'validation_error' },
    });
    expect(await usageOf(server, acme)).toEqual([0, 0]);
  });

  it('admits exactly the limit of a burst; disconnects release nothing; canceling releases at once', async () => {
    const acme = await addTenant(server, 'never');
    const leaving = new AbortController();
    const calls = Array.from({ length: 100 }, (_, index) =>
      index % 4 === 0
        ? callDeployment(server, acme, { query: '?timeout=300', signal: leaving.signal })
        : callDeployment(server, acme),
    );
    await Promise.all(calls.filter((_, index) => index % 4 !== 0));
    await expect.poll(() => usageOf(server, acme), slowly).toEqual([20, 20]);
    leaving.abort();
    const settled = await Promise.allSettled(calls);
    const answered = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    const admitted = answered.filter(({ status }) => status === 200).length;
    expect(answered.length - admitted).toBe(80);
    expect(admitted + settled.length - answered.length).toBe(20);
    const rejected = answered.find(({ status }) => status === 429);
    expect(rejected?.body).toEqual({
      type: 'client_error',
      errors: [
        {
          code: 'error',
          detail:
            'Organization has reached the maximum concurrent API requests limit (20/20). Please try again later.',
          attr: null,
        },
      ],
    });
    expect(Number(rejected?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(await usageOf(server, acme)).toEqual([20, 20]);

    const { body } = await callAsAdmin(server, 'GET', '/api/v1/executions?state=queued,running');
    const { executions } = body as { executions: { id: string }[] };
    expect(executions).toHaveLength(20);
    for (const { id } of executions)
      expect(await callAsAdmin(server, 'POST', `/api/v1/executions/${id}/cancel`)).toMatchObject({
        status: 200,
      });
    await expect.poll(() => usageOf(server, acme), slowly).toEqual([0, 0]);
    expect(await callDeployment(server, acme)).toMatchObject({ status: 200 });
    await stopAll();
  });

  it('sends a signed webhook for each ended execution', async () => {
    const received = Promise.withResolvers<{
      readonly headers: IncomingHttpHeaders;
      readonly body: string;
    }>();
    const receiver = createServer((request, response) => {
      received.resolve(text(request).then((body) => ({ headers: request.headers, body })));
      void received.promise.finally(() => response.end());
    });
    receiver.listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    onTestFinished(() => void receiver.close());
    const { port } = receiver.address() as AddressInfo;
    const acme = await addTenant(server, 'quick', { webhook_url: `http://127.0.0.1:${port}/hook` });
    const { body } = await callDeployment(server, acme, { query: '?timeout=60' });
    const { headers, body: message } = await received.promise;
    expect(JSON.parse(message)).toMatchObject({
      type: 'execution.completed',
      data: { execution_id: body.execution_id, result: { text: 'Yes.' } },
    });
    const listed = await callAsAdmin(
      server,
      'GET',
      `/api/v1/deployments?organization=${acme.organizationId}`,
    );
    const [{ id }] = (listed.body as { deployments: [{ id: string }] }).deployments;
    const shown = await callAsAdmin(server, 'GET', `/api/v1/deployments/${id}`);
    const { webhook_secret: secret } = shown.body as { webhook_secret: string };
    const signed = `${headers['webhook-id'] as string}.${headers['webhook-timestamp'] as string}.${message}`;
    const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
    expect(headers['webhook-signature']).toBe(
      `v1,${createHmac('sha256', key).update(signed).digest('base64')}`,
    );
  });

  it('waits for a slot as long as requested', async () => {
    const acme = await addTenant(server, 'soon');
    await callAsAdmin(server, 'PUT', `/api/v1/limits/${acme.organizationId}`, { limit: 1 });
    const first = callDeployment(server, acme, { query: '?timeout=60' });
    await expect.poll(() => usageOf(server, acme), slowly).toEqual([1, 1]);
    const second = callDeployment(server, acme, { query: '?wait=30&timeout=60' });
    expect(await callDeployment(server, acme, { query: '?wait=0.1' })).toMatchObject({ status: 429 });
    expect((await first).body.status).toBe('completed');
    expect((await second).body.status).toBe('completed');
    expect(await usageOf(server, acme)).toEqual([0, 0]);
  });

  it('limits only deployments: prompts, commands and background jobs take no slot', async () => {
    onTestFinished(stopAll);
    const acme = await addTenant(server, 'never');
    await callAsAdmin(server, 'PUT', `/api/v1/limits/${acme.organizationId}`, { limit: 1 });
    await callDeployment(server, acme);
    expect(await callDeployment(server, acme)).toMatchObject({ status: 429 });
    const prompt = { prompt: 'Is it so?', model_name: 'quick' };
    const requests = Array.from({ length: 30 }, () =>
      callAsAdmin(server, 'POST', '/api/v1/prompts/process', prompt),
    );
    for (const answer of await Promise.all(requests)) expect(answer).toMatchObject({ status: 200 });
    const { body } = await callAsAdmin(server, 'POST', '/api/v1/ledger/repair', {});
    const job = `/api/v1/jobs/${(body as { job_id: string }).job_id}`;
    await expect
      .poll(async () => (await callAsAdmin(server, 'GET', job)).body, slowly)
      .toMatchObject({ state: 'skipped', reason: expect.any(String) as string });
    expect(await usageOf(server, acme)).toEqual([1, 1]);
  });

  /** Last: the server is stopped. */
  it('returns the current state to waiting requests when the server stops', async () => {
    const acme = await addTenant(server, 'never');
    const waiting = callDeployment(server, acme, { query: '?timeout=300' });
    await expect
      .poll(async () => (await callAsAdmin(server, 'GET', '/api/v1/executions?state=running')).body, slowly)
      .toMatchObject({ executions: [{ organization_id: acme.organizationId }] });
    await server.stop();
    expect(await waiting).toMatchObject({ status: 200, body: { status: 'running' } });
  });

  async function stopAll(): Promise<void> {
    const { body } = await callAsAdmin(server, 'GET', '/api/v1/executions?state=queued,running');
    for (const { id } of (body as { executions: { id: string }[] }).executions)
      await callAsAdmin(server, 'POST', `/api/v1/executions/${id}/cancel`);
  }
});
