import type { FastifyInstance } from 'fastify';
import fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { installAccess } from '../../src/http/access.ts';
import { buildServer, createTokenCheck } from '../../src/http/index.ts';
import { createErrorHandler } from '../../src/http/server.ts';
import {
  adminToken,
  asAdmin,
  gatewayKey,
  organizationKey,
  createTestDeps,
} from '../support/http-dependencies.ts';

type Route = FastifyInstance['knownRoutes'][number];

const isStream = ({ url }: Route) => url === '/api/v1/live' || url === '/api/v1/attach';

const concrete = (url: string) =>
  url.replace(':id', '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b').replace('*', 'index.css');

/** On /v1 `code` is OpenAI's, and `headworks_code` is ours. */
function codeIn({ body }: { readonly body: string }): string {
  const { error } = JSON.parse(body) as { error: { code: string; headworks_code?: string } };
  return error.headworks_code ?? error.code;
}

/** Routes for keys of organizations only. Their responses have another format. */
const isForOrganizations = ({ url }: Route) => url.startsWith('/deployment/api/');

/** Knowledge belongs to organizations, except for folders of the server and the graph. */
const isForTenants = ({ url }: Route) =>
  /^(\/api\/v1\/(knowledge\/(?!folders|graph)|caller$)|\/mcp$)/.test(url);

/** Routes for gateway keys only. */
const isForGatewayKeys = ({ method, url }: Route) =>
  url.startsWith('/v1/') ||
  url === '/api/v1/prompts/process' ||
  (['GET', 'HEAD'].includes(method) &&
    /^\/api\/v1\/(models(\/:id(\/explain)?)?|gateway\/requests(\/:id)?)$/.test(url));

