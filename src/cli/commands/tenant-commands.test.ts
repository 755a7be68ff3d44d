// headworks organizations and deployments, against a server double.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { CliWorldOptions } from '../../../test/support/cli-world.ts';
import { CliWorld } from '../../../test/support/cli-world.ts';
import { CoreError } from '../../core/index.ts';

const created_at = '2026-03-01T11:00:00.000Z';
const acme = { id: 'org_a1b2c3d4e5f6g7h8', name: 'acme', created_at };
const key = {
  id: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b',
  organization_id: acme.id,
  name: 'production',
  prefix: 'hwo_abc123',
  created_at,
  expires_at: '2026-03-02T12:00:00.000Z',
  revoked_at: null,
};
const invoices = {
  id: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5c',
  organization_id: acme.id,
  organization_name: 'acme',
  name: 'Invoices',
  workflow: 'structure',
  options: { schema: {} },
  webhook_url: 'https://example.com/hook',
  wait_seconds: 2,
  is_active: true,
  path: `/deployment/api/${acme.id}/Invoices`,
  created_at,
  modified_at: created_at,
};

function world(options: CliWorldOptions = {}): CliWorld {
  return new CliWorld({
    answer: ({ method, path, query }) => {
      if (path.includes('/unknown')) throw new CoreError('NOT_FOUND', 'There is no organization "unknown".');
      if (path.endsWith('/keys')) return method === 'POST' ? { ...key, key: 'hwo_the-key' } : { keys: [key] };
      if (path.includes('/keys/')) return { ...key, revoked_at: created_at };
      if (path === '/api/v1/organizations') return method === 'POST' ? acme : { organizations: [acme] };
      if (path.startsWith('/api/v1/organizations/')) return method === 'DELETE' ? undefined : acme;
      if (path === '/api/v1/deployments' && method === 'GET') {
        const other = { ...invoices, id: '1', organization: 'other', name: 'shared' };
        return {
          deployments: query?.['organization'] ? [invoices] : [invoices, other, { ...other, id: '2' }],
        };
      }
      return method === 'DELETE'
        ? undefined
        : { ...invoices, webhook_secret: 'whsec_x', warnings: ['There is no model "x".'] };
    },
    ...options,
  });
}

describe('headworks organizations', () => {
  it('lists, creates and renames', async () => {
    const at = world();
    expect(await at.run('organizations')).toBe(0);
    expect(at.out).toMatch(/org_a1b2c3d4e5f6g7h8\s+acme\s+1 h ago/);
    expect(await at.run('organizations', 'create', 'Acme Corp.')).toBe(0);
    expect(at.calls.at(-1)).toMatchObject({ method: 'POST', body: { name: 'Acme Corp.' } });
    expect(await at.run('organizations', 'update', 'a b', '--name', 'c')).toBe(0);
    expect(at.calls.at(-1)).toMatchObject({
      method: 'PATCH',
      path: '/api/v1/organizations/a%20b',
      body: { name: 'c' },
    });
  });

  it('shows one with its keys and deployments', async () => {
    const at = world();
    expect(await at.run('organizations', 'get', 'acme')).toBe(0);
    expect(at.out).toMatch(/keys\s+production \(active, expires in 1 d\)/);
    expect(at.out).toMatch(/deployments\s+Invoices/);
    const json = world();
    await json.run('organizations', 'get', 'acme', '--json');
    expect(JSON.parse(json.out)).toEqual({ ...acme, keys: [key], deployments: [invoices] });
    expect(await at.run('organizations', 'get', 'unknown')).toBe(1);
    expect(at.err).toContain('There is no organization');
  });

  it('asks before it deletes, by id', async () => {
    const no = world({ stdin: 'n\n' });
    expect(await no.run('organizations', 'delete', 'acme')).toBe(1);
    expect(no.err).toMatch(/^Delete acme \(org_a1b2c3d4e5f6g7h8\).*\[y\/N\]: \n$/);
    expect(no.calls.map(({ method }) => method)).toEqual(['GET']);
    const yes = world({ stdin: 'yes\n', isTty: true });
    expect(await yes.run('organizations', 'delete', 'acme')).toBe(0);
    expect(yes.calls.at(-1)).toMatchObject({ method: 'DELETE', path: `/api/v1/organizations/${acme.id}` });
    expect(yes.err).toMatch(/\[y\/N\]: $/);
    const forced = world();
    expect(await forced.run('organizations', 'delete', 'acme', '--force', '--json')).toBe(0);
    expect(JSON.parse(forced.out)).toEqual({ deleted: acme.id });
    const silent = world();
    expect(await silent.run('organizations', 'delete', 'acme', '--json')).toBe(2);
    expect(silent.calls.filter(({ method }) => method === 'DELETE')).toEqual([]);
  });
});

