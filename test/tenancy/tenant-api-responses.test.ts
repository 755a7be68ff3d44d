// Responses and webhooks for organizations: complete, without internals.
import { describe, expect, it, vi } from 'vitest';
import type { HttpResponse, HttpRequest } from '../../src/core/index.ts';
import { CoreError, onAbort } from '../../src/core/index.ts';
import { GatewayError } from '../../src/gateway/index.ts';
import { drain } from '../../src/http/index.ts';
import {
  asAcme,
  deploymentPath,
  tenantApiWorld,
  otherKey,
  rawHead,
} from '../support/tenancy/tenant-api-world.ts';
import { CountedSlots, exampleDeployment, other } from '../support/tenancy/execution-world.ts';

const json = { ...asAcme, 'content-type': 'application/json' };
const soon = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 60_000, interval: 5 });
const withoutKey = () =>
  new GatewayError(
    'GATEWAY_NOT_CONFIGURED',
    'No model is available: office/clerk is disabled. Enable one with "headworks models enable NAME".',
  );

describe('a failure of the gateway', () => {
  it('has a neutral message in responses and webhooks; the execution keeps the details', async () => {
    const sent: HttpRequest[] = [];
    const world = await tenantApiWorld({
      deployments: [exampleDeployment({ webhookUrl: 'https://receiver.example/hook' })],
      run: () => Promise.reject(withoutKey()),
      transport: {
        request: async (request) => {
          sent.push(request);
          return { status: 204, headers: {}, discard: async () => undefined } as unknown as HttpResponse;
        },
        close: async () => undefined,
      },
    });
    await world.work();
    const { body } = await world.call('POST', `${deploymentPath}?timeout=10`, { headers: json, body: '{}' });
    await world.clock.advance(0);
    const error = {
      code: 'GATEWAY_NOT_CONFIGURED',
      message:
        'This could not be completed, and trying again does not help. Please contact the provider of this API.',
    };
    expect(body).toMatchObject({ status: 'failed', error });
    expect(sent.map(({ body: text }) => JSON.parse(String(text)) as unknown)).toMatchObject([
      { data: { error } },
    ]);
    expect(JSON.stringify([body, sent])).not.toMatch(/clerk|headworks models/);
    expect(await world.executions.get(body.execution_id)).toMatchObject({
      failure: { message: expect.stringContaining('office/clerk') as string },
    });
  });

  it('of one document of several has a neutral message in the result as well', async () => {
    const message = 'office/clerk refuses the request.';
    const world = await tenantApiWorld({
      run: async () => [
        { file: 'a.txt', status: 'completed', output: { error: 'theirs' }, error: null },
        {
          file: 'b.txt',
          error: { code: 'GATEWAY_REQUEST_REJECTED', message, tenantMessage: 'Please change it.' },
        },
      ],
    });
    await world.work();
    const { body } = await world.call('POST', `${deploymentPath}?timeout=10`, { headers: json, body: '{}' });
    expect(body.result).toEqual([
      { file: 'a.txt', status: 'completed', output: { error: 'theirs' }, error: null },
      { file: 'b.txt', error: { code: 'GATEWAY_REQUEST_REJECTED', message: 'Please change it.' } },
    ]);
    expect(await world.executions.get(body.execution_id)).toMatchObject({
      result: [{}, { error: { message } }],
    });
  });
});

it('status_api stays valid when organization and deployment are renamed', async () => {
  const world = await tenantApiWorld();
  const { body } = await world.call('POST', deploymentPath, { headers: json, body: '{}' });
  const [deployment] = world.deployments;
  expect(body.status_api).toBe(
    `/deployment/api/${deployment?.organizationId}/${deployment?.id}?execution_id=${body.execution_id}`,
  );
  world.deployments[0] = exampleDeployment({ name: 'bills' });
  expect(await world.call('GET', deploymentPath)).toMatchObject({ status: 400 });
  expect(await world.call('GET', body.status_api)).toMatchObject({ status: 200, body: { status: 'queued' } });
  const otherOrganization = { headers: { authorization: `Bearer ${otherKey}` } };
  expect(await world.call('GET', body.status_api, otherOrganization)).toMatchObject({ status: 404 });
});

it('a request without a valid key gets one sentence, without commands', async () => {
  const world = await tenantApiWorld();
  const rejected: Record<string, string>[] = [
    {},
    { authorization: 'Basic abc' },
    { authorization: 'Bearer hwo_unknown' },
  ];
  const answers = await Promise.all(
    rejected.map((headers) => world.call('POST', deploymentPath, { headers })),
  );
  expect(answers.map(({ status }) => status)).toEqual([401, 401, 401]);
  expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
  const gateway = { authorization: 'Bearer hwk_test-gateway-key-0123456789' };
  const wrongKind = await world.call('POST', deploymentPath, { headers: gateway });
  expect(JSON.stringify([...answers, wrongKind])).not.toContain('headworks ');
});

