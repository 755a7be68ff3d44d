import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ApiCallError, createClient, type ClientOptions } from './client.ts';

interface Received {
  readonly method: string;
  readonly url: string;
  readonly authorization: string | undefined;
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
      received.push({ method, url, authorization: headers.authorization, body });
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
    expect(received).toEqual([
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

  it('passes on the abort of the caller', async () => {
    const { client } = await clientOf(() => undefined);
    const aborting = new AbortController();
    const call = client.call('GET /api/v1/ledger/kinds', { signal: aborting.signal });
    aborting.abort(new Error('not needed any more'));
    await expect(call).rejects.toThrow('not needed any more');
  });
});
