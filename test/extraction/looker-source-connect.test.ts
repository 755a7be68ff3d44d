import { createServer as createPlainServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/core/index.ts';
import { VirtualClock } from '../support/core/virtual-clock.ts';
import { lookerDescription } from '../../src/extraction/sources/looker/description.ts';
import type { InMemoryResponse } from '../support/http-client/in-memory-transport.ts';
import { createUndiciTransport } from '../../src/platform/http-client/undici-transport.ts';
import { createInMemoryTransport } from '../support/http-client/in-memory-transport.ts';
import { offsetPage } from '../support/extraction/pages.ts';
import { createLooker, createLookerApi, lookerCredentials, lookerSourceOn } from './looker-source-world.ts';

const never = new AbortController().signal;
const html = { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>Welcome</html>' };
const error = (status: number, body: unknown): InMemoryResponse => ({ status, body: JSON.stringify(body) });
const lookerError = { message: 'Not found', documentation_url: 'https://looker.test/docs' };

const logins: readonly (readonly [what: string, InMemoryResponse, code: string, message: RegExp])[] = [
  ['401', error(401, lookerError), 'UNAUTHENTICATED', /LOOKER_CLIENT_ID and LOOKER_CLIENT_SECRET/],
  ["Looker's own 404", error(404, lookerError), 'UNAUTHENTICATED', /rejects the credentials \(404\)/],
  ['a 404 that is not Looker’s', error(404, { error: 'no route' }), 'UNREACHABLE', /does not respond as expected.*404.*LOOKER_BASE_URL/],
  ['a web page', html, 'UNREACHABLE', /does not return JSON; check LOOKER_BASE_URL/],
  ['JSON of another kind', error(200, { hello: 'world' }), 'UNREACHABLE', /returns no access_token/],
  ['a 403 page of a proxy', { ...html, status: 403 }, 'UNREACHABLE', /returns 403/],
  ['a redirect', { status: 302, headers: { location: 'https://login.test/sso?x=1' } }, 'UNREACHABLE', /redirects to https:\/\/login\.test\/sso;/],
]; // oxfmt-ignore

function sourceAt(baseUrl: string) {
  const transport = createUndiciTransport({ connectTimeoutMs: 5_000 });
  onTestFinished(() => transport.close());
  return createLooker({ baseUrl, transport, clock: systemClock, ...lookerCredentials });
}

async function plainServer(onData: string): Promise<number> {
  const server = createPlainServer((socket) =>
    socket
      .on('error', () => undefined)
      .resume()
      .end(onData),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return (server.address() as AddressInfo).port;
}

describe('connecting to Looker', () => {
  it.for(logins)('classifies %s by its cause', async ([, response, code, message]) => {
    const transport = createInMemoryTransport({ handler: () => response });
    const source = createLooker({
      baseUrl: 'https://acme.looker.test',
      transport,
      clock: systemClock,
      ...lookerCredentials,
    });
    const failing = source.connect(never);
    await expect(failing).rejects.toMatchObject({ code: `EXTRACTION_${code}` });
    await expect(failing).rejects.toThrow(message);
    await expect(failing).rejects.not.toThrow(/the-client|\n/);
  });

  it('reports in one line why the server does not respond, and what to check', async () => {
    const port = await plainServer('nonsense\r\n\r\n');
    const cases: readonly (readonly [url: string, message: RegExp])[] = [
      [
        'http://127.0.0.1:1',
        /refuses the connection \(ECONNREFUSED\); check LOOKER_BASE_URL and its port\.$/,
      ],
      [
        `https://127.0.0.1:${port}`,
        /does not accept TLS on this port .*check LOOKER_BASE_URL: https or http/,
      ],
      [
        `http://127.0.0.1:${port}`,
        /does not accept HTTP on this port .*check LOOKER_BASE_URL: https or http/,
      ],
    ];
    for (const [url, message] of cases) {
      const failing = sourceAt(url).connect(never);
      await expect(failing).rejects.toMatchObject({ code: 'EXTRACTION_UNREACHABLE', isRetryable: true });
      await expect(failing).rejects.toThrow(message);
    }
  });

  it('waits as long as a busy server requests, and fails in the end', async () => {
    const clock = new VirtualClock();
    const api = createLookerApi();
    const source = lookerSourceOn(api, { clock });
    api.misbehaveAtLogin(429);
    const failing = clock.run(source.connect(never));
    await expect(failing).rejects.toMatchObject({ code: 'EXTRACTION_UNREACHABLE', isRetryable: true });
    expect(api.logins()).toBe(4);
  });

  it('stops waiting when its signal aborts', async () => {
    const clock = new VirtualClock();
    const api = createLookerApi();
    api.misbehaveAtLogin(503);
    const stop = new AbortController();
    const failing = expect(lookerSourceOn(api, { clock }).connect(stop.signal)).rejects.toThrow('enough');
    await clock.advance(10);
    stop.abort(new Error('enough'));
    await failing;
    expect(api.logins()).toBe(1);
  });

  it.for([
    'https://acme.looker.test',
    'https://acme.looker.test/',
    ' https://acme.looker.test/api/4.0 ',
    'https://acme.looker.test/api/4.0/',
    'https://acme.looker.test/api/',
    'https://ACME.looker.test:443',
  ])('finds the API from %s', async (baseUrl) => {
    const api = createLookerApi();
    const source = lookerSourceOn(api, { baseUrl });
    await source.connect(never);
    expect(source.name).toBe('looker https://acme.looker.test');
    expect(api.logins()).toBe(1);
  });

  it('keeps port and prefix', () => {
    const baseUrl = 'http://looker.test:19999/bi/api/4.0';
    const { name, limiterKey } = lookerDescription({ baseUrl, ...lookerCredentials });
    expect(name).toBe('looker http://looker.test:19999/bi');
    expect(limiterKey).toMatch(/^looker\.test:19999:/);
  });

  it.for(['acme.looker.test', 'ftp://acme', '', 'https://user:pass@acme', 'https://acme?x=1'])(
    'rejects "%s" as an address',
    (baseUrl) => {
      expect(() => lookerSourceOn(createLookerApi(), { baseUrl })).toThrow(
        expect.objectContaining({ code: 'EXTRACTION_SOURCE_INVALID' }),
      );
    },
  );
});

describe('the token of Looker', () => {
  it('is renewed before it expires, so that no call is rejected', async () => {
    const clock = new VirtualClock();
    const api = createLookerApi();
    const secrets: string[] = [];
    const source = lookerSourceOn(api, { clock, onSecret: (token) => void secrets.push(token) });
    const fetch = () => source.fetch(offsetPage('users', 0, 5), never);
    await fetch();
    await clock.advance(3_600_000 - 61_000);
    await fetch();
    expect(api.logins()).toBe(1);
    await clock.advance(2_000);
    await fetch();
    expect(api.logins()).toBe(2);
    expect(api.contentCalls()).toBe(3);
    expect(secrets).toEqual(['access-token-1', 'access-token-2']);
  });

  it('is used for most of a life that is shorter than the margin', async () => {
    const clock = new VirtualClock();
    const api = createLookerApi();
    api.setLifetime(10);
    const source = lookerSourceOn(api, { clock });
    const fetch = () => source.fetch(offsetPage('users', 0, 5), never);
    await fetch();
    await clock.advance(8_900);
    await fetch();
    expect(api.logins()).toBe(1);
    await clock.advance(200);
    await fetch();
    expect(api.logins()).toBe(2);
  });
});
