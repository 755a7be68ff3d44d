// Organizations, keys and deployments over HTTP: operations, validation and the audit log.
import type { ApiResponse } from '../../src/api/client.ts';
import type { ErrorResponse } from '../../src/api/fields.ts';
import type { Deployment, DeploymentWithSecret } from '../../src/api/deployments.ts';
import type { NewOrganizationKey, Organization } from '../../src/api/organizations.ts';
import type { InjectOptions } from 'fastify';
import { describe, expect, it } from 'vitest';
import { keyProblem, organizationOf, tenantWorld } from '../support/tenancy/tenant-world.ts';
import { buildServer } from '../../src/http/index.ts';
import { asAdmin, createTestDeps } from '../support/http-dependencies.ts';
import { emptyTenantServices } from '../support/tenancy/tenant-services.ts';

/** A server with the real services on stores in memory, and the organization acme. */
async function openApi() {
  const world = tenantWorld();
  const tenants = await world.open();
  const { dependencies, auditRows } = createTestDeps({
    clock: world.clock,
    tenants: { ...emptyTenantServices, ...tenants },
    access: { organizationKeys: tenants.keys },
  });
  const server = await buildServer(dependencies);
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller determines the type of the response
  const call = async <Body = ErrorResponse>(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    url: string,
    payload?: InjectOptions['payload'],
    headers: Record<string, string> = asAdmin,
  ): Promise<{ readonly status: number; readonly body: Body }> => {
    const answer = await server.inject({
      method,
      url,
      headers: { ...headers, ...(typeof payload === 'string' ? { 'content-type': 'application/json' } : {}) },
      ...(payload === undefined ? {} : { payload }),
    });
    return {
      status: answer.statusCode,
      body: (answer.body === '' ? undefined : JSON.parse(answer.body)) as Body,
    };
  };
  const { body: acme } = await call<Organization>('POST', '/api/v1/organizations', { name: 'acme' });
  return { world, tenants, auditRows, call, acme };
}

const prompt = { name: 'Summary', workflow: 'prompt', options: { instructions: 'Summarize.' } };

describe('organizations', () => {
  it('are created, listed, found by id and name, renamed and deleted', async () => {
    const { call, acme } = await openApi();
    expect(acme).toEqual({
      id: expect.stringMatching(/^org_[0-9A-Za-z]{16}$/),
      name: 'acme',
      created_at: '2026-03-01T12:00:00.000Z',
    });
    expect(await call('GET', '/api/v1/organizations')).toEqual({
      status: 200,
      body: { organizations: [acme] },
    });
    for (const reference of [acme.id, 'ACME'])
      expect(await call('GET', `/api/v1/organizations/${reference}`)).toEqual({ status: 200, body: acme });
    const renamed = { ...acme, name: 'Zürich & Söhne' };
    expect(await call('PATCH', '/api/v1/organizations/acme', { name: renamed.name })).toEqual({
      status: 200,
      body: renamed,
    });
    const path = `/api/v1/organizations/${encodeURIComponent('ZÜRICH & söhne')}`;
    expect((await call('GET', path)).body).toEqual(renamed);
    expect((await call('DELETE', path)).status).toBe(204);
    expect((await call('GET', path)).status).toBe(404);
  });

  it.each([
    [{}, 'body.name'],
    [{ name: 7 }, 'body.name'],
    [{ name: 'x', limit: 5 }, 'limit'],
    [{ name: '' }, 'name: must not be empty'],
    [{ name: 'a/b' }, 'name: must not contain a slash'],
    [{ name: 'a\u202eb' }, 'name: must not contain control characters'],
    [{ name: 'x'.repeat(10_000) }, 'name: must have at most 100 characters'],
    [{ name: 'org_a1b2c3d4e5f6g7h8' }, 'name: must not begin with "org_"'],
  ])('are not added as %j', async (body, message) => {
    const { call, tenants } = await openApi();
    const answer = await call('POST', '/api/v1/organizations', body);
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'INPUT_INVALID' } } });
    expect(answer.body.error.message).toContain(message);
    expect(answer.body.error.message.length).toBeLessThan(300);
    expect(tenants.organizations.list()).toHaveLength(1);
  });

  it('reject a taken name, and deletion while an execution is unfinished', async () => {
    const { call, world, acme } = await openApi();
    expect(await call('POST', '/api/v1/organizations', { name: 'ACME' })).toMatchObject({
      status: 409,
      body: { error: { code: 'CONFLICT' } },
    });
    world.unfinished.add(acme.id);
    expect((await call('DELETE', '/api/v1/organizations/acme')).status).toBe(409);
  });

  it.each(['unknown', '%00', '..%2F..%2Fetc', '%E2%80%AE', 'x'.repeat(190), 'x'.repeat(10_000), '%F0%9F'])(
    'reject %s with a clear 4xx',
    async (reference) => {
      const { call } = await openApi();
      for (const path of [`/api/v1/organizations/${reference}`, `/api/v1/organizations/${reference}/keys`]) {
        const { status, body } = await call('GET', path);
        expect([400, 404, 414]).toContain(status);
        expect(body.error.message.length).toBeLessThan(400);
      }
      const query = await call('GET', `/api/v1/deployments?organization=${reference}`);
      expect([400, 404]).toContain(query.status);
    },
  );
});

