import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ApiCallError, createClient, HeadworksError, type ClientOptions } from './client.ts';

interface Received {
  readonly method: string;
  readonly url: string;
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  readonly body: string;
}

async function clientOf(
  respond: (response: ServerResponse, request: IncomingMessage) => void,
  options: Partial<ClientOptions> = {},
) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      received.push({
        method,
        url,
        authorization: headers.authorization,
        contentType: headers['content-type'],
        body,
      });
      respond(response, request);
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { client: createClient({ baseUrl, ...options }), received };
}

const json =
  (value: unknown, status = 200, headers: Record<string, string> = {}) =>
  (response: ServerResponse) =>
    void response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify(value));

describe('createClient', () => {
  it('sends parameters, query, body and token of an operation and returns its response', async () => {
    const { client, received } = await clientOf(json({ entries: [], next: null }), { token: 'secret' });
    expect(await client.call('GET /api/v1/ledger', { query: { state: 'all', limit: 5 } })).toEqual({
      entries: [],
      next: null,
    });
    await client.call('GET /api/v1/ledger/:id', { params: { id: 'a/b' } });
    await client.call('POST /api/v1/ledger/repair', { body: { kind: 'a.b' } });
    expect(received).toMatchObject([
      { method: 'GET', url: '/api/v1/ledger?state=all&limit=5', authorization: 'Bearer secret', body: '' },
      { method: 'GET', url: '/api/v1/ledger/a%2Fb', authorization: 'Bearer secret', body: '' },
      {
        method: 'POST',
        url: '/api/v1/ledger/repair',
        authorization: 'Bearer secret',
        body: '{"kind":"a.b"}',
      },
    ]);
  });

  it('accepts booleans and numbers in a query and sends them as text', async () => {
    const { client, received } = await clientOf(json([]));
    await client.call('GET /api/v1/models', { query: { active_only: false, include_recent: 'true' } });
    await client.call('GET /deployment/api/:org/:api', {
      params: { org: 'acme', api: 'invoices' },
      query: { execution_id: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b' },
    });
    await client.call('POST /deployment/api/:org/:api', {
      params: { org: 'acme', api: 'invoices' },
      query: { timeout: 5, wait: 0.5 },
      body: { text: 'x' },
    });
    expect(received.map(({ url }) => url)).toEqual([
      '/api/v1/models?active_only=false&include_recent=true',
      '/deployment/api/acme/invoices?execution_id=0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b',
      '/deployment/api/acme/invoices?timeout=5&wait=0.5',
    ]);
    // @ts-expect-error: 'yes' is neither true nor false
    await client.call('GET /api/v1/models', { query: { active_only: 'yes' } });
  });

  it('calls the endpoints of OpenAI, and a model whose name has a slash', async () => {
    const { client, received } = await clientOf(json({ id: '1', choices: [] }));
    await client.call('POST /v1/chat/completions', { body: { messages: [{ role: 'user', content: 'Hi' }] } });
    await client.call('GET /v1/models/*', { params: { '*': 'groq/llama' } });
    expect(received.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'POST /v1/chat/completions',
      'GET /v1/models/groq%2Fllama',
    ]);
  });

  it('sends a form with files', async () => {
    const { client, received } = await clientOf(json({ execution_id: '1' }));
    const form = new FormData();
    form.append('files', new Blob(['content of the file']), 'invoice.txt');
    await client.call('POST /deployment/api/:org/:api', { params: { org: 'a', api: 'b' }, body: form });
    expect(received[0]?.contentType).toMatch(/^multipart\/form-data; boundary=/);
    expect(received[0]?.body).toContain('content of the file');
  });

  it('reads the errors of the tenant API and of the endpoints of OpenAI', async () => {
    const tenant = {
      type: 'client_error',
      errors: [{ code: 'rate_limit_exceeded', detail: 'At the limit.', attr: null }],
    };
    const { client } = await clientOf(json(tenant, 429, { 'retry-after': '3' }));
    const params = { org: 'a', api: 'b' };
    const error = await client
      .call('POST /deployment/api/:org/:api', { params })
      .catch((each: unknown) => each);
    expect(error).toBeInstanceOf(HeadworksError);
    expect(error).toMatchObject({
      code: 'rate_limit_exceeded',
      message: 'At the limit.',
      isRetryable: true,
      retryAfterMs: 3_000,
    });
    const openAi = {
      error: { message: 'No model.', code: 'model_not_found', headworks_code: 'GATEWAY_MODEL_NOT_FOUND' },
    };
    const other = await clientOf(json(openAi, 404));
    await expect(other.client.call('GET /v1/models')).rejects.toMatchObject({
      code: 'GATEWAY_MODEL_NOT_FOUND',
      message: 'No model.',
      isRetryable: false,
    });
  });

  it('throws an error with code, status, request id and retry delay', async () => {
    const body = { error: { code: 'LEDGER_ENTRY_UNKNOWN', message: 'No entry 1.' } };
    const { client } = await clientOf(json(body, 404, { 'x-request-id': 'r1', 'retry-after': '2' }));
    const error = await client.call('GET /api/v1/ledger/kinds').catch((each: unknown) => each);
    expect(error).toBeInstanceOf(ApiCallError);
    expect(error).toMatchObject({
      code: 'LEDGER_ENTRY_UNKNOWN',
      message: 'No entry 1.',
      status: 404,
      requestId: 'r1',
      retryAfterMs: 2_000,
    });
  });

  it('names a response that is not JSON', async () => {
    const { client } = await clientOf((response) => void response.end('<html>'));
    await expect(client.call('GET /api/v1/ledger/kinds')).rejects.toMatchObject({ code: 'INVALID_RESPONSE' });
  });

  it('reports an unreachable server and a timeout', async () => {
    const gone = createClient({ baseUrl: 'http://127.0.0.1:1' });
    await expect(gone.call('GET /api/v1/ledger/kinds')).rejects.toMatchObject({ code: 'UNREACHABLE' });
    const { client } = await clientOf(() => undefined, { timeoutMs: 20 });
    await expect(client.call('GET /api/v1/ledger/kinds')).rejects.toMatchObject({ code: 'TIMEOUT' });
  });

  it.for(['', 'localhost', 'localhost:8420', 'ftp://host', undefined])(
    'rejects the base URL %s and shows the expected form',
    (baseUrl) => {
      expect(() => createClient({ baseUrl: baseUrl as string })).toThrow(
        expect.objectContaining({
          code: 'INPUT_INVALID',
          message: expect.stringContaining('like http://127.0.0.1:8420') as string,
        }) as Error,
      );
    },
  );

  it('passes on the abort of the caller', async () => {
    const { client } = await clientOf(() => undefined);
    const aborting = new AbortController();
    const call = client.call('GET /api/v1/ledger/kinds', { signal: aborting.signal });
    aborting.abort(new Error('not needed any more'));
    await expect(call).rejects.toThrow('not needed any more');
  });
});
