// Contract of stores of organizations, keys and deployments.
import { describe, expect, it, onTestFinished } from 'vitest';
import { exampleDeployment, exampleOrganization, exampleOrganizationKey, moment } from './examples.ts';
import type { Deployment } from '../../../src/tenancy/index.ts';
import type { TenantStores } from '../../../src/tenancy/types.ts';

export interface TenantStoresUnderTest {
  readonly stores: TenantStores;
  /** Begins an execution of the deployment; the returned function ends it. */
  readonly beginExecution: (deployment: Deployment) => Promise<() => Promise<void>>;
}

/** `make` returns empty stores. */
export function describeTenantStoresContract(name: string, make: () => Promise<TenantStoresUnderTest>): void {
  const withOrganizations = async () => {
    const made = await make();
    const [one, two] = [exampleOrganization(1), exampleOrganization(2)];
    await made.stores.organizations.create(one);
    await made.stores.organizations.create(two);
    return { ...made, one, two };
  };

  describe(`organizations in ${name}`, () => {
    it('are returned as created, oldest first', async () => {
      const { stores } = await make();
      const [young, old] = [exampleOrganization(2, { name: 'Zürich "x"' }), exampleOrganization(1)];
      await stores.organizations.create(young);
      await stores.organizations.create(old);
      expect(await stores.organizations.list()).toEqual([old, young]);
    });

    it.each([
      ['Acme', 'aCME'],
      ['Ärzte Straße', 'ärzte STRASSE'],
      ['Ａcme', 'acme'],
      ['I', 'i'],
      ['a b', 'A  B'],
    ])('cannot be called %s and %s at once', async (first, second) => {
      const { organizations } = (await make()).stores;
      await organizations.create(exampleOrganization(1, { name: first }));
      const taken = organizations.create(exampleOrganization(2, { name: second }));
      await expect(taken).rejects.toMatchObject({
        code: 'CONFLICT',
        message: expect.stringContaining(`named "${first}"`),
      });
      expect(await organizations.list()).toHaveLength(1);
    });

    it('are renamed, also to another spelling of their own name, but not to a taken one', async () => {
      const { stores, one, two } = await withOrganizations();
      const { organizations } = stores;
      await expect(organizations.rename(one.id, two.name.toUpperCase())).rejects.toMatchObject({
        code: 'CONFLICT',
      });
      expect(await organizations.rename(one.id, 'ACME 1')).toEqual({ ...one, name: 'ACME 1' });
      expect(await organizations.list()).toEqual([{ ...one, name: 'ACME 1' }, two]);
      expect(await organizations.rename('org_unknown', 'x')).toBeNull();
    });

    it('are deleted with their keys and deployments, and not those of others', async () => {
      const { stores, one, two } = await withOrganizations();
      await stores.keys.create(exampleOrganizationKey(1));
      const kept = exampleOrganizationKey(2, { organizationId: two.id });
      await stores.keys.create(kept);
      await stores.deployments.create(exampleDeployment(1));
      const published = exampleDeployment(2, { organizationId: two.id });
      await stores.deployments.create(published);
      expect(await stores.organizations.delete(one.id)).toBe(true);
      expect(await stores.organizations.list()).toEqual([two]);
      expect(await stores.keys.list()).toEqual([kept]);
      expect(await stores.deployments.list()).toEqual([published]);
      expect(await stores.organizations.delete(one.id)).toBe(false);
    });

    it('are not deleted while an execution is unfinished', async () => {
      const { stores, one, beginExecution } = await withOrganizations();
      await stores.deployments.create(exampleDeployment(1));
      const end = await beginExecution(exampleDeployment(1));
      await expect(stores.organizations.delete(one.id)).rejects.toMatchObject({ code: 'CONFLICT' });
      expect(await stores.deployments.list()).toHaveLength(1);
      await end();
      expect(await stores.organizations.delete(one.id)).toBe(true);
      expect(await stores.deployments.list()).toEqual([]);
    });
  });

  describe(`keys of organizations in ${name}`, () => {
    it('are returned as created, oldest first', async () => {
      const { stores } = await withOrganizations();
      const full = exampleOrganizationKey(2, { name: 'ü "x"', expiresAt: moment(9) });
      await stores.keys.create(full);
      await stores.keys.create(exampleOrganizationKey(1));
      expect(await stores.keys.list()).toEqual([exampleOrganizationKey(1), full]);
    });

    it('are revoked once; the first time is kept', async () => {
      const { stores } = await withOrganizations();
      const { hash, ...key } = exampleOrganizationKey(1);
      await stores.keys.create({ ...key, hash });
      const revoked = { ...key, revokedAt: moment(10) };
      expect(await stores.keys.revoke(key.id, moment(10))).toEqual(revoked);
      expect(await stores.keys.revoke(key.id, moment(20))).toEqual(revoked);
      expect(await stores.keys.list()).toEqual([{ ...revoked, hash }]);
    });

    it('require an existing organization, and are unknown until created', async () => {
      const { stores } = await make();
      await expect(stores.keys.create(exampleOrganizationKey(1))).rejects.toMatchObject({
        code: 'NOT_FOUND',
      });
      expect(await stores.keys.revoke(exampleOrganizationKey(7).id, moment(0))).toBeNull();
      expect(await stores.keys.revoke('nonsense', moment(0))).toBeNull();
    });
  });

  describe(`deployments in ${name}`, () => {
    it('are returned as created, oldest first, options in order', async () => {
      const { stores } = await withOrganizations();
      const full = exampleDeployment(2, {
        workflow: 'structure',
        options: { schema: { z: 1, a: [null, 'ü\u0000\ud800'] }, b: { d: 1.5, c: true } },
        webhookUrl: 'https://example.com/hook?x=1',
        waitSeconds: 2.5,
        isActive: false,
      });
      await stores.deployments.create(full);
      await stores.deployments.create(exampleDeployment(1));
      const found = await stores.deployments.list();
      expect(found).toEqual([exampleDeployment(1), full]);
      expect(JSON.stringify(found[1]?.options)).toBe(JSON.stringify(full.options));
    });

    it('have a unique name within their organization, regardless of case', async () => {
      const { stores, two } = await withOrganizations();
      const { deployments } = stores;
      await deployments.create(exampleDeployment(1, { name: 'Invoices' }));
      const same = deployments.create(exampleDeployment(2, { name: 'iNVOICES' }));
      const taken = { code: 'CONFLICT', message: expect.stringContaining('named "Invoices"') as string };
      await expect(same).rejects.toMatchObject(taken);
      await deployments.create(exampleDeployment(3, { name: 'invoices', organizationId: two.id }));
      await deployments.create(exampleDeployment(4, { name: 'other' }));
      const renamed = deployments.update(exampleDeployment(4).id, { name: 'INVOICES' }, moment(9));
      await expect(renamed).rejects.toMatchObject(taken);
    });

    it('require an organization', async () => {
      const { stores } = await make();
      await expect(stores.deployments.create(exampleDeployment(1))).rejects.toMatchObject({
        code: 'NOT_FOUND',
      });
    });

    it('are updated field by field, so that two concurrent updates are both kept', async () => {
      const { stores } = await withOrganizations();
      const { deployments } = stores;
      const deployment = exampleDeployment(1, { webhookUrl: 'https://example.com/' });
      await deployments.create(deployment);
      const { id } = deployment;
      await Promise.all([
        deployments.update(id, { isActive: false, webhookUrl: null }, moment(20)),
        deployments.update(id, { options: { instructions: 'x' }, waitSeconds: 3 }, moment(20)),
      ]);
      const changed = {
        ...deployment,
        isActive: false,
        webhookUrl: null,
        options: { instructions: 'x' },
        waitSeconds: 3,
        modifiedAt: moment(20),
      };
      expect(await deployments.list()).toEqual([changed]);
      expect(await deployments.update(id, { name: 'INVOICES-1' }, moment(30))).toEqual({
        ...changed,
        name: 'INVOICES-1',
        modifiedAt: moment(30),
      });
      expect(await deployments.update(exampleDeployment(9).id, { isActive: true }, moment(0))).toBeNull();
      expect(await deployments.update('nonsense', {}, moment(0))).toBeNull();
    });

    it('are deleted only when no execution is unfinished', async () => {
      const { stores, beginExecution } = await withOrganizations();
      const deployment = exampleDeployment(1);
      await stores.deployments.create(deployment);
      const end = await beginExecution(deployment);
      await expect(stores.deployments.delete(deployment.id)).rejects.toMatchObject({ code: 'CONFLICT' });
      await end();
      expect(await stores.deployments.delete(deployment.id)).toBe(true);
      expect(await stores.deployments.delete(deployment.id)).toBe(false);
      expect(await stores.deployments.delete('nonsense')).toBe(false);
      expect(await stores.deployments.list()).toEqual([]);
    });
  });

  it(`changes in ${name} are notified to all watchers on a shared store`, async () => {
    const { stores } = await make();
    const { changes } = stores;
    const received = new Set<string>();
    onTestFinished(await changes.watch((topic) => void received.add(topic)));
    await stores.organizations.create(exampleOrganization(1));
    await stores.keys.create(exampleOrganizationKey(1));
    await stores.deployments.create(exampleDeployment(1));
    const all = ['deployments', 'keys', 'organizations'];
    if (!changes.isShared) return expect([...received]).toEqual([]);
    await expect.poll(() => [...received].sort()).toEqual(all);
    received.clear();
    await stores.organizations.delete(exampleOrganization(1).id);
    await expect.poll(() => [...received].sort()).toEqual(all);
  });
}
