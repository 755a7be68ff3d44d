// Retention on a real store: old rows are deleted, the others are kept.
import { expect, it, onTestFinished } from 'vitest';
import { EventBus, Redactor, systemClock, systemIds } from '../../src/core/index.ts';
import { PostgresLedgerStore } from '../../src/ledger/store.ts';
import { AuditTrail } from '../../src/operations/audit.ts';
import { coreRetentionRules, retentionEvents, runRetention } from '../../src/operations/retention.ts';
import { openServerDatabase } from '../../src/platform/postgres/server/server-store.ts';
import { sql } from '../../src/platform/postgres/sql.ts';
import { migratedDatabase } from '../support/migrated-databases.ts';
import { databaseUrl, uniqueName } from '../support/services.ts';

it('deletes old audit rows and old resolved ledger rows, and nothing that is young or open', async () => {
  const { database, dispose } = await migratedDatabase(
    await openServerDatabase({ url: databaseUrl(), schema: uniqueName('retention'), clock: systemClock }),
  );
  onTestFinished(dispose);
  await database.query(sql`
    insert into audit_log (id, at, actor, action, outcome)
    select gen_random_uuid(), now() - age * interval '1 day', 'admin', 'x', 'completed' from generate_series(1, 1500) age`);
  await database.query(sql`
    insert into ledger_entries
      (id, kind, subject, cause, message, count, first_seen_at, last_seen_at, resolved_at, resolution)
    select gen_random_uuid(), 'demo.kind', age::text, 'X', 'x', 1, now() - interval '10 years', now(),
      case when age % 2 = 0 then now() - age * interval '1 day' end, case when age % 2 = 0 then 'repair' end
    from generate_series(1, 100) age`);
  const rules = coreRetentionRules(
    {
      audit: new AuditTrail(database, systemIds, new Redactor()),
      ledger: new PostgresLedgerStore(database, systemIds),
      jobs: { purge: async () => 0 },
    },
    { auditDays: 365, ledgerDays: 10, jobsDays: 0 },
  );
  const report = await runRetention({
    clock: systemClock,
    events: new EventBus(retentionEvents),
    ledger: { record: async () => undefined },
    rules,
  });
  // Rows exactly as old as the limit may fall on either side of it.
  expect(report['audit']).toBeGreaterThanOrEqual(1_135);
  expect(report['audit']).toBeLessThanOrEqual(1_136);
  expect(report['ledger']).toBeGreaterThanOrEqual(45);
  expect(report['ledger']).toBeLessThanOrEqual(46);
  const { rows } = await database.query<{ open: number }>(
    sql`select count(*) as open from ledger_entries where resolved_at is null`,
  );
  expect(rows).toEqual([{ open: 50 }]);
});