describe('every route', async () => {
  const server = await buildServer(createTestDeps().dependencies);
  const call = (route: Route, headers: Record<string, string> = {}) =>
    server.inject({ method: route.method as 'GET', url: concrete(route.url), headers });
  const routes = server.knownRoutes;
  const open = routes.filter(({ url }) =>
    /^\/(healthz|readyz|openapi\.json|docs.*|dashboard.*|api\/v1\/dashboard\/session)?$/.test(url),
  );
  const guarded = routes.filter((route) => !open.includes(route));

  it('is listed with its access', () => {
    // As many as the router itself prints.
    const printed = server.printRoutes({ commonPrefix: false }).matchAll(/\(([A-Z, ]+)\)/g);
    expect([...printed].flatMap(([, methods]) => methods?.split(', '))).toHaveLength(routes.length);
    expect(guarded.map(({ method, url }) => `${method} ${url}`).sort()).toEqual([
      'DELETE /api/v1/deployments/:id',
      'DELETE /api/v1/extraction/sources/:id',
      'DELETE /api/v1/keys/:id',
      'DELETE /api/v1/knowledge/artifacts/:id',
      'DELETE /api/v1/knowledge/folders/:id',
      'DELETE /api/v1/knowledge/spaces/:space',
      'DELETE /api/v1/limits/:organization',
      'DELETE /api/v1/models/:id',
      'DELETE /api/v1/organizations/:organization',
      'DELETE /api/v1/organizations/:organization/keys/:id',
      'DELETE /deployment/api/:org/:api',
      'DELETE /v1/responses/:id',
      'GET /api/v1/alerts',
      'GET /api/v1/attach',
      'GET /api/v1/audit',
      'GET /api/v1/caller',
      'GET /api/v1/config',
      'GET /api/v1/deployments',
      'GET /api/v1/deployments/:id',
      'GET /api/v1/doctor',
      'GET /api/v1/executions',
      'GET /api/v1/executions/:id',
      'GET /api/v1/extraction/runs',
      'GET /api/v1/extraction/runs/:id',
      'GET /api/v1/extraction/runs/:id/samples',
      'GET /api/v1/extraction/runs/:id/vault',
      'GET /api/v1/extraction/runs/:id/vault/data',
      'GET /api/v1/extraction/runs/:id/vault/item',
      'GET /api/v1/extraction/runs/:id/vault/items',
      'GET /api/v1/extraction/sources',
      'GET /api/v1/extraction/sources/:id',
      'GET /api/v1/gateway/requests',
      'GET /api/v1/gateway/requests/:id',
      'GET /api/v1/jobs',
      'GET /api/v1/jobs/:id',
      'GET /api/v1/jobs/counts',
      'GET /api/v1/keys',
      'GET /api/v1/knowledge/artifacts',
      'GET /api/v1/knowledge/artifacts/:id',
      'GET /api/v1/knowledge/artifacts/:id/revisions',
      'GET /api/v1/knowledge/artifacts/statuses',
      'GET /api/v1/knowledge/entities',
      'GET /api/v1/knowledge/entities/:id',
      'GET /api/v1/knowledge/entities/:id/related',
      'GET /api/v1/knowledge/events',
      'GET /api/v1/knowledge/events/:id',
      'GET /api/v1/knowledge/folders',
      'GET /api/v1/knowledge/graph',
      'GET /api/v1/knowledge/pairs',
      'GET /api/v1/knowledge/spaces',
      'GET /api/v1/ledger',
      'GET /api/v1/ledger/:id',
      'GET /api/v1/ledger/kinds',
      'GET /api/v1/limits',
      'GET /api/v1/limits/:organization',
      'GET /api/v1/live',
      'GET /api/v1/models',
      'GET /api/v1/models/:id',
      'GET /api/v1/models/:id/explain',
      'GET /api/v1/models/:id/history',
      'GET /api/v1/models/discoveries',
      'GET /api/v1/organizations',
      'GET /api/v1/organizations/:organization',
      'GET /api/v1/organizations/:organization/keys',
      'GET /api/v1/overview/flow',
      'GET /api/v1/overview/organizations',
      'GET /api/v1/usage',
      'GET /deployment/api/:org/:api',
      'GET /metrics',
      'GET /v1/models',
      'GET /v1/models/*',
      'GET /v1/responses/:id',
      'HEAD /api/v1/alerts',
      'HEAD /api/v1/audit',
      'HEAD /api/v1/caller',
      'HEAD /api/v1/config',
      'HEAD /api/v1/deployments',
      'HEAD /api/v1/deployments/:id',
      'HEAD /api/v1/doctor',
      'HEAD /api/v1/executions',
      'HEAD /api/v1/executions/:id',
      'HEAD /api/v1/extraction/runs',
      'HEAD /api/v1/extraction/runs/:id',
      'HEAD /api/v1/extraction/runs/:id/samples',
      'HEAD /api/v1/extraction/runs/:id/vault',
      'HEAD /api/v1/extraction/runs/:id/vault/data',
      'HEAD /api/v1/extraction/runs/:id/vault/item',
      'HEAD /api/v1/extraction/runs/:id/vault/items',
      'HEAD /api/v1/extraction/sources',
      'HEAD /api/v1/extraction/sources/:id',
      'HEAD /api/v1/gateway/requests',
      'HEAD /api/v1/gateway/requests/:id',
      'HEAD /api/v1/jobs',
      'HEAD /api/v1/jobs/:id',
      'HEAD /api/v1/jobs/counts',
      'HEAD /api/v1/keys',
      'HEAD /api/v1/knowledge/artifacts',
      'HEAD /api/v1/knowledge/artifacts/:id',
      'HEAD /api/v1/knowledge/artifacts/:id/revisions',
      'HEAD /api/v1/knowledge/artifacts/statuses',
      'HEAD /api/v1/knowledge/entities',
      'HEAD /api/v1/knowledge/entities/:id',
      'HEAD /api/v1/knowledge/entities/:id/related',
      'HEAD /api/v1/knowledge/events',
      'HEAD /api/v1/knowledge/events/:id',
      'HEAD /api/v1/knowledge/folders',
      'HEAD /api/v1/knowledge/graph',
      'HEAD /api/v1/knowledge/pairs',
      'HEAD /api/v1/knowledge/spaces',
      'HEAD /api/v1/ledger',
      'HEAD /api/v1/ledger/:id',
      'HEAD /api/v1/ledger/kinds',
      'HEAD /api/v1/limits',
      'HEAD /api/v1/limits/:organization',
      'HEAD /api/v1/models',
      'HEAD /api/v1/models/:id',
      'HEAD /api/v1/models/:id/explain',
      'HEAD /api/v1/models/:id/history',
      'HEAD /api/v1/models/discoveries',
      'HEAD /api/v1/organizations',
      'HEAD /api/v1/organizations/:organization',
      'HEAD /api/v1/organizations/:organization/keys',
      'HEAD /api/v1/overview/flow',
      'HEAD /api/v1/overview/organizations',
      'HEAD /api/v1/usage',
      'HEAD /deployment/api/:org/:api',
      'HEAD /metrics',
      'HEAD /v1/models',
      'HEAD /v1/models/*',
      'HEAD /v1/responses/:id',
      'PATCH /api/v1/deployments/:id',
      'PATCH /api/v1/extraction/sources/:id',
      'PATCH /api/v1/keys/:id',
      'PATCH /api/v1/models/:id/active',
      'PATCH /api/v1/models/:id/availability',
      'PATCH /api/v1/organizations/:organization',
      'POST /api/v1/backup',
      'POST /api/v1/dashboard/login-links',
      'POST /api/v1/deployments',
      'POST /api/v1/executions/:id/cancel',
      'POST /api/v1/executions/:id/release',
      'POST /api/v1/extraction/runs/:id/stop',
      'POST /api/v1/extraction/runs/report',
      'POST /api/v1/extraction/sources',
      'POST /api/v1/extraction/sources/:id/runs',
      'POST /api/v1/handover',
      'POST /api/v1/jobs/:id/cancel',
      'POST /api/v1/jobs/:id/retry',
      'POST /api/v1/keys',
      'POST /api/v1/knowledge/artifacts',
      'POST /api/v1/knowledge/artifacts/estimate',
      'POST /api/v1/knowledge/entities/:id/split',
      'POST /api/v1/knowledge/folders',
      'POST /api/v1/knowledge/folders/:id/scan',
      'POST /api/v1/knowledge/graph/rebuild',
      'POST /api/v1/knowledge/merges',
      'POST /api/v1/knowledge/merges/:id/undo',
      'POST /api/v1/knowledge/pairs/:id/verdict',
      'POST /api/v1/knowledge/search',
      'POST /api/v1/knowledge/spaces',
      'POST /api/v1/ledger/:id/resolve',
      'POST /api/v1/ledger/repair',
      'POST /api/v1/limits/:organization/refresh-cache',
      'POST /api/v1/limits/clear-cache',
      'POST /api/v1/models',
      'POST /api/v1/models/:id/increment-failure',
      'POST /api/v1/models/:id/increment-success',
      'POST /api/v1/models/discover',
      'POST /api/v1/models/probe',
      'POST /api/v1/organizations',
      'POST /api/v1/organizations/:organization/keys',
      'POST /api/v1/prompts/process',
      'POST /deployment/api/:org/:api',
      'POST /mcp',
      'POST /v1/audio/speech',
      'POST /v1/audio/transcriptions',
      'POST /v1/audio/translations',
      'POST /v1/chat/completions',
      'POST /v1/completions',
      'POST /v1/embeddings',
      'POST /v1/images/edits',
      'POST /v1/images/generations',
      'POST /v1/messages',
      'POST /v1/messages/count_tokens',
      'POST /v1/moderations',
      'POST /v1/rerank',
      'POST /v1/responses',
      'PUT /api/v1/limits/:organization',
      'PUT /api/v1/models/:id',
    ]);
  });

  it.each(open.filter(({ url }) => url !== '/docs/*'))('$method $url is public', async (route) => {
    // The login requires a body, not credentials.
    const { statusCode } = await call(route);
    if (route.method === 'POST') expect(statusCode).toBe(400);
    else expect(statusCode).toBeLessThan(400);
  });

  it.each(guarded)('$method $url returns 401 without known credentials', async (route) => {
    const wrong: Record<string, string>[] = [
      {},
      { authorization: '' },
      { authorization: 'Bearer' },
      { authorization: 'Bearer ' },
      { authorization: adminToken },
      { authorization: `Basic ${adminToken}` },
      { authorization: `Bearer ${adminToken}x` },
      { authorization: `Bearer ${adminToken.slice(0, -1)}` },
      { authorization: `Bearer ${adminToken} ${adminToken}` },
      { authorization: `Bearer ${'x'.repeat(5_000)}` },
      { 'x-headworks-token': adminToken },
      { cookie: `token=${adminToken}` },
    ];
    for (const headers of wrong) {
      const answer = await call(route, headers);
      expect({ headers, status: answer.statusCode }).toEqual({ headers, status: 401 });
      expect(answer.headers['www-authenticate']).toMatch(/^Bearer/);
      if (route.method !== 'HEAD' && !isForOrganizations(route))
        expect(codeIn(answer)).toBe('UNAUTHENTICATED');
    }
  });

  it.each(guarded)(
    '$method $url accepts an organization key only in the deployment API and for its own knowledge',
    async (route) => {
      const answer = await call(route, { authorization: `Bearer ${organizationKey}` });
      if (isForOrganizations(route) || isForTenants(route))
        return expect([401, 403]).not.toContain(answer.statusCode);
      expect(answer.statusCode).toBe(403);
      if (route.method !== 'HEAD') expect(codeIn(answer)).toBe('FORBIDDEN');
    },
  );

  it.each(guarded.filter((route) => !isStream(route)))(
    '$method $url accepts a gateway key only if it is meant for gateway keys',
    async (route) => {
      const { statusCode } = await call(route, { authorization: `Bearer ${gatewayKey}` });
      if (isForGatewayKeys(route)) expect([401, 403]).not.toContain(statusCode);
      else expect(statusCode).toBe(403);
    },
  );

  it.each(guarded.filter((route) => !isStream(route)))(
    '$method $url accepts the admin token, except in the deployment API',
    async (route) => {
      const { statusCode } = await call(route, asAdmin);
      if (isForOrganizations(route)) expect(statusCode).toBe(403);
      else expect([401, 403]).not.toContain(statusCode);
    },
  );

  it('is checked before the body is read', async () => {
    const answer = await server.inject({
      method: 'POST',
      url: '/api/v1/ledger/repair',
      headers: { 'content-type': 'application/json' },
      payload: 'x'.repeat(2_000_000),
    });
    expect(answer.statusCode).toBe(401);
  });
});

