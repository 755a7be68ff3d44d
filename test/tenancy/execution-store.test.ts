// The contract of executions on Postgres, embedded and on a server; the job is a row of the same transaction.
import { afterAll, beforeAll, describe } from 'vitest';
import { systemIds } from '../../src/core/index.ts';
import { describeExecutionStoreContract } from '../support/tenancy/execution-store.contract.ts';
import { PostgresExecutionStore } from '../../src/tenancy/postgres/postgres-execution-store.ts';
import type { Transaction } from '../../src/platform/postgres/index.ts';
import { sql } from '../../src/platform/postgres/sql.ts';
import type { MigratedDatabase } from '../support/migrated-databases.ts';
import { migratedDatabases } from '../support/migrated-databases.ts';

describe.each(migratedDatabases)('%s', (name, open) => {
  let opened: MigratedDatabase;
  beforeAll(async () => {
    opened = await open();
    await opened.database.query(sql`create table test_jobs (id uuid)`);
  });
  afterAll(() => opened.dispose());

  describeExecutionStoreContract(`Postgres, ${name}`, async () => {
    const { database } = opened;
    await database.query(sql`truncate organizations, test_jobs cascade`);
    const homes = [1, 2].map(() => ({
      organizationId: `org_${systemIds.uuid()}`,
      deploymentId: systemIds.uuid(),
    }));
    for (const { organizationId, deploymentId } of homes) {
      await database.query(
        sql`insert into organizations (id, name, name_key, created_at) values (${organizationId}, ${organizationId}, ${organizationId}, now())`,
      );
      await database.query(sql`
        insert into deployments (id, organization_id, name, workflow, options, created_at, modified_at)
        values (${deploymentId}, ${organizationId}, 'api', 'prompt', '{}', now(), now())`);
    }
    const [first, second] = homes;
    if (!first || !second) throw new Error('There are two homes.');
    return {
      store: new PostgresExecutionStore(database),
      homes: [first, second],
      enqueue: async (transaction) => {
        const id = systemIds.uuid();
        await (transaction as Transaction).query(sql`insert into test_jobs (id) values (${id})`);
        return id;
      },
      keptJobs: async () =>
        (await database.query<{ count: number }>(sql`select count(*) as count from test_jobs`)).rows[0]
          ?.count ?? 0,
    };
  });
});
