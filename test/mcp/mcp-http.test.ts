// POST /mcp as a route: access, rejected requests, and no state between messages.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HeadworksError } from '../../src/core/index.ts';
import { buildServer } from '../../src/http/index.ts';
import type { ApiTransport } from '../../src/api/client.ts';
import { allTools, handleHttp } from '../../src/mcp/server.ts';
import type { TestDeps } from '../support/http-dependencies.ts';
import { adminToken, asAdmin, organizationKey, createTestDeps } from '../support/http-dependencies.ts';
import { maxTaskMs, repeatedTaskMs } from '../support/longest-task.ts';

const protocolHeaders = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };

describe('POST /mcp', () => {
  let deps: TestDeps;
  let server: FastifyInstance;
  /** The next response of the API. */
  let api: (...args: Parameters<ApiTransport['call']>) => Promise<unknown>;
  const credentials: string[] = [];
  beforeAll(async () => {
    deps = createTestDeps();
    const { log } = deps.dependencies;
    server = await buildServer({
      ...deps.dependencies,
      mcp: ({ caller, credential, ...request }) => {
        credentials.push(credential);
        const transport = { call: (...args) => api(...args) } as ApiTransport;
        return handleHttp({ api: transport, caller, version: '1', log }, request);
      },
    });
  });
  afterAll(() => server.close());

  const post = (payload: unknown, headers: Record<string, string> = asAdmin) =>
    server.inject({
      method: 'POST',
      url: '/mcp',
      headers: { ...protocolHeaders, ...headers },
      payload: JSON.stringify(payload),
    });
  const message = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params });
  const initialize = (protocolVersion: string) =>
    message('initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'x', version: '1' } });

  it('passes the caller’s own credential on, and keeps no session', async () => {
    const answer = await post(initialize('2025-06-18'), { authorization: `bearer  ${organizationKey}` });
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['content-type']).toContain('application/json');
    expect(answer.headers['mcp-session-id']).toBeUndefined();
    expect(credentials.at(-1)).toBe(organizationKey);
    // No initialize before: another server may have handled it.
    expect((await post(message('tools/list'))).json()).toMatchObject({
      result: { tools: allTools.map(({ name }) => ({ name })) },
    });
  });

  it.each([
    ['2024-11-05', '2024-11-05'],
    ['2025-06-18', '2025-06-18'],
    ['1999-01-01', '2025-11-25'],
  ])('agrees on a version with a client of %s', async (requested, agreed) => {
    expect((await post(initialize(requested))).json()).toMatchObject({ result: { protocolVersion: agreed } });
  });

  it.each([
    ['metadata', (names: object) => message('tools/list', { _meta: names })],
    ['arguments', (names: object) => message('tools/call', { name: 'search', arguments: names })],
  ])('rejects %s of very many names without blocking (B1)', async (_, messageWith) => {
    const names = (count: number) =>
      messageWith(Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 1])));
    const payload = JSON.stringify(names(90_000));
    const headers = { ...protocolHeaders, ...asAdmin };
    const send = () => server.inject({ method: 'POST', url: '/mcp', headers, payload });
    expect((await send()).json()).toMatchObject({ error: { code: 'INPUT_INVALID' } });
    expect(await repeatedTaskMs(send)).toBeLessThan(maxTaskMs);
    // An error does not repeat all of them.
    expect((await post(names(15_000))).body.length).toBeLessThan(50_000);
  });

  it('accepts notifications and batches', async () => {
    const note = await post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    expect([note.statusCode, note.body]).toEqual([202, '']);
    const both = await post([message('ping'), { ...message('tools/list'), id: 2 }]);
    expect(both.json()).toMatchObject([{ id: 1 }, { id: 2 }]);
  });

  it.each([
    ['no JSON-RPC', {}, { hello: 1 }, 400],
    ['an unknown version', { 'mcp-protocol-version': '1999-01-01' }, message('ping'), 400],
    ['no JSON accepted', { accept: 'text/html' }, message('ping'), 406],
    ['another type', { 'content-type': 'text/plain' }, message('ping'), 415],
    ['a page of another origin', { origin: 'https://evil.example' }, message('ping'), 403],
    ['a name that is not ours', { host: 'evil.example' }, message('ping'), 421],
  ])('rejects %s', async (_name, headers, body, status) => {
    expect((await post(body, { ...asAdmin, ...headers })).statusCode).toBe(status);
  });

  it('returns the usual errors for missing credentials, invalid JSON, a large body and another method', async () => {
    const anonymous = await post(message('ping'), {});
    expect([anonymous.statusCode, anonymous.headers['www-authenticate']]).toEqual([
      401,
      'Bearer realm="headworks"',
    ]);
    const broken = await server.inject({
      method: 'POST',
      url: '/mcp',
      headers: { ...protocolHeaders, ...asAdmin },
      payload: '{',
    });
    expect(broken.json()).toMatchObject({ error: { code: 'INPUT_INVALID' } });
    const { maxDocumentBytes } = deps.dependencies.knowledge.artifacts;
    const large = await post({ filler: 'x'.repeat(maxDocumentBytes * 1.4 + 1_100_000) });
    expect(large.statusCode).toBe(413);
    for (const method of ['GET', 'DELETE'] as const) {
      const answer = await server.inject({
        method,
        url: '/mcp',
        headers: { ...protocolHeaders, ...asAdmin },
      });
      expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'POST']);
    }
  });

  it('does not accept the dashboard’s cookie, because tools could not use it', async () => {
    const login = await server.inject({
      method: 'POST',
      url: '/api/v1/dashboard/session',
      payload: { token: adminToken },
    });
    const cookie = String(login.headers['set-cookie']).split(';', 1)[0] ?? '';
    const answer = await post(message('ping'), { cookie, 'x-headworks-dashboard': '1' });
    expect(answer.statusCode).toBe(401);
  });

  it('writes no audit row of its own', async () => {
    await post(message('ping'));
    expect(deps.auditRows.filter(({ action }) => action === 'mcp')).toEqual([]);
  });

  const send = async () =>
    (await post(message('tools/call', { name: 'search', arguments: { query: 'x' } }))).json<{
      result: { isError: boolean; content: [{ text: string }] };
    }>().result;

  it('reports when to retry, and never exposes internals', async () => {
    api = async () => {
      throw new HeadworksError('STATE_UNAVAILABLE', 'The state store is unavailable.', {
        retryAfterMs: 1_500,
      });
    };
    expect(await send()).toMatchObject({
      isError: true,
      content: [{ text: 'The state store is unavailable. Try again in 2 s. (STATE_UNAVAILABLE)' }],
    });
    const logged = deps.logged.length;
    api = async () => ({ primary_results: 'inner secret' });
    const broken = await send();
    expect(broken.isError).toBe(true);
    expect(broken.content[0].text).toMatch(/^An unexpected error occurred inside Headworks/);
    expect(JSON.stringify(broken)).not.toContain('inner secret');
    expect(deps.logged.length).toBe(logged + 1);
  });

  it('aborts the call when the client disconnects', async () => {
    await server.listen({ host: '127.0.0.1', port: 0 });
    const { port } = server.server.address() as AddressInfo;
    const requested = Promise.withResolvers<AbortSignal | undefined>();
    api = (_method, _path, options) => {
      requested.resolve(options?.signal);
      return new Promise(() => undefined);
    };
    const leaving = new AbortController();
    const call = fetch(`http://127.0.0.1:${port}/mcp`, {
      method: 'POST',
      headers: { ...protocolHeaders, ...asAdmin },
      body: JSON.stringify(message('tools/call', { name: 'search', arguments: { query: 'x' } })),
      signal: leaving.signal,
    });
    const signal = await requested.promise;
    const aborted = signal?.aborted ? Promise.resolve() : once(signal as AbortSignal, 'abort');
    leaving.abort();
    await expect(call).rejects.toThrow('abort');
    await aborted;
    expect(signal?.aborted).toBe(true);
  });
});