describe('keys of organizations', () => {
  it('are returned once, listed without the key, and revoked', async () => {
    const { call, acme, tenants } = await openApi();
    const made = await call<NewOrganizationKey>('POST', '/api/v1/organizations/acme/keys', {
      name: 'production',
      expires_at: '2026-04-01T00:00:00.000Z',
    });
    expect(made.status).toBe(201);
    const { key, ...record } = made.body;
    expect(record).toMatchObject({ organization_id: acme.id, name: 'production', revoked_at: null });
    expect(organizationOf(tenants.keys, key)).toBe(acme.id);
    const listed = await call<ApiResponse<'GET /api/v1/organizations/:organization/keys'>>(
      'GET',
      `/api/v1/organizations/${acme.id}/keys`,
    );
    expect(listed.body).toEqual({ keys: [record] });
    const revoked = await call('DELETE', `/api/v1/organizations/ACME/keys/${record.id}`);
    expect(revoked).toMatchObject({ status: 200, body: { revoked_at: '2026-03-01T12:00:00.000Z' } });
    expect(organizationOf(tenants.keys, key)).toBeNull();
  });

  it.each([
    [{}, 'name'],
    [{ name: '\n' }, 'name'],
    [{ name: 'x'.repeat(10_000) }, 'name'],
    [{ name: 'x', expires_at: '2026-02-01T00:00:00.000Z' }, 'expires_at'],
    [{ name: 'x', expires_at: 'soon' }, 'expires_at'],
  ])('are not created from %j', async (body, field) => {
    const { call, tenants } = await openApi();
    const answer = await call('POST', '/api/v1/organizations/acme/keys', body);
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'INPUT_INVALID' } } });
    expect(answer.body.error.message).toContain(field);
    expect(tenants.keys.list('acme')).toEqual([]);
  });

  it('cannot be revoked through another organization', async () => {
    const { call, tenants } = await openApi();
    await tenants.organizations.create('other');
    const { record, key } = await tenants.keys.create('acme', { name: 'x', expiresAt: null });
    expect((await call('DELETE', `/api/v1/organizations/other/keys/${record.id}`)).status).toBe(404);
    expect((await call('DELETE', '/api/v1/organizations/acme/keys/nonsense')).status).toBe(400);
    expect(keyProblem(tenants.keys, key)).toBeNull();
  });

  it('have no access to admin routes, and get the reason only for a complete key', async () => {
    const { call, tenants, world } = await openApi();
    const { key } = await tenants.keys.create('acme', {
      name: 'x',
      expiresAt: new Date(world.clock.now() + 1_000),
    });
    const as = (credential: string) =>
      call('GET', '/api/v1/organizations', undefined, { authorization: `Bearer ${credential}` });
    expect(await as(key)).toMatchObject({ status: 403, body: { error: { code: 'FORBIDDEN' } } });
    const unknown = await as(`hwo_${'x'.repeat(43)}`);
    expect(unknown).toMatchObject({ status: 401 });
    expect(unknown.body.error.message).toContain('These credentials are unknown');
    await world.clock.advance(1_000);
    const expired = await as(key);
    expect(expired.status).toBe(401);
    expect(expired.body.error.message).toContain("This organization's key has expired.");
    expect((await as(key.slice(0, -1))).body.error.message).toContain('These credentials are unknown');
  });
});

