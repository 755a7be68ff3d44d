// The contracts of limit stores and of the registry of servers on Postgres, embedded and on a server.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeLimitStoreContract } from '../support/tenancy/limit-store.contract.ts';
import { describeServerRegistryContract } from '../support/tenancy/server-registry.contract.ts';
import {
  postgresServerRegistry,
  postgresLimitStore,
} from '../../src/tenancy/postgres/postgres-tenant-store.ts';
import { systemIds } from '../../src/core/index.ts';
import { sql } from '../../src/platform/postgres/sql.ts';
import type { MigratedDatabase } from '../support/migrated-databases.ts';
import { migratedDatabases } from '../support/migrated-databases.ts';

describe.each(migratedDatabases)('%s', (kind, open) => {
  let opened: MigratedDatabase;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened.dispose());

  const emptyStore = async () => {
    await opened.database.query(sql`delete from organizations`);
    await opened.database.query(sql`
      insert into organizations (id, name, name_key, created_at)
      values ('org_a', 'a', 'a', now()), ('org_b', 'b', 'b', now())`);
    return postgresLimitStore(opened.database, systemIds);
  };

  describeLimitStoreContract(`Postgres, ${kind}`, emptyStore);

  describeServerRegistryContract(`Postgres, ${kind}`, async () => {
    const { database } = opened;
    await database.query(sql`delete from admission_servers`);
    return {
      registry: postgresServerRegistry(database, 60),
      passLease: async () => {
        await database.query(
          sql`update admission_servers set reported_at = reported_at - interval '61 seconds'`,
        );
      },
    };
  });

  it('rejects limits of unknown organizations, and deletes limits with their organization', async () => {
    const store = await emptyStore();
    await expect(store.set('org_unknown', 5, new Date())).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await store.set('org_a', 5, new Date());
    await opened.database.query(sql`delete from organizations where id = 'org_a'`);
    expect(await store.list()).toEqual([]);
  });
});
