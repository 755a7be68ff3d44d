// Traces as a collector receives them: OTLP over HTTP, from a complete server.
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startServer } from '../../src/app/start.ts';
import { simulatedModels } from '../support/tenancy/tenant-server.ts';
import { callAsAdmin, testConfig } from '../support/test-server.ts';

interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code?: number };
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
}

interface Sent {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: SentSpan['attributes'] };
    readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[];
  }[];
}

async function collector() {
  const bodies: Sent[] = [];
  const headers: unknown[] = [];
  const server = createServer((request, response) => {
    headers.push({ path: request.url, key: request.headers['api-key'] });
    void (async () => {
      bodies.push((await json(request)) as Sent);
      response.setHeader('content-type', 'application/json').end('{}');
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    headers,
    text: () => JSON.stringify(bodies),
    resources: () =>
      bodies.flatMap(({ resourceSpans }) =>
        resourceSpans.map(({ resource }) => factsOf(resource.attributes)),
      ),
    spans: () =>
      bodies.flatMap(({ resourceSpans }) =>
        resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
      ),
  };
}

const factsOf = (attributes: SentSpan['attributes']) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

const traceId = '0af7651916cd43dd8448eb211c80319c';
const callersSpan = 'b7ad6b7169203331';

describe('traces', () => {
  it('show a request, its attempts at models and jobs, and nothing of their content', async () => {
    const to = await collector();
    const models = await simulatedModels();
    onTestFinished(() => models.stop());
    const server = await startServer(
      await testConfig({
        OTEL_EXPORTER_OTLP_ENDPOINT: `${to.url}/`,
        OTEL_EXPORTER_OTLP_HEADERS: 'api-key=s%20cret',
        OTEL_SERVICE_NAME: 'test-server',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test',
      }),
      { role: 'serve', env: { MODEL_API_KEY: 'sk-model' } },
    );
    const price = { input_per_million: 1, output_per_million: 2 };
    const body = {
      name: 'quick',
      base_url: models.baseUrl('quick'),
      env_var: 'MODEL_API_KEY',
      provider: 'mistral',
      price,
    };
    await callAsAdmin(server, 'POST', '/api/v1/models', body);
    const response = await fetch(`${server.url}/v1/chat/completions?secret=in-the-query`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${server.adminToken}`,
        'content-type': 'application/json',
        traceparent: `00-${traceId}-${callersSpan}-01`,
      },
      body: JSON.stringify({ model: 'quick', messages: [{ role: 'user', content: 'a private question' }] }),
    });
    expect(response.status).toBe(200);
    const messages = [{ role: 'user', content: 'another private question' }];
    const chat = (model: string, stream: boolean) =>
      fetch(`${server.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model, messages, stream }),
      });
    await (await chat('quick,auto', true)).text();
    expect((await chat('no/such', false)).status).toBe(404);
    const repair = (await callAsAdmin(server, 'POST', '/api/v1/ledger/repair', {})).body as {
      job_id: string;
    };
    await expect
      .poll(async () => (await callAsAdmin(server, 'GET', `/api/v1/jobs/${repair.job_id}`)).body)
      .toMatchObject({ state: 'skipped' });
    const question = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'status', arguments: {} },
    };
    const tool = await fetch(`${server.url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${server.adminToken}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify(question),
    });
    expect(tool.status).toBe(200);
    await server.stop();

    const spans = to.spans();
    const request = spans.find((span) => span.name === 'POST /v1/chat/completions');
    expect(request).toMatchObject({ traceId, parentSpanId: callersSpan });
    expect(factsOf(request?.attributes ?? [])).toMatchObject({
      'http.route': '/v1/chat/completions',
      'http.response.status_code': 200,
    });
    const completion = spans.find(({ parentSpanId }) => parentSpanId === request?.spanId);
    expect(completion).toMatchObject({ traceId, name: 'chat quick' });
    const usage = {
      'gen_ai.usage.input_tokens': expect.any(Number) as number,
      'gen_ai.usage.output_tokens': expect.any(Number) as number,
      'headworks.cost_usd': expect.any(Number) as number,
    };
    expect(factsOf(completion?.attributes ?? [])).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'mistral_ai',
      'gen_ai.request.model': 'quick',
      'gen_ai.response.model': 'quick',
      'gen_ai.response.finish_reasons': { values: [{ stringValue: 'stop' }] },
      'headworks.request_id': response.headers.get('x-request-id'),
      'headworks.attempts': 1,
      ...usage,
    });
    const attempt = spans.find(({ parentSpanId }) => parentSpanId === completion?.spanId);
    const client = 3;
    expect(attempt).toMatchObject({ traceId, name: 'chat quick', kind: client });
    expect(factsOf(attempt?.attributes ?? [])).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'mistral_ai',
      'gen_ai.request.model': 'quick',
      'gen_ai.response.model': 'quick',
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(models.baseUrl('quick')).port),
      'http.response.status_code': 200,
      'headworks.model': 'quick',
      ...usage,
    });
    const streamed = spans.filter(({ name }) => name === 'chat quick,auto');
    expect(streamed).toHaveLength(1);
    expect(factsOf(streamed[0]?.attributes ?? [])).toMatchObject({
      'gen_ai.request.model': 'quick,auto',
      'gen_ai.request.stream': true,
      'gen_ai.response.finish_reasons': { values: [{ stringValue: 'stop' }] },
      'gen_ai.usage.output_tokens': expect.any(Number) as number,
    });
    const rejected = spans.find(({ name }) => name === 'chat no/such');
    expect(factsOf(rejected?.attributes ?? [])).toMatchObject({ 'error.type': 'GATEWAY_MODEL_NOT_FOUND' });
    const failed = 2;
    expect(rejected?.status.code).toBe(failed);
    expect(BigInt(attempt?.endTimeUnixNano ?? 0)).toBeGreaterThanOrEqual(
      BigInt(attempt?.startTimeUnixNano ?? 0),
    );
    // The schedule may have added another one.
    const jobs = spans.filter((span) => span.name === 'job ledger.repair');
    const job = jobs.find(({ attributes }) => factsOf(attributes)['headworks.job_id'] === repair.job_id);
    expect(job).toBeDefined();
    expect(job?.traceId).not.toBe(traceId);
    const call = spans.find((span) => span.name === 'POST /mcp');
    const children = spans.filter(({ parentSpanId }) => parentSpanId === call?.spanId);
    expect(children.map(({ name }) => name)).toContain('GET /api/v1/doctor');
    expect(to.resources()[0]).toMatchObject({
      'service.name': 'test-server',
      'deployment.environment': 'test',
    });
    expect(to.headers[0]).toEqual({ path: '/v1/traces', key: 's cret' });
    for (const secret of ['private question', 'in-the-query', 'sk-model', server.adminToken, 'Yes.'])
      expect(to.text()).not.toContain(secret);
  });

  it.each([
    ['no endpoint is set', () => ({})],
    [
      'they are switched off',
      (url: string) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_SDK_DISABLED: 'true' }),
    ],
    [
      'no exporter is configured',
      (url: string) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_TRACES_EXPORTER: 'none' }),
    ],
    [
      'the sampler keeps none',
      (url: string) => ({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url, OTEL_TRACES_SAMPLER: 'always_off' }),
    ],
  ])('are not sent when %s', async (_, env) => {
    const to = await collector();
    const server = await startServer(await testConfig(env(to.url)), { role: 'serve' });
    await callAsAdmin(server, 'GET', '/api/v1/config');
    await server.stop();
    expect(to.headers).toEqual([]);
  });

  it('do not delay a server when the collector is down', async () => {
    const server = await startServer(
      await testConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }),
      { role: 'serve' },
    );
    expect((await callAsAdmin(server, 'GET', '/api/v1/config')).status).toBe(200);
    await server.stop();
  });
});
