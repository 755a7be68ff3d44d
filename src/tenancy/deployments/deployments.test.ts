import { describe, expect, it } from 'vitest';
import { Redactor } from '../../core/index.ts';
import { exampleWorkflow } from '../../../test/support/tenancy/examples.ts';
import { tenantWorld } from '../../../test/support/tenancy/tenant-world.ts';
import { webhookUrlProblem } from './deployments.ts';

const input = {
  name: 'Invoices',
  workflow: 'prompt',
  options: { instructions: 'Summarize.' },
  webhookUrl: null,
  waitSeconds: 0,
  isActive: true,
} as const;

async function setUp(change: Parameters<ReturnType<typeof tenantWorld>['open']>[0] = {}) {
  const world = tenantWorld();
  const tenants = await world.open(change);
  const acme = await tenants.organizations.create('acme');
  const other = await tenants.organizations.create('other');
  return { world, ...tenants, acme, other };
}

describe('DeploymentService', () => {
  it('finds a deployment by id, and by organization and name', async () => {
    const { deployments, acme } = await setUp();
    const added = await deployments.create('acme', input);
    expect(added).toMatchObject({ ...input, organizationId: acme.id });
    expect(deployments.get(added.id)).toBe(added);
    expect(deployments.find('ACME', 'iNVOICES')).toBe(added);
    expect(deployments.find(acme.id, 'Invoices')).toBe(added);
    expect(deployments.find('acme', added.id)).toBe(added);
    expect(() => deployments.find('other', added.id)).toThrow('has no deployment');
    expect(deployments.list('acme')).toEqual([added]);
    expect(deployments.list('other')).toEqual([]);
    expect(() => deployments.find('other', 'Invoices')).toThrow('has no deployment "Invoices"');
    expect(() => deployments.list('unknown')).toThrow('There is no organization "unknown"');
  });

  it('reports all problems in one error, and creates nothing', async () => {
    const { deployments } = await setUp();
    const bad = {
      ...input,
      name: 'a/b',
      options: { other: 1 },
      webhookUrl: 'ftp://x',
      waitSeconds: 61,
    };
    await expect(deployments.create('acme', bad)).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      details: {
        problems: [
          { field: 'name', message: expect.stringContaining('must consist of letters') },
          { field: 'wait_seconds', message: expect.stringContaining('from 0 to 60') },
          { field: 'webhook_url', message: 'must be an http or https URL' },
          { field: 'options.instructions', message: 'must be text' },
          { field: 'options.other', message: 'is not known' },
        ],
      },
    });
    for (const waitSeconds of [-1, Number.NaN, Number.POSITIVE_INFINITY])
      await expect(deployments.create('acme', { ...input, waitSeconds })).rejects.toThrow('wait_seconds');
    expect(deployments.list()).toEqual([]);
  });

  it('rejects options that are too large or nested too deeply', async () => {
    const { deployments } = await setUp();
    const deep = JSON.parse(`${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`) as Record<string, unknown>;
    await expect(deployments.create('acme', { ...input, options: deep })).rejects.toThrow(
      'nested too deeply',
    );
    const large = { instructions: 'x'.repeat(300_000) };
    await expect(deployments.create('acme', { ...input, options: large })).rejects.toThrow('262144 bytes');
  });

  it('rejects a workflow that this version does not have', async () => {
    const { deployments } = await setUp();
    await expect(deployments.create('acme', { ...input, workflow: 'ingest' })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: 'Nothing was changed. workflow: "ingest" is not a workflow of this version.',
    });
  });

  it('updates only the given fields, in all processes', async () => {
    const { world, deployments } = await setUp();
    const two = await world.open();
    const added = await deployments.create('acme', input);
    await deployments.create('acme', { ...input, name: 'taken' });
    await world.clock.advance(5);
    const changed = await two.deployments.update(added.id, { isActive: false, name: 'bills' });
    expect(changed).toEqual({
      ...added,
      isActive: false,
      name: 'bills',
      modifiedAt: new Date(world.clock.now()),
    });
    await world.clock.advance(0);
    expect(deployments.find('acme', 'bills')).toEqual(changed);
    expect(() => deployments.find('acme', 'Invoices')).toThrow('has no deployment');
    await expect(deployments.update(added.id, { name: 'TAKEN' })).rejects.toMatchObject({ code: 'CONFLICT' });
    await expect(deployments.update(added.id, { options: {} })).rejects.toThrow('options.instructions');
    await expect(deployments.update('nonsense', {})).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('prefers an id over a name that looks like one, and accepts no such name', async () => {
    const { world, deployments } = await setUp();
    const added = await deployments.create('acme', input);
    for (const name of [added.id, added.id.toUpperCase()]) {
      const asId = { code: 'INPUT_INVALID', message: expect.stringContaining('form of an id') as string };
      await expect(deployments.create('acme', { ...input, name })).rejects.toMatchObject(asId);
      await expect(deployments.update(added.id, { name })).rejects.toMatchObject(asId);
    }
    const second = await deployments.create('acme', { ...input, name: 'second' });
    await world.stores.deployments.update(second.id, { name: added.id }, second.modifiedAt);
    const { deployments: next } = await world.open();
    expect(next.find('acme', added.id)).toEqual(added);
    expect(next.find('acme', second.id)).toMatchObject({ name: added.id });
  });

  it('can still be renamed or disabled when its workflow is gone', async () => {
    const { world, deployments } = await setUp();
    const { id } = await deployments.create('acme', input);
    const poor = await world.open({ workflows: [] });
    expect(await poor.deployments.update(id, { isActive: false })).toMatchObject({ isActive: false });
    await expect(poor.deployments.update(id, { options: input.options })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
    });
  });

  it('deletes a deployment without unfinished executions', async () => {
    const { world, deployments } = await setUp();
    const { id } = await deployments.create('acme', input);
    world.unfinished.add(id);
    await expect(deployments.delete(id)).rejects.toMatchObject({ code: 'CONFLICT' });
    world.unfinished.clear();
    expect(await deployments.delete(id)).toMatchObject({ id });
    await expect(deployments.delete(id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(() => deployments.find('acme', 'Invoices')).toThrow('has no deployment');
  });
});

describe('a signing secret', () => {
  const webhookUrl = 'https://example.com/hook';

  it('is stable, differs per deployment, and is absent without a webhook', async () => {
    const { world, deployments } = await setUp();
    const one = await deployments.create('acme', { ...input, webhookUrl });
    const two = await deployments.create('acme', { ...input, webhookUrl, name: 'b' });
    const secret = deployments.signingSecret(one);
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(deployments.signingSecret(one)).toBe(secret);
    expect(deployments.signingSecret(two)).not.toBe(secret);
    expect(deployments.signingSecret({ ...one, webhookUrl: null })).toBeNull();
    const elsewhere = await world.open({ webhookSecret: 'another-secret-of-theirs' });
    expect(elsewhere.deployments.signingSecret(one)).not.toBe(secret);
  });

  it('fails without a master secret, and names the setting', async () => {
    const { deployments } = await setUp({ webhookSecret: null });
    const rejected = deployments.create('acme', { ...input, webhookUrl });
    await expect(rejected).rejects.toThrow(/webhook_url: .*HEADWORKS_WEBHOOK_SECRET/);
    const plain = await deployments.create('acme', input);
    expect(() => deployments.signingSecret({ ...plain, webhookUrl })).toThrow('HEADWORKS_WEBHOOK_SECRET');
  });
});

describe('a webhook URL', () => {
  const isForbidden = (hostname: string) => ['localhost', '169.254.169.254', '[::1]'].includes(hostname);

  it.each(['http://hooks.internal:8080/x', 'https://example.com', 'https://[2606:4700::1111]/?a=b'])(
    'may be %s',
    (url) => expect(webhookUrlProblem(url, isForbidden)).toBeNull(),
  );

  it.each(['http://localhost:8080/x', 'http://169.254.169.254/latest', 'https://[::1]/?a=b'])(
    'may be %s only where webhooks to private networks are allowed',
    (url) => {
      expect(webhookUrlProblem(url, isForbidden)).toContain('HEADWORKS_WEBHOOK_ALLOW_PRIVATE');
      expect(webhookUrlProblem(url, () => false)).toBeNull();
    },
  );

  it.each([
    '',
    'example.com',
    '/hook',
    'ftp://example.com',
    'javascript:alert(1)',
    'file:///etc/passwd',
    ' https://example.com',
    'https://exa\nmple.com',
    'https://user:password@example.com',
    'https://token@example.com',
    'https://example.com/#x',
    'http://localhost',
    `https://example.com/${'x'.repeat(3_000)}`,
  ])('is rejected with a message that redaction does not change: %j', (url) => {
    const problem = webhookUrlProblem(url, isForbidden);
    expect(problem).toMatch(/^must /);
    const message = `Nothing was changed. webhook_url: ${problem}.`;
    expect(new Redactor().text(message)).toBe(message);
  });
});

describe('warnings of a deployment', () => {
  it('come from its workflow at this moment, and do not prevent its creation', async () => {
    const known = new Set<string>();
    const prompt = {
      ...exampleWorkflow('prompt'),
      warnings: async ({ instructions }: Readonly<Record<string, unknown>>) =>
        known.has(String(instructions)) ? [] : [`There is no ${String(instructions)}`],
    };
    const { deployments } = await setUp({ workflows: [prompt] });
    const added = await deployments.create('acme', input);
    expect(await deployments.warnings(added)).toEqual(['There is no Summarize.']);
    known.add('Summarize.');
    expect(await deployments.warnings(added)).toEqual([]);
  });
});