describe('metrics', () => {
  it('are public when configured so', async () => {
    const server = await buildServer(createTestDeps({ metricsAccess: 'public' }).dependencies);
    expect((await server.inject('/metrics')).statusCode).toBe(200);
  });
});

describe('access', () => {
  const bare = () => {
    const { dependencies } = createTestDeps();
    const server = fastify();
    server.setErrorHandler(createErrorHandler(dependencies));
    installAccess(server, dependencies.access, dependencies.events);
    return server;
  };

  it.each([
    ['gateway', 'expired', 'This gateway key has expired.'],
    ['gateway', 'revoked', 'This gateway key was revoked.'],
    ['organization', 'expired', "This organization's key has expired."],
    ['organization', 'revoked', "This organization's key was revoked."],
    ['organization', null, 'These credentials are unknown.'],
  ] as const)('returns why a key is rejected: %s %s', async (owner, reason, message) => {
    const access =
      owner === 'gateway'
        ? { gatewayKeys: { checkKey: () => ({ kind: reason }) } }
        : { organizationKeys: { check: () => reason && { kind: reason } } };
    const server = await buildServer(createTestDeps({ access }).dependencies);
    const headers = { authorization: `Bearer ${owner === 'gateway' ? 'hwk_former' : 'hwo_former'}` };
    const answer = await server.inject({ method: 'GET', url: '/api/v1/models', headers });
    expect(answer.statusCode).toBe(401);
    expect(answer.json<{ error: { message: string } }>().error.message).toContain(message);
  });

  it('looks up a key among those of its own kind only', async () => {
    const lookups: string[] = [];
    const access = {
      gatewayKeys: { checkKey: (key: string) => (lookups.push(`gateway ${key}`), null) },
      organizationKeys: { check: (key: string) => (lookups.push(`organization ${key}`), null) },
    };
    const server = await buildServer(createTestDeps({ access }).dependencies);
    for (const token of ['hwk_1', 'hwo_1', 'other', adminToken])
      await server.inject({ url: '/api/v1/models', headers: { authorization: `Bearer ${token}` } });
    expect(lookups).toEqual(['gateway hwk_1', 'organization hwo_1', 'organization other']);
  });

  it('rejects a route that does not declare its access', () => {
    expect(() => bare().get('/undeclared', async () => 'secret')).toThrow(
      'The route GET /undeclared does not declare who may call it',
    );
  });

  it('passes the organization of the key to the handler, and rejects the admin token', async () => {
    const server = bare();
    server.get('/mine', { config: { access: 'organization' } }, async ({ caller }) => ({ caller }));
    const as = async (token: string) =>
      (await server.inject({ url: '/mine', headers: { authorization: `Bearer ${token}` } })).json<unknown>();
    expect(await as(organizationKey)).toEqual({
      caller: { kind: 'organization', organizationId: 'organization-1' },
    });
    expect(await as(adminToken)).toMatchObject({ error: { code: 'FORBIDDEN' } });
    expect(await as('unknown')).toMatchObject({ error: { code: 'UNAUTHENTICATED' } });
  });
});

