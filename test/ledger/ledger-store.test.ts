// The ledger contract on Postgres, embedded and on a server.
import { afterAll, beforeAll, describe } from 'vitest';
import { systemIds } from '../../src/core/index.ts';
import { itKeepsTheLedgerModel } from '../support/ledger/ledger-model.contract.ts';
import { describeLedgerStoreContract } from '../support/ledger/ledger-store.contract.ts';
import { PostgresLedgerStore } from '../../src/ledger/store.ts';
import { sql } from '../../src/platform/postgres/sql.ts';
import type { MigratedDatabase } from '../support/migrated-databases.ts';
import { migratedDatabases } from '../support/migrated-databases.ts';

describe.each(migratedDatabases)('%s', (name, open) => {
  let opened: MigratedDatabase;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened.dispose());

  const emptyStore = async () => {
    await opened.database.query(sql`truncate ledger_entries`);
    return new PostgresLedgerStore(opened.database, systemIds);
  };

  describeLedgerStoreContract(`Postgres, ${name}`, emptyStore);
  itKeepsTheLedgerModel(`Postgres, ${name}`, emptyStore, 25);
});
