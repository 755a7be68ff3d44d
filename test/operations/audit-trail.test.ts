// The audit trail on Postgres, embedded and on a server.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Redactor, systemIds } from '../../src/core/index.ts';
import type { AuditRecord } from '../../src/operations/audit.ts';
import { AuditTrail } from '../../src/operations/audit.ts';
import { sql } from '../../src/platform/postgres/index.ts';
import type { MigratedDatabase } from '../support/migrated-databases.ts';
import { migratedDatabases } from '../support/migrated-databases.ts';

const redactor = new Redactor();
redactor.add('hunter22');

const at = (ms: number) => new Date(1_700_000_000_000 + ms);

const auditRecord = (overrides: Partial<AuditRecord> = {}): AuditRecord => ({
  at: at(0),
  actor: 'admin',
  action: 'ledger.repair',
  subject: 'demo.kind',
  outcome: 'completed',
  status: 202,
  requestId: 'request-1',
  details: { dry: true },
  ...overrides,
});

describe.each(migratedDatabases)('audit trail: %s', (_name, open) => {
  let opened: MigratedDatabase;
  let trail: AuditTrail;
  beforeAll(async () => {
    opened = await open();
    trail = new AuditTrail(opened.database, systemIds, redactor);
  });
  beforeEach(async () => void (await opened.database.query(sql`truncate audit_log`)));
  afterAll(() => opened.dispose());

  it('returns what was recorded', async () => {
    const record = auditRecord({ details: { nested: ['ü "quoted"', null, 1.5] } });
    await trail.record(record);
    expect(await trail.list()).toEqual([{ ...record, id: expect.any(String) as string }]);
  });

  it('stores a row without subject, status, request and details', async () => {
    const { details: _, ...bare } = auditRecord({ subject: null, status: null, requestId: null });
    await trail.record(bare);
    expect(await trail.list()).toMatchObject([{ subject: null, status: null, requestId: null, details: {} }]);
  });

  it('lists in pages, each row once, and rejects a cursor that is not an id', async () => {
    for (let row = 0; row < 7; row += 1) await trail.record(auditRecord({ subject: `s${row}`, at: at(row) }));
    const all = await trail.list();
    expect(all).toHaveLength(7);
    const paged = [];
    for (let page = await trail.list({ limit: 3 }); page.length > 0;) {
      paged.push(...page);
      page = await trail.list({ limit: 3, before: page.at(-1)?.id ?? '' });
    }
    expect(paged).toEqual(all);
    await expect(trail.list({ before: 'nonsense' })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });

  it('masks secrets, drops what Postgres rejects and bounds the length', async () => {
    await trail.record(
      auditRecord({
        actor: 'hunter22',
        action: 'x\0 hunter22 \ud800',
        subject: 's'.repeat(5_000),
        requestId: 'hunter22',
        details: { 'hunter22\0': ['hunter22'], password: 'a secret by its name' },
      }),
    );
    const text = JSON.stringify(await trail.list());
    expect(text).not.toMatch(/hunter22|a secret by its name|\\u0000|\\ud800/);
    expect(text.length).toBeLessThan(3_000);
  });

  it('purges old rows, at most the limit at once', async () => {
    for (let row = 0; row < 5; row += 1) await trail.record(auditRecord({ at: at(row) }));
    expect(await trail.purge(at(4), 3)).toBe(3);
    expect(await trail.purge(at(4), 3)).toBe(1);
    expect(await trail.purge(at(4), 3)).toBe(0);
    expect(await trail.list()).toMatchObject([{ at: at(4) }]);
  });
});
