// Organizations, keys and deployments on both databases, synchronized between processes.
import { keyProblem, organizationOf } from '../support/tenancy/tenant-world.ts';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { silentEmitter, systemClock, systemIds, systemRandom } from '../../src/core/index.ts';
import { exampleDeployment, exampleOrganization, exampleWorkflow } from '../support/tenancy/examples.ts';
import { openTenants } from '../../src/tenancy/open-tenancy.ts';
import { postgresTenantStores } from '../../src/tenancy/postgres/postgres-tenant-store.ts';
import { describeTenantStoresContract } from '../support/tenancy/tenant-stores.contract.ts';
import type { Database } from '../../src/platform/postgres/ports.ts';
import { openServerDatabase } from '../../src/platform/postgres/server/server-store.ts';
import { sql } from '../../src/platform/postgres/sql.ts';
import type { MigratedDatabase } from '../support/migrated-databases.ts';
import { migratedDatabase, migratedDatabases } from '../support/migrated-databases.ts';
import { databaseUrl, uniqueName } from '../support/services.ts';

async function beginExecution(
  database: Database,
  deployment: { readonly id: string; readonly organizationId: string },
): Promise<() => Promise<void>> {
  const id = systemIds.uuid();
  await database.query(sql`
    insert into executions (id, organization_id, deployment_id, status, request_hash, job_id, parameters, accepted_at)
    values (${id}, ${deployment.organizationId}, ${deployment.id}, 'queued', '', ${id}, '{}', now())`);
  return async () => {
    await database.query(
      sql`update executions set status = 'canceled', finished_at = now() where id = ${id}`,
    );
  };
}

describe.each(migratedDatabases)('on %s Postgres', (name, open) => {
  let opened: MigratedDatabase;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened.dispose());

  describeTenantStoresContract(`${name} Postgres`, async () => {
    await opened.database.query(sql`delete from organizations`);
    return {
      stores: postgresTenantStores(opened.database),
      beginExecution: (deployment) => beginExecution(opened.database, deployment),
    };
  });
});

/** It takes milliseconds; the safety poll would take fifteen seconds, so within five only a notification does it. */
const soon = { timeout: 60_000, interval: 10 };

describe('two processes on one server', () => {
  const schema = uniqueName('headworks');
  const openDatabase = () =>
    openServerDatabase({ url: databaseUrl(), schema, clock: systemClock, poolSize: 3 });
  let opened: MigratedDatabase;
  beforeAll(async () => {
    opened = await migratedDatabase(await openDatabase());
  });
  afterAll(() => opened.dispose());

  async function open() {
    const database = await openDatabase();
    const tenants = await openTenants({
      clock: systemClock,
      random: systemRandom,
      ids: systemIds,
      events: silentEmitter,
      stores: postgresTenantStores(database),
      workflows: [exampleWorkflow()],
      maxWaitSeconds: 60,
      webhookSecret: null,
      isForbiddenHost: () => false,
    });
    onTestFinished(async () => {
      await tenants.close();
      await database.close();
    });
    return tenants;
  }

  it('see what the other created, updated, revoked and deleted', async () => {
    const [one, two] = [await open(), await open()];
    const { id } = await one.organizations.create('acme');
    const { key, record } = await one.keys.create('acme', { name: 'ci', expiresAt: null });
    await expect.poll(() => organizationOf(two.keys, key), soon).toBe(id);
    const input = {
      ...exampleDeployment(1),
      name: 'invoices',
      waitSeconds: 1,
    };
    const { name, workflow, options, webhookUrl, waitSeconds, isActive } = input;
    const added = await one.deployments.create(id, {
      name,
      workflow,
      options,
      webhookUrl,
      waitSeconds,
      isActive,
    });
    await expect.poll(() => two.deployments.list('acme'), soon).toEqual([added]);
    await two.deployments.update(added.id, { isActive: false });
    await expect.poll(() => one.deployments.find('ACME', 'Invoices').isActive, soon).toBe(false);
    await two.keys.revoke(id, record.id);
    await expect.poll(() => keyProblem(one.keys, key), soon).toBe('revoked');
    await one.organizations.delete('acme');
    await expect.poll(() => two.organizations.list(), soon).toEqual([]);
    await expect.poll(() => two.deployments.list(), soon).toEqual([]);
    expect([one, two].map(({ keys }) => organizationOf(keys, key))).toEqual([null, null]);
  });

  it('create one of two concurrent organizations with the same name', async () => {
    const [one, two] = [await open(), await open()];
    const results = await Promise.allSettled([
      one.organizations.create('Ärzte'),
      two.organizations.create('ÄRZTE'),
    ]);
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  it('delete nothing while an execution is being added', async () => {
    const { database } = opened;
    const stores = postgresTenantStores(database);
    const organization = exampleOrganization(7);
    await stores.organizations.create(organization);
    const deployment = exampleDeployment(7, { organizationId: organization.id });
    await stores.deployments.create(deployment);
    let removal: Promise<boolean> = Promise.resolve(false);
    await database.transaction(async (transaction) => {
      const id = systemIds.uuid();
      await transaction.query(sql`
        insert into executions
          (id, organization_id, deployment_id, status, request_hash, job_id, parameters, accepted_at)
        values (${id}, ${organization.id}, ${deployment.id}, 'queued', '', ${id}, '{}', now())`);
      removal = postgresTenantStores(other).organizations.delete(organization.id);
      removal.catch(() => undefined);
      // It waits for our lock: seen from a third connection, so that nothing here depends on how long that takes.
      await expect.poll(() => isWaiting(third), soon).toBe(true);
    });
    await expect(removal).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(await stores.organizations.list()).toContainEqual(organization);
  });

  let other: Database;
  let third: Database;
  beforeAll(async () => {
    [other, third] = [await openDatabase(), await openDatabase()];
  });
  afterAll(async () => {
    await other.close();
    await third.close();
  });
});

async function isWaiting(database: Database): Promise<boolean> {
  const { rows } = await database.query(sql`
    select from pg_locks join pg_class on pg_class.oid = relation
    join pg_namespace on pg_namespace.oid = relnamespace
    where nspname = ${database.schema} and relname = 'organizations'
      and pg_locks.pid in (select pid from pg_locks where not granted)`);
  return rows.length > 0;
}
