// The contract of sources and runs on Postgres, embedded and on a server.
import { afterAll, beforeAll, describe } from 'vitest';
import { PostgresRunStore, PostgresSourceStore } from '../../src/extraction/runs/stores.ts';
import { sql } from '../../src/platform/postgres/sql.ts';
import { describeRunStoresContract } from '../support/extraction/run-stores.contract.ts';
import type { MigratedDatabase } from '../support/migrated-databases.ts';
import { migratedDatabases } from '../support/migrated-databases.ts';

describe.each(migratedDatabases)('%s', (name, open) => {
  let opened: MigratedDatabase;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened.dispose());

  describeRunStoresContract(`Postgres, ${name}`, async () => {
    const { database } = opened;
    await database.query(sql`truncate extraction_sources, extraction_runs`);
    return {
      sources: new PostgresSourceStore(database),
      runs: new PostgresRunStore(database),
      inTransaction: (work) => database.transaction(work),
    };
  });
});
