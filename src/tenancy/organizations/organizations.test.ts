import { describe, expect, it } from 'vitest';
import { tenantWorld, keyProblem, organizationOf } from '../../../test/support/tenancy/tenant-world.ts';
import { isOrganizationId, newOrganizationId } from './organizations.ts';

/** A feed that loses notifications. */
const feedWithoutNotifications = { isShared: true, watch: async () => async () => undefined };

describe('organizations', () => {
  it('are found by id and by name, regardless of spelling', async () => {
    const { organizations } = await tenantWorld().open();
    const added = await organizations.create('Zürich Corp');
    expect(added.id).toMatch(/^org_[0-9A-Za-z]{16}$/);
    for (const reference of [added.id, 'Zürich Corp', 'ZÜRICH  corp', 'Zu\u0308rich Corp'])
      expect(organizations.find(reference)).toEqual(added);
    expect(organizations.list()).toEqual([added]);
  });

  it.each(['', 'unknown', 'org_0000000000000000', 'ORG_', 'x'.repeat(10_000), '\u202e', '__proto__'])(
    'there is none called %j',
    async (reference) => {
      const { organizations } = await tenantWorld().open();
      await organizations.create('acme');
      const find = () => organizations.find(reference);
      expect(find).toThrowError(expect.objectContaining({ code: 'NOT_FOUND' }));
      expect(find).toThrow(/^.{1,200}$/);
    },
  );

  it('keep their id when renamed, and are not found by the old name', async () => {
    const { organizations } = await tenantWorld().open();
    const { id } = await organizations.create('acme');
    await organizations.create('other');
    expect(await organizations.rename('acme', 'Acme GmbH')).toMatchObject({ id, name: 'Acme GmbH' });
    expect(() => organizations.find('acme')).toThrow('There is no organization');
    await expect(organizations.rename(id, 'OTHER')).rejects.toMatchObject({ code: 'CONFLICT' });
    await expect(organizations.rename(id, 'a/b')).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    expect(organizations.find(id).name).toBe('Acme GmbH');
  });

  it('are deleted with everything they own, unless an execution is unfinished', async () => {
    const world = tenantWorld();
    const { organizations, keys, deployments } = await world.open();
    const { id } = await organizations.create('acme');
    const { key } = await keys.create(id, { name: 'ci', expiresAt: null });
    const options = { instructions: 'x' };
    const input = {
      name: 'a',
      workflow: 'prompt',
      options,
      webhookUrl: null,
      waitSeconds: 0,
      isActive: true,
    } as const;
    const deployment = await deployments.create(id, input);
    world.unfinished.add(id);
    await expect(organizations.delete('acme')).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(organizationOf(keys, key)).toBe(id);
    world.unfinished.clear();
    expect(await organizations.delete('acme')).toMatchObject({ id });
    expect(organizationOf(keys, key)).toBeNull();
    expect(keyProblem(keys, key)).toBeNull();
    expect(() => deployments.get(deployment.id)).toThrow('There is no deployment');
    await expect(organizations.delete(id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('are read from memory while the store is down, and cannot be changed then', async () => {
    const world = tenantWorld();
    const { organizations } = await world.open();
    const acme = await organizations.create('acme');
    world.goAway();
    expect(organizations.find('acme')).toEqual(acme);
    await expect(organizations.create('b')).rejects.toMatchObject({ code: 'STATE_UNAVAILABLE' });
    await expect(organizations.delete('acme')).rejects.toMatchObject({ code: 'STATE_UNAVAILABLE' });
    expect(organizations.list()).toEqual([acme]);
    await expect(world.open()).rejects.toMatchObject({ code: 'STATE_UNAVAILABLE' });
    expect(world.emitted).toContainEqual(
      expect.objectContaining({
        name: 'tenants:store-failed',
        payload: { what: 'organizations', cause: 'STATE_UNAVAILABLE' },
      }),
    );
  });

  it('reach other processes by notification or by polling', async () => {
    const world = tenantWorld();
    const one = await world.open();
    const two = await world.open();
    const polling = await world.open({ stores: { ...world.stores, changes: feedWithoutNotifications } });
    await one.organizations.create('acme');
    await world.clock.advance(0);
    expect(two.organizations.list()).toHaveLength(1);
    expect(polling.organizations.list()).toHaveLength(0);
    await world.clock.advance(15_000);
    expect(polling.organizations.list()).toHaveLength(1);
    for (const each of [one, two, polling]) await each.close();
    expect(world.clock.pending).toBe(0);
  });
});

it('a change between listening and loading is not missed', async () => {
  const world = tenantWorld();
  const one = await world.open();
  let isFirst = true;
  const organizations = {
    ...world.stores.organizations,
    list: async () => {
      const found = await world.stores.organizations.list();
      if (isFirst) {
        isFirst = false;
        await one.organizations.create('acme');
      }
      return found;
    },
  };
  const two = await world.open({ stores: { ...world.stores, organizations } });
  await world.clock.advance(0);
  expect(two.organizations.list()).toHaveLength(1);
  for (const each of [one, two]) await each.close();
});

it('an id consists of letters and digits, whatever the random source returns', () => {
  const tokens = ['-_-_-_a', '--bcdefghijklmnopqrstuvwxyz'];
  const ids = { uuid: () => '', token: () => tokens.shift() ?? '' };
  expect(newOrganizationId(ids)).toBe('org_abcdefghijklmnop');
  expect(isOrganizationId('org_abcdefghijklmnop')).toBe(true);
  for (const no of [
    'org_abcdefghijklmno',
    'org_abcdefghijklmnop1',
    'ORG_abcdefghijklmnop',
    'org_abcdefghijklmn-p',
  ])
    expect(isOrganizationId(no)).toBe(false);
});