describe('deployments', () => {
  it('are created, listed, updated and deleted', async () => {
    const { call, acme } = await openApi();
    const added = await call<DeploymentWithSecret>('POST', '/api/v1/deployments', {
      organization: 'ACME',
      ...prompt,
      webhook_url: 'https://example.com/hook',
    });
    expect(added).toMatchObject({
      status: 201,
      body: {
        ...prompt,
        organization_id: acme.id,
        organization_name: 'acme',
        wait_seconds: 0,
        is_active: true,
        path: `/deployment/api/${acme.id}/Summary`,
        webhook_secret: expect.stringMatching(/^whsec_/),
      },
    });
    const { webhook_secret: _secret, warnings, ...listed } = added.body;
    expect(warnings).toEqual([]);
    for (const query of ['', '?organization=acme', `?organization=${acme.id}`])
      expect((await call(`GET`, `/api/v1/deployments${query}`)).body).toEqual({ deployments: [listed] });
    const path = `/api/v1/deployments/${listed.id}`;
    expect((await call('GET', path)).body).toEqual(added.body);
    const changed = await call<DeploymentWithSecret>('PATCH', path, {
      is_active: false,
      wait_seconds: 2.5,
      webhook_url: null,
    });
    expect(changed.body).toMatchObject({
      ...prompt,
      is_active: false,
      wait_seconds: 2.5,
      webhook_secret: null,
    });
    expect((await call('DELETE', path)).status).toBe(204);
    expect((await call('GET', path)).status).toBe(404);
  });

  it.each([
    [{ name: undefined }, 'body.name'],
    [{ name: 'a/b' }, 'name: must consist of letters'],
    [{ name: 'x'.repeat(10_000) }, 'name: must have 1 to 100'],
    [{ name: 'ünï' }, 'name: must consist of letters'],
    [{ workflow: 'nonsense' }, 'body.workflow'],
    [{ options: [] }, 'body.options'],
    [{ options: 'x' }, 'body.options'],
    [{ options: {} }, 'options.instructions: must be text'],
    [{ wait_seconds: -1 }, 'wait_seconds: must be from 0 to 60'],
    [{ wait_seconds: 61 }, 'wait_seconds: must be from 0 to 60'],
    [{ wait_seconds: 'ten' }, 'body.wait_seconds'],
    [{ is_active: 'yes' }, 'body.is_active'],
    [{ webhook_url: 'https://u:p@example.com' }, 'webhook_url: must not contain a user name'],
    [{ webhook_url: 'gopher://example.com' }, 'webhook_url: must be an http'],
    [{ unknown: 1 }, 'unknown'],
  ])('are not published with %j', async (change, message) => {
    const { call, tenants } = await openApi();
    const answer = await call('POST', '/api/v1/deployments', { organization: 'acme', ...prompt, ...change });
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'INPUT_INVALID' } } });
    expect(answer.body.error.message).toContain(message);
    expect(tenants.deployments.list()).toEqual([]);
  });

  it.each([
    [
      { name: undefined, is_active: 'yes', wait_seconds: '1' },
      'body.name: is missing; body.wait_seconds: must be a number; body.is_active: must be true or false',
    ],
    [{ workflow: 'x' }, 'body.workflow: must be one of structure, prompt, search, ingest'],
    [{ options: [] }, 'body.options: must be an object'],
    [{ organization: '' }, 'body.organization: must not be empty'],
    [{ other: 1 }, 'body.other: is not known here'],
    [{ other: 1, more: 2 }, 'body.other: is not known here; body.more: is not known here'],
  ])('that cannot be read as %j are rejected with a readable message', async (change, message) => {
    const { call } = await openApi();
    const answer = await call('POST', '/api/v1/deployments', { organization: 'acme', ...prompt, ...change });
    expect(answer.body.error.message).toBe(`The request is invalid. ${message}.`);
  });

  it('are rejected for an unknown organization, a taken name, an unknown workflow', async () => {
    const { call } = await openApi();
    const publish = (change: object) =>
      call('POST', '/api/v1/deployments', { organization: 'acme', ...prompt, ...change });
    expect((await publish({})).status).toBe(201);
    expect((await publish({ organization: 'unknown' })).status).toBe(404);
    expect((await publish({ name: 'SUMMARY' })).status).toBe(409);
    const unavailable = await publish({ name: 'x', workflow: 'ingest' });
    expect(unavailable.body.error).toMatchObject({ code: 'INPUT_INVALID' });
    expect(unavailable.status).toBeGreaterThanOrEqual(400);
  });

  it('with deeply nested options are rejected without a stack overflow', async () => {
    const { call } = await openApi();
    const deep = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`;
    const body = `{"organization":"acme","name":"deep","workflow":"prompt","options":${deep}}`;
    const answer = await call('POST', '/api/v1/deployments', body);
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'INPUT_INVALID' } } });
  });

  it('are not partially updated when one field is invalid', async () => {
    const { call } = await openApi();
    const { body } = await call<Deployment>('POST', '/api/v1/deployments', {
      organization: 'acme',
      ...prompt,
    });
    const path = `/api/v1/deployments/${body.id}`;
    expect((await call('PATCH', path, { is_active: false, wait_seconds: 1e12 })).status).toBe(400);
    expect(await call('PATCH', path, { workflow: 'structure' })).toMatchObject({
      status: 400,
      body: {
        error: {
          message:
            'The request is invalid. body.workflow: cannot be changed: publish another deployment instead.',
        },
      },
    });
    expect((await call<Deployment>('GET', path)).body.is_active).toBe(true);
  });
});

it('every change is in the audit log, without the key', async () => {
  const { call, auditRows, acme } = await openApi();
  const made = await call<NewOrganizationKey>('POST', '/api/v1/organizations/acme/keys', { name: 'x' });
  await call('DELETE', `/api/v1/organizations/acme/keys/${made.body.id}`);
  const added = await call<Deployment>('POST', '/api/v1/deployments', {
    organization: 'acme',
    ...prompt,
  });
  await call('PATCH', `/api/v1/deployments/${added.body.id}`, { is_active: false });
  await call('DELETE', `/api/v1/deployments/${added.body.id}`);
  await call('PATCH', `/api/v1/organizations/${acme.id}`, { name: 'a/b' });
  await call('DELETE', '/api/v1/organizations/acme');
  expect(auditRows.map(({ action, subject, outcome }) => [action, subject, outcome]).toReversed()).toEqual([
    ['organizations.create', null, 'completed'],
    ['organizations.create-key', 'organization=acme', 'completed'],
    ['organizations.revoke-key', `organization=acme id=${made.body.id}`, 'completed'],
    ['deployments.create', null, 'completed'],
    ['deployments.update', `id=${added.body.id}`, 'completed'],
    ['deployments.delete', `id=${added.body.id}`, 'completed'],
    ['organizations.update', `organization=${acme.id}`, 'rejected'],
    ['organizations.delete', 'organization=acme', 'completed'],
  ]);
  expect(JSON.stringify(auditRows)).not.toContain(made.body.key.slice(10));
});