it('an unknown host is rejected in the same shape, without settings', async () => {
  const world = await tenantApiWorld();
  const head = rawHead(2).replace('host: 127.0.0.1', 'host: rebound.example');
  const { received } = world.socket(`${head}{}`);
  await soon(() => expect(received()).toContain('HTTP/1.1 421'));
  await soon(() => expect(received()).toContain('"code":"http_host_not_allowed"'));
  expect(received()).not.toContain('HEADWORKS_');
});

describe('a timeout', () => {
  it('may be in the query and in the body, if it is the same', async () => {
    const world = await tenantApiWorld();
    const call = (query: string, body: string) =>
      world.call('POST', `${deploymentPath}?timeout=${query}`, { headers: json, body });
    expect(await call('0', '{"timeout": 0}')).toMatchObject({ status: 200 });
    expect(await call('0', '{"timeout": "0"}')).toMatchObject({ status: 200 });
    expect(await call('5', '{"timeout": 7}')).toMatchObject({
      status: 400,
      body: {
        errors: [{ detail: '"timeout" is 7 in the body and 5 in the query; send it once.', attr: 'timeout' }],
      },
    });
    expect(world.slots.held.size).toBe(2);
  });
});

it.each([
  ['no id of an execution', '', 'is missing'],
  ['one that is none', '?execution_id=1', /^must be an id, like 0195a1b2-/],
])('%s has a readable message', async (_what, query, detail) => {
  const world = await tenantApiWorld();
  const { body } = await world.call('GET', deploymentPath + query);
  expect(body.errors).toEqual([
    { code: 'invalid', detail: expect.stringMatching(detail) as string, attr: 'execution_id' },
  ]);
});

describe('an idempotency key', () => {
  it('belongs to a deployment: in another one it is another key', async () => {
    const id = (last: string) => `0195a1b2-0000-7000-8000-00000000000${last}`;
    const world = await tenantApiWorld({
      deployments: [
        exampleDeployment({ id: id('a') }),
        exampleDeployment({ id: id('b'), name: 'second' }),
        exampleDeployment({ id: id('c'), organizationId: other }),
      ],
    });
    const call = async (path: string, headers = json) =>
      (await world.call('POST', path, { headers: { ...headers, 'idempotency-key': 'k' }, body: '{}' })).body
        .execution_id;
    const ids = [
      await call(deploymentPath),
      await call('/deployment/api/acme/second'),
      await call('/deployment/api/other/invoices', { ...json, authorization: `Bearer ${otherKey}` as never }),
    ];
    expect(new Set(ids).size).toBe(3);
    expect(await call(deploymentPath)).toBe(ids[0]);
  });

  it('is valid for as long as its execution is kept', async () => {
    const world = await tenantApiWorld();
    const headers = { ...json, 'idempotency-key': 'k' };
    const call = async () =>
      (await world.call('POST', deploymentPath, { headers, body: '{}' })).body.execution_id;
    const first = await call();
    await world.executions.cancel(first);
    expect(await call()).toBe(first);
    await world.store.purge(new Date(world.clock.now() + 1), 10);
    expect(await call()).not.toBe(first);
  });
});

describe('uploads', () => {
  it('are bounded in memory: 503 with Retry-After, no slot held, accepted again later', async () => {
    const world = await tenantApiWorld({ options: { maxBodyBytes: 10_000, maxUploadMemoryBytes: 10_000 } });
    const { socket, received } = world.socket(`${rawHead(9_000)}{"a":"${'x'.repeat(8_000)}`);
    await soon(() => expect(world.slots.held.size).toBe(1));
    const call = () =>
      world.call('POST', deploymentPath, { headers: json, body: `{"a":"${'x'.repeat(5_000)}"}` });
    await soon(async () => expect((await call()).status).toBe(503));
    const { headers, body } = await call();
    expect([headers.get('retry-after'), body.errors[0]?.code]).toEqual(['2', 'deployment_uploads_full']);
    await soon(() => expect(world.slots.renewedHere.size).toBe(1));
    const before = await world.store.unfinished();
    socket.write(`${'x'.repeat(992)}"}`);
    await soon(() => expect(received()).toContain('HTTP/1.1 200'));
    expect(await call()).toMatchObject({ status: 200 });
    expect(await world.store.unfinished()).toHaveLength(before.length + 2);
  });
});

it('a request queued for a slot is rejected at once when the server stops', async () => {
  const slots = new CountedSlots(0);
  slots.acquire = ({ signal }) =>
    new Promise((_, reject) => void onAbort(signal, () => reject(new CoreError('CANCELED', 'left'))));
  const world = await tenantApiWorld({ slots });
  const waiting = world.call('POST', `${deploymentPath}?wait=60`, { headers: json, body: '{}' });
  await soon(() => expect(world.server.traffic.inFlight).toBe(1));
  await drain(world.server, 60_000);
  const { status, headers, body } = await waiting;
  expect([status, headers.get('retry-after'), body.errors[0]?.code]).toEqual([503, '2', 'shutting_down']);
});
