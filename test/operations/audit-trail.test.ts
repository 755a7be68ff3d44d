// The audit trail in Postgres keeps the contract, embedded and on a server.
import { afterAll, beforeAll, describe } from 'vitest';
import { describeAuditTrailContract } from '../../src/app/audit/audit-trail.contract.ts';
import { PostgresAuditTrail } from '../../src/app/audit/index.ts';
import { Redactor, systemIds } from '../../src/core/index.ts';
import { sql } from '../../src/platform/postgres/sql.ts';
import type { MigratedDatabase } from '../support/migrated-databases.ts';
import { migratedDatabases } from '../support/migrated-databases.ts';

const redactor = new Redactor();
redactor.add('hunter22');

describe.each(migratedDatabases)('%s', (name, open) => {
  let opened: MigratedDatabase;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened.dispose());

  describeAuditTrailContract(`Postgres, ${name}`, async () => {
    await opened.database.query(sql`truncate audit_log`);
    return new PostgresAuditTrail(opened.database, systemIds, redactor);
  });
});
