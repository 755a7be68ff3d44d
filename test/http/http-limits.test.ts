// Limits and alerts over HTTP, on real services in memory.
import { describe, expect, it, onTestFinished } from 'vitest';
import { admissionWorld } from '../support/tenancy/admission-world.ts';
import { CoreError } from '../../src/core/index.ts';
import { buildServer } from '../../src/http/index.ts';
import { asAdmin, createTestDeps } from '../support/http-dependencies.ts';
import { emptyTenantServices } from '../support/tenancy/tenant-services.ts';

const organizations = [
  { id: 'org_a1b2c3d4e5f6g7h8', name: 'acme-corp', createdAt: new Date(0) },
  { id: 'org_r1II1U07Th3RnSfv', name: 'Größe & Söhne', createdAt: new Date(0) },
];
const [acme] = organizations;

const alert = {
  name: 'HeadworksJobsFailed',
  severity: 'warning',
  labels: { name: 'knowledge.ingest' },
  organizationId: null,
  message: 'Jobs have failed.',
  since: new Date('2026-03-01T12:00:00Z'),
  state: 'pending',
} as const;

async function openServer() {
  const world = await admissionWorld({ options: { defaultLimit: 20 } });
  onTestFinished(() => world.admission.close());
  const find = (reference: string) => {
    const found = organizations.find(({ id, name }) => id === reference || name === reference);
    if (!found) throw new CoreError('NOT_FOUND', 'There is no such organization.');
    return found;
  };
  const tenants = {
    ...emptyTenantServices,
    organizations: { ...emptyTenantServices.organizations, find, list: () => organizations },
    limits: world.admission.limits,
  };
  const server = await buildServer(createTestDeps({ tenants, alerts: async () => [alert] }).dependencies);
  const call = async (method: 'GET' | 'PUT' | 'POST' | 'DELETE', url: string, payload?: object) => {
    const answer = await server.inject({ method, url, headers: asAdmin, ...(payload ? { payload } : {}) });
    return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() };
  };
  return { world, call };
}

describe('/api/v1/limits', () => {
  it('sets, gets, lists and deletes limits, by id or name', async () => {
    const { world, call } = await openServer();
    await world.acquire(acme?.id ?? '', 'one');
    expect(await call('PUT', '/api/v1/limits/acme-corp', { limit: 50 })).toMatchObject({
      status: 200,
      body: {
        organization_id: acme?.id,
        organization_name: 'acme-corp',
        is_new: true,
        custom_limit: 50,
        cached_limit: null,
        usage: {
          organization: 1,
          organization_limit: 50,
          organization_percent: 2,
          global: 1,
          global_percent: 1,
        },
      },
    });
    expect((await call('PUT', `/api/v1/limits/${acme?.id}`, { limit: 51 })).body).toMatchObject({
      is_new: false,
    });
    expect((await call('GET', '/api/v1/limits/acme-corp')).body).toMatchObject({ limit: 51 });
    const odd = `/api/v1/limits/${encodeURIComponent('Größe & Söhne')}`;
    expect((await call('GET', odd)).body).toMatchObject({ custom_limit: null, limit: 20 });
    expect((await call('GET', '/api/v1/limits')).body).toMatchObject({
      default_limit: 20,
      global_limit: 100,
      limits: [{ organization_name: 'acme-corp', usage: null }],
    });
    expect((await call('GET', '/api/v1/limits?with_usage=true')).body).toMatchObject({
      limits: [{ usage: { organization: 1 } }],
    });
    expect((await call('DELETE', '/api/v1/limits/acme-corp')).body).toMatchObject({ custom_limit: null });
    expect((await call('DELETE', '/api/v1/limits/acme-corp')).status).toBe(404);
    expect((await call('GET', '/api/v1/limits')).body).toMatchObject({ limits: [] });
  });

  it.each([0, -1, 1.5, 1e12, 'ten', null, true, [5]])('rejects a limit of %j', async (limit) => {
    const { world, call } = await openServer();
    const { status, body } = await call('PUT', '/api/v1/limits/acme-corp', { limit });
    expect(status).toBe(400);
    expect(body).toMatchObject({
      error: {
        code: 'INPUT_INVALID',
        message: expect.stringContaining('body.limit: must be a whole number from 1 to 2147483647') as string,
      },
    });
    expect(await world.limits.list()).toEqual([]);
  });

  it.each([
    ['GET', '/api/v1/limits/unknown', undefined, 404],
    ['PUT', '/api/v1/limits/unknown', { limit: 5 }, 404],
    ['PUT', '/api/v1/limits/acme-corp', {}, 400],
    ['PUT', '/api/v1/limits/acme-corp', { limit: 5, more: 1 }, 400],
    ['GET', `/api/v1/limits/${'x'.repeat(10_000)}`, undefined, 400],
    ['GET', '/api/v1/limits?with_usage=maybe', undefined, 400],
    ['POST', '/api/v1/limits/clear-cache', { all: true, organization: 'acme-corp' }, 400],
    ['POST', '/api/v1/limits/clear-cache', { organization: 'unknown' }, 404],
  ] as const)('returns for %s %.60s %j the status %i', async (method, url, payload, status) => {
    const { call } = await openServer();
    expect((await call(method, url, payload)).status).toBe(status);
  });

  it('replaces a cached limit and returns the new one; reading it changes nothing', async () => {
    const { world, call } = await openServer();
    const [{ id } = { id: '' }] = organizations;
    await world.acquire(id, 'first');
    await world.limits.set(id, 7, new Date(0));
    expect((await call('GET', '/api/v1/limits/acme-corp?clear_cache=true')).status).toBe(400);
    expect((await call('GET', '/api/v1/limits/acme-corp')).body).toMatchObject({ cached_limit: 20 });
    const refreshed = await call('POST', '/api/v1/limits/acme-corp/refresh-cache');
    expect(refreshed.body).toMatchObject({ limit: 7, cached_limit: 7 });
  });

  it('clears cached limits and returns how many', async () => {
    const { world, call } = await openServer();
    for (const { id } of organizations) await world.acquire(id, `of-${id}`);
    const clear = async (body?: object) => (await call('POST', '/api/v1/limits/clear-cache', body)).body;
    expect(await clear({ organization: 'acme-corp' })).toEqual({ deleted: 1 });
    expect(await clear()).toEqual({ deleted: 0 });
    expect(await clear({ all: true })).toEqual({ deleted: 1 });
  });
});

describe('/api/v1/alerts', () => {
  it('lists pending and firing alerts', async () => {
    const { call } = await openServer();
    expect((await call('GET', '/api/v1/alerts')).body).toEqual({
      alerts: [
        {
          name: 'HeadworksJobsFailed',
          severity: 'warning',
          labels: { name: 'knowledge.ingest' },
          organization_id: null,
          message: 'Jobs have failed.',
          since: '2026-03-01T12:00:00.000Z',
          state: 'pending',
        },
      ],
    });
  });
});
