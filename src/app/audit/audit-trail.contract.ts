// What every audit trail promises. Run in memory and on Postgres, embedded and server.
import { describe, expect, it } from 'vitest';
import type { AuditRecord, AuditTrail } from './audit-trail.ts';

const at = (ms: number) => new Date(1_700_000_000_000 + ms);

export const auditRecord = (overrides: Partial<AuditRecord> = {}): AuditRecord => ({
  at: at(0),
  actor: 'admin',
  action: 'ledger.repair',
  subject: 'demo.kind',
  outcome: 'done',
  status: 202,
  requestId: 'request-1',
  details: { dry: true },
  ...overrides,
});

/** `make` gives an empty trail whose redactor knows the secret `hunter22`. */
export function describeAuditTrailContract(name: string, make: () => Promise<AuditTrail>): void {
  describe(`audit trail: ${name}`, () => {
    it('keeps what was recorded', async () => {
      const trail = await make();
      const record = auditRecord({ details: { nested: ['ü "quoted"', null, 1.5] } });
      await trail.record(record);
      expect(await trail.list()).toEqual([{ ...record, id: expect.any(String) as string }]);
    });

    it('keeps a row without subject, status, request and details', async () => {
      const trail = await make();
      const { details: _, ...bare } = auditRecord({ subject: null, status: null, requestId: null });
      await trail.record(bare);
      expect(await trail.list()).toMatchObject([
        { subject: null, status: null, requestId: null, details: {} },
      ]);
    });

    it('lists in pages, each row once', async () => {
      const trail = await make();
      for (let row = 0; row < 7; row += 1)
        await trail.record(auditRecord({ subject: `s${row}`, at: at(row) }));
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

    it('keeps secrets out, and what the store refuses', async () => {
      const trail = await make();
      await trail.record(
        auditRecord({
          actor: 'hunter22',
          action: 'x\0 hunter22 \ud800',
          subject: 's'.repeat(5_000),
          requestId: 'hunter22',
          details: { 'hunter22\0': ['hunter22'], password: 'shown to nobody' },
        }),
      );
      const text = JSON.stringify(await trail.list());
      expect(text).not.toMatch(/hunter22|shown to nobody|\\u0000|\\ud800/);
      expect(text.length).toBeLessThan(3_000);
    });

    it('purges what is old, and no more than asked', async () => {
      const trail = await make();
      for (let row = 0; row < 5; row += 1) await trail.record(auditRecord({ at: at(row) }));
      expect(await trail.purge(at(4), 3)).toBe(3);
      expect(await trail.purge(at(4), 3)).toBe(1);
      expect(await trail.purge(at(4), 3)).toBe(0);
      expect(await trail.list()).toMatchObject([{ at: at(4) }]);
    });
  });
}