describe('the token check', () => {
  it('accepts the token and nothing else', () => {
    const check = createTokenCheck('right-token');
    expect(check('right-token')).toBe(true);
    for (const wrong of ['', 'right-toke', 'right-token ', 'RIGHT-TOKEN', 'x'.repeat(1_000)])
      expect(check(wrong)).toBe(false);
  });
});

describe('host and origin', async () => {
  const { dependencies } = createTestDeps({
    boundHost: 'headworks.internal',
    allowedHosts: ['api.example.com', 'other.example.com:8443'],
    allowedOrigins: ['https://app.example.com'],
  });
  const server = await buildServer(dependencies);
  const call = (headers: Record<string, string>, method: 'GET' | 'POST' | 'OPTIONS' = 'GET') =>
    server.inject({ method, url: '/healthz', headers });

  it.each([
    'localhost',
    'LOCALHOST:8420',
    'demo.localhost',
    '127.0.0.1:8420',
    '192.168.1.7',
    '[::1]:8420',
    'headworks.internal:8420',
    'api.example.com',
    'API.example.com:8420',
    'other.example.com:8443',
  ])('serves Host %s', async (host) => {
    expect((await call({ host })).statusCode).toBe(200);
  });

  it.each([
    'evil.example.com',
    'localhost.evil.com',
    '127.0.0.1.evil.com',
    'other.example.com:1',
    'api.example.com.',
    '@',
  ])('rejects Host "%s" (DNS rebinding)', async (host) => {
    const answer = await call({ host });
    expect(answer.statusCode).toBe(421);
    expect(answer.json()).toMatchObject({ error: { code: 'HTTP_HOST_NOT_ALLOWED' } });
  });

  it('rejects an unknown Host also on paths that do not exist', async () => {
    const answer = await server.inject({ url: '/nothing', headers: { host: 'evil.example.com' } });
    expect(answer.statusCode).toBe(421);
  });

  it.each(['http://localhost:8420', 'https://localhost:8420', 'https://app.example.com'])(
    'serves pages of %s',
    async (origin) => {
      expect((await call({ host: 'localhost:8420', origin })).statusCode).toBe(200);
    },
  );

  it.each([
    'https://evil.example.com',
    'null',
    'http://localhost:3000',
    'https://app.example.com.evil.com',
    '',
  ])('rejects pages of "%s" with every method', async (origin) => {
    for (const method of ['GET', 'POST', 'OPTIONS'] as const) {
      const answer = await call({ host: 'localhost:8420', origin }, method);
      expect(answer.statusCode).toBe(403);
      expect(answer.headers['access-control-allow-origin']).toBeUndefined();
      expect(answer.json()).toMatchObject({ error: { code: 'HTTP_ORIGIN_NOT_ALLOWED' } });
    }
  });

  it('sends CORS headers to configured origins only', async () => {
    const origin = 'https://app.example.com';
    const answer = await call({ host: 'localhost', origin });
    expect(answer.headers).toMatchObject({ 'access-control-allow-origin': origin, vary: 'origin' });
    const before = await call(
      { host: 'localhost', origin, 'access-control-request-method': 'POST' },
      'OPTIONS',
    );
    expect(before.statusCode).toBe(204);
    expect(before.headers['access-control-allow-headers']).toContain('authorization');
    expect((await call({ host: 'localhost' })).headers['access-control-allow-origin']).toBeUndefined();
  });
});
