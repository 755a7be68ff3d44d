import { describe, expect, it } from 'vitest';
import { buildServer, DashboardSessions } from '../../src/http/index.ts';
import { adminToken, asAdmin, createTestDeps } from '../support/http-dependencies.ts';

const page = '<html><style nonce="%NONCE%"></style></html>';
const files = {
  page,
  assets: new Map([
    ['assets/app-1.js', { read: async () => Buffer.from('let a;'), type: 'text/javascript' }],
  ]),
};

async function openServer() {
  const made = createTestDeps();
  const server = await buildServer({
    ...made.dependencies,
    dashboard: { ...made.dependencies.dashboard, files },
  });
  const logIn = (token: string) =>
    server.inject({ method: 'POST', url: '/api/v1/dashboard/session', payload: { token } });
  const link = async () => {
    const answer = await server.inject({
      method: 'POST',
      url: '/api/v1/dashboard/login-links',
      headers: asAdmin,
    });
    return answer.json<{ path: string }>().path.split('#')[1] ?? '';
  };
  const session = async () => {
    const { headers } = await logIn(await link());
    return String(headers['set-cookie']).split(';', 1)[0] ?? '';
  };
  return { ...made, server, logIn, link, session };
}

describe('logging in', () => {
  it('works once with the token of a link, and sets an HttpOnly, SameSite cookie', async () => {
    const { logIn, link } = await openServer();
    const token = await link();
    const first = await logIn(token);
    expect(first.statusCode).toBe(200);
    expect(first.headers['set-cookie']).toMatch(
      /^headworks_session_\d+=[^;]+; Expires=[^;]+; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    const second = await logIn(token);
    expect(second.statusCode).toBe(401);
    expect(second.headers['set-cookie']).toBeUndefined();
    expect(second.body).toContain('headworks dashboard');
  });

  it('rejects a link after ten minutes', async () => {
    const { logIn, link, clock } = await openServer();
    const token = await link();
    await clock.advance(600_001);
    expect((await logIn(token)).statusCode).toBe(401);
  });

  it('works with the admin token, and with no other text', async () => {
    const { logIn } = await openServer();
    expect((await logIn(adminToken)).statusCode).toBe(200);
    const mistyped = await logIn('another-token-0123456789');
    expect(mistyped.statusCode).toBe(401);
    expect(mistyped.body).toContain('nor the admin token');
    expect((await logIn('')).statusCode).toBe(400);
    expect((await logIn('x'.repeat(600))).statusCode).toBe(400);
  });

  it('marks the cookie as secure over https', async () => {
    const { server, link } = await openServer();
    const answer = await server.inject({
      method: 'POST',
      url: '/api/v1/dashboard/session',
      headers: { origin: 'https://localhost:80', host: 'localhost:80' },
      payload: { token: await link() },
    });
    expect(answer.headers['set-cookie']).toMatch(/; Secure$/);
  });
});

describe('a session', () => {
  const own = { 'x-headworks-dashboard': '1' };

  it('has the access of the admin until it expires', async () => {
    const { server, session, clock } = await openServer();
    const cookie = await session();
    const read = () => server.inject({ url: '/api/v1/config', headers: { cookie: `other=1; ${cookie}` } });
    expect((await read()).statusCode).toBe(200);
    await clock.advance(12 * 3_600_000);
    expect((await read()).statusCode).toBe(401);
  });

  it('requires a header for changes that other pages cannot send', async () => {
    const { server, session, auditRows } = await openServer();
    const cookie = await session();
    const write = (headers: Record<string, string>) =>
      server.inject({ method: 'POST', url: '/api/v1/ledger/repair', headers: { cookie, ...headers } });
    expect((await write({})).statusCode).toBe(403);
    expect((await write({ ...own, 'sec-fetch-site': 'cross-site' })).statusCode).toBe(403);
    expect((await write({ ...own, origin: 'http://evil.example' })).statusCode).toBe(403);
    expect(auditRows.filter(({ action }) => action === 'ledger.repair')).toEqual([]);
    expect((await write({ ...own, 'sec-fetch-site': 'same-origin' })).statusCode).toBe(202);
    expect(auditRows[0]).toMatchObject({ action: 'ledger.repair', actor: 'admin' });
  });

  it('is not accepted by the deployment API', async () => {
    const { server, session } = await openServer();
    const cookie = await session();
    const call = (headers: Record<string, string>) =>
      server.inject({ method: 'POST', url: '/deployment/api/acme/x', headers });
    expect([401, 403]).toContain((await call({ cookie, ...own })).statusCode);
    const fromElsewhere = await call({ cookie });
    expect(fromElsewhere.statusCode).toBe(401);
    expect(fromElsewhere.body).not.toMatch(/dashboard|admin/);
  });

  it('is rejected when it was modified or signed with another admin token', async () => {
    const { server, session, clock, dependencies } = await openServer();
    const cookie = await session();
    const status = async (value: string) =>
      (await server.inject({ url: '/api/v1/config', headers: { cookie: value } })).statusCode;
    const [name, value = ''] = cookie.split('=', 2);
    const later = (Number.parseInt(value.split('.', 1)[0] ?? '', 36) + 1).toString(36);
    const other = new DashboardSessions('another-admin-token', clock, dependencies.ids).issue().value;
    expect(await status(cookie)).toBe(200);
    for (const bad of [value.slice(0, -2), value.replace(/^[^.]+/, later), other, '', 'x'.repeat(9_000)])
      expect(await status(`${name}=${bad}`)).toBe(401);
  });

  it('has a cookie name per port, because browsers share cookies between ports', async () => {
    const { server, session } = await openServer();
    const cookie = await session();
    const at = async (host: string) =>
      (await server.inject({ url: '/api/v1/config', headers: { cookie, host } })).statusCode;
    expect([await at('localhost:80'), await at('localhost:81')]).toEqual([200, 401]);
  });

  it('ends when the browser logs out', async () => {
    const { server } = await openServer();
    const answer = await server.inject({ method: 'DELETE', url: '/api/v1/dashboard/session' });
    expect(answer.headers['set-cookie']).toMatch(/^headworks_session_80=; Max-Age=0/);
  });
});

describe('the dashboard', () => {
  it('serves one page under every path, with a new nonce in its policy each time', async () => {
    const { server } = await openServer();
    const nonces = new Set<string>();
    for (const url of ['/dashboard/', '/dashboard/models', '/dashboard/entities/1']) {
      const answer = await server.inject(url);
      expect(answer.statusCode).toBe(200);
      const [, nonce = ''] = /nonce="([^"]+)"/.exec(answer.body) ?? [];
      expect(answer.headers['content-security-policy']).toContain(`'nonce-${nonce}'`);
      expect(answer.headers['content-security-policy']).toContain("script-src 'self';");
      nonces.add(nonce);
    }
    expect(nonces.size).toBe(3);
    expect((await server.inject('/')).headers.location).toBe('/dashboard/');
  });

  it('serves its files as immutable, compressed when accepted, and no others', async () => {
    const { server } = await openServer();
    const plain = await server.inject('/dashboard/assets/app-1.js');
    expect(plain.body).toBe('let a;');
    expect(plain.headers).toMatchObject({ 'content-type': 'text/javascript' });
    expect(plain.headers['cache-control']).toContain('immutable');
    expect(plain.headers['content-security-policy']).toMatch(/^default-src 'none'; connect-src 'self';/);
    const headers = { 'accept-encoding': 'gzip, br' };
    const packed = await server.inject({ url: '/dashboard/assets/app-1.js', headers });
    expect(packed.headers['content-encoding']).toBe('gzip');
    for (const path of ['assets/none.js', 'assets/..%2f..%2fpackage.json', 'assets/../../package.json'])
      expect((await server.inject(`/dashboard/${path}`)).body).not.toContain('"headworks"');
    expect((await server.inject('/dashboard/assets/none.js')).statusCode).toBe(404);
  });

  it('explains how to build it when it was not built', async () => {
    const server = await buildServer(createTestDeps().dependencies);
    expect((await server.inject('/dashboard/')).body).toContain('npm run build:web');
  });
});