describe('headworks organizations keys', () => {
  it('creates a key and shows it once, alone on standard output', async () => {
    const at = world();
    expect(await at.run('organizations', 'keys', 'create', 'acme', 'ci', '--expires-days', '30')).toBe(0);
    expect(at.out).toBe('hwo_the-key\n');
    expect(at.err).toContain(`/deployment/api/${acme.id}/NAME`);
    expect(at.calls[0]).toMatchObject({
      path: '/api/v1/organizations/acme/keys',
      body: { name: 'ci', expires_at: '2026-03-31T12:00:00.000Z' },
    });
    expect(await at.run('organizations', 'keys', 'create', 'acme')).toBe(2);
  });

  it('lists, and revokes by name or id', async () => {
    const at = world();
    expect(await at.run('organizations', 'keys', 'list', 'acme')).toBe(0);
    expect(at.out).toMatch(/production\s+hwo_abc123…\s+active, expires in 1 d\s+1 h ago/);
    for (const wanted of ['production', key.id]) {
      expect(await at.run('organizations', 'keys', 'revoke', 'acme', wanted, '--force')).toBe(0);
      expect(at.calls.at(-1)).toMatchObject({
        method: 'DELETE',
        path: `/api/v1/organizations/acme/keys/${key.id}`,
      });
    }
    expect(await at.run('organizations', 'keys', 'revoke', 'acme', 'other', '--force')).toBe(1);
    expect(at.err).toContain('"headworks organizations keys list" lists all');
  });
});

describe('headworks deployments', () => {
  async function folder(): Promise<string> {
    const cwd = await mkdtemp(join(tmpdir(), 'headworks-test-'));
    onTestFinished(() => rm(cwd, { recursive: true }));
    await writeFile(join(cwd, 'invoice.yaml'), 'schema:\n  type: object\n');
    await writeFile(join(cwd, 'bad.yaml'), 'schema: [');
    return cwd;
  }
  const adding = ['deployments', 'create', 'Invoices', '--organization', 'acme', '--workflow', 'structure'];

  it('publishes with options from a file', async () => {
    const at = world({ cwd: await folder() });
    const flags = [
      '--options',
      'invoice.yaml',
      '--wait-seconds',
      '2.5',
      '--webhook-url',
      'https://x',
      '--inactive',
    ];
    expect(await at.start(...adding, ...flags)).toBe(0);
    expect(at.calls[0]).toMatchObject({
      method: 'POST',
      path: '/api/v1/deployments',
      body: {
        organization: 'acme',
        name: 'Invoices',
        workflow: 'structure',
        options: { schema: { type: 'object' } },
        webhook_url: 'https://x',
        wait_seconds: 2.5,
        is_active: false,
      },
    });
    expect(at.out).toMatch(/webhook secret\s+whsec_x/);
    expect(at.err).toContain('⚠ There is no model "x".');
  });

  it.each([
    ['an unknown workflow', ['deployments', 'create', 'x', '--organization', 'acme', '--workflow', 'magic']],
    ['no organization', ['deployments', 'create', 'x', '--workflow', 'prompt']],
    ['a wait that is no number', [...adding, '--wait-seconds', 'long']],
    ['a file that is no YAML', [...adding, '--options', 'bad.yaml']],
    ['a file that is not there', [...adding, '--options', 'none.yaml']],
    ['nothing to change', ['deployments', 'update', 'acme/Invoices']],
  ])('rejects %s before any call', async (_what, words) => {
    const at = world({ cwd: await folder() });
    expect(await at.start(...words)).toBe(2);
    expect(at.err).toMatch(/^headworks: ./);
    expect(at.calls).toEqual([]);
  });

  it('accepts an id, ORGANIZATION/NAME, or a unique name', async () => {
    for (const wanted of [invoices.id, 'acme/invoices', `${acme.id}/INVOICES`, 'invoices']) {
      const at = world();
      expect(await at.run('deployments', 'get', wanted)).toBe(0);
      expect(at.calls.at(-1)).toMatchObject({ method: 'GET', path: `/api/v1/deployments/${invoices.id}` });
    }
    const at = world();
    expect(await at.run('deployments', 'get', 'shared')).toBe(1);
    expect(at.err).toContain('Several organizations have a deployment shared');
    expect(await at.run('deployments', 'get', 'none')).toBe(1);
  });

  it('lists, updates, enables, disables and deletes', async () => {
    const at = world();
    expect(await at.run('deployments', 'list', '--organization', 'acme')).toBe(0);
    expect(at.calls[0]).toMatchObject({ query: { organization: 'acme' } });
    expect(at.out).toMatch(/acme\/Invoices\s+structure\s+enabled\s+\/deployment\/api\//);
    const changed = async (words: readonly string[], body: object) => {
      expect(await at.run('deployments', ...words)).toBe(0);
      expect(at.calls.at(-1)).toMatchObject({ method: 'PATCH', path: `/api/v1/deployments/${invoices.id}` });
      expect(at.calls.at(-1)?.body).toEqual(body);
    };
    await changed(['update', 'acme/invoices', '--no-webhook-url', '--name', 'bills'], {
      name: 'bills',
      webhook_url: null,
    });
    await changed(['update', 'acme/invoices', '--wait-seconds', '0'], { wait_seconds: 0 });
    await changed(['enable', 'acme/invoices'], { is_active: true });
    await changed(['disable', 'acme/invoices'], { is_active: false });
    expect(await world({ stdin: 'no' }).run('deployments', 'delete', 'acme/invoices')).toBe(1);
    expect(await at.run('deployments', 'delete', 'acme/invoices', '--force')).toBe(0);
    expect(at.calls.at(-1)).toMatchObject({ method: 'DELETE' });
  });
});
