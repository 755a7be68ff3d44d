// The contract of LedgerStore, run by each implementation.
import { describe, expect, it } from 'vitest';
import type { LedgerEntry, LedgerStore, SeenDegradation } from '../../../src/ledger/store.ts';

export const at = (ms: number): Date => new Date(1_700_000_000_000 + ms);

export function seen(overrides: Partial<SeenDegradation> = {}): SeenDegradation {
  const lastSeenAt = overrides.lastSeenAt ?? at(0);
  return {
    kind: 'demo.kind',
    subject: 'subject-1',
    cause: 'TIMEOUT',
    message: 'It took too long.',
    details: {},
    count: 1,
    firstSeenAt: lastSeenAt,
    ...overrides,
    lastSeenAt,
  };
}

/** `make` returns an empty store. */
export function describeLedgerStoreContract(name: string, make: () => Promise<LedgerStore>): void {
  const only = async (store: LedgerStore): Promise<LedgerEntry> => {
    const [entry, ...others] = await store.list({ state: 'all' });
    expect(others).toEqual([]);
    if (!entry) throw new Error('The ledger is empty.');
    return entry;
  };

  describe(`ledger store: ${name}`, () => {
    it('keeps a new degradation as an open row with all its fields', async () => {
      const store = await make();
      const details = {
        page: 3,
        nested: { list: [1, 'two', null, true] },
        'quote " and \\ and ü 😀': "it's",
      };
      await store.record([seen({ details, count: 2, firstSeenAt: at(-5), lastSeenAt: at(7) })]);
      const entry = await only(store);
      expect(entry).toEqual({
        id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
        kind: 'demo.kind',
        subject: 'subject-1',
        cause: 'TIMEOUT',
        message: 'It took too long.',
        details,
        count: 2,
        firstSeenAt: at(-5),
        lastSeenAt: at(7),
        resolvedAt: null,
        resolution: null,
        repairAttempts: 0,
        nextRepairAt: null,
        lastRepairError: null,
      });
      expect(await store.get(entry.id)).toEqual(entry);
    });

    it('counts repetitions, and keeps the cause of the newest', async () => {
      const store = await make();
      await store.record([seen({ cause: 'FIRST', lastSeenAt: at(10) })]);
      await store.record([seen({ cause: 'LATE', lastSeenAt: at(20), count: 3 })]);
      await store.record([seen({ cause: 'STALE', lastSeenAt: at(5) })]);
      expect(await only(store)).toMatchObject({
        cause: 'LATE',
        count: 5,
        firstSeenAt: at(5),
        lastSeenAt: at(20),
      });
    });

    it('adds up a row that occurs several times in one call', async () => {
      const store = await make();
      await store.record([seen(), seen({ subject: 'other' }), seen({ count: 4 })]);
      expect(await store.list({ subject: 'subject-1' })).toMatchObject([{ count: 5 }]);
      expect(await store.list({ subject: 'other' })).toMatchObject([{ count: 1 }]);
    });

    it('does nothing when nothing is recorded', async () => {
      const store = await make();
      await store.record([]);
      expect(await store.list({ state: 'all' })).toEqual([]);
      expect(await store.counts()).toEqual([]);
    });

    it('keeps one open row per kind and subject under many writers', async () => {
      const store = await make();
      const subjects = ['a', 'b', 'c', 'd'];
      const calls = Array.from({ length: 24 }, (_, call) =>
        store.record(
          // Every writer names them in another order: rows must not be locked in different orders.
          subjects.map((_subject, index) => seen({ subject: subjects[(index + call) % 4] ?? '' })),
        ),
      );
      await Promise.all(calls);
      const rows = await store.list({});
      expect(rows.map(({ subject, count }) => `${subject}${count}`).sort()).toEqual([
        'a24',
        'b24',
        'c24',
        'd24',
      ]);
    });

    it('opens a new row when what was resolved fails again', async () => {
      const store = await make();
      await store.record([seen()]);
      const first = await only(store);
      expect(await store.markResolved(first.id, 'repair', at(50), 1)).toBe(true);
      await store.record([seen({ lastSeenAt: at(60) })]);
      const [open] = await store.list({});
      expect(open?.id).not.toBe(first.id);
      expect(open).toMatchObject({ count: 1, firstSeenAt: at(60) });
      expect(await store.get(first.id)).toMatchObject({
        resolvedAt: at(50),
        resolution: 'repair',
        count: 1,
      });
    });

    it('does not close a row that was seen again, even within the same millisecond', async () => {
      const store = await make();
      await store.record([seen()]);
      const before = await only(store);
      await store.record([seen()]);
      expect(await store.markResolved(before.id, 'repair', at(1), before.count)).toBe(false);
      expect(await only(store)).toMatchObject({ resolvedAt: null, count: 2 });
    });

    it('closes a row once', async () => {
      const store = await make();
      await store.record([seen()]);
      const { id } = await only(store);
      expect(await store.markResolved(id, 'gone', at(1), 1)).toBe(true);
      expect(await store.markResolved(id, 'repair', at(2), 1)).toBe(false);
      await store.markRepairFailed(id, 'too late', at(3));
      expect(await store.get(id)).toMatchObject({
        resolvedAt: at(1),
        resolution: 'gone',
        repairAttempts: 0,
        lastRepairError: null,
      });
    });

    it('keeps the backoff of a row that fails again', async () => {
      const store = await make();
      await store.record([seen()]);
      const { id } = await only(store);
      await store.markRepairFailed(id, 'still away', at(1_000));
      await store.markRepairFailed(id, 'still away, too', at(2_000));
      await store.record([seen({ lastSeenAt: at(500) })]);
      expect(await store.get(id)).toMatchObject({
        repairAttempts: 2,
        lastRepairError: 'still away, too',
        nextRepairAt: at(2_000),
        count: 2,
      });
    });

    it('returns due rows of the given kinds, longest overdue first', async () => {
      const store = await make();
      await store.record([
        seen({ subject: 'new', lastSeenAt: at(300) }),
        seen({ subject: 'old', lastSeenAt: at(100) }),
        seen({ subject: 'tried', lastSeenAt: at(0) }),
        seen({ subject: 'later', lastSeenAt: at(0) }),
        seen({ subject: 'done', lastSeenAt: at(0) }),
        seen({ kind: 'demo.other', subject: 'other', lastSeenAt: at(0) }),
      ]);
      const ids = new Map((await store.list({})).map((entry) => [entry.subject, entry.id]));
      await store.markRepairFailed(ids.get('tried') ?? '', 'no', at(200));
      await store.markRepairFailed(ids.get('later') ?? '', 'no', at(1_001));
      await store.markResolved(ids.get('done') ?? '', 'repair', at(1), 1);
      const due = async (limit: number) =>
        (await store.due(['demo.kind'], at(1_000), limit)).map((entry) => entry.subject);
      expect(await due(10)).toEqual(['old', 'tried', 'new']);
      expect(await due(2)).toEqual(['old', 'tried']);
      expect(await store.due([], at(1_000), 10)).toEqual([]);
    });

    it('lists by state, kind and subject, in pages, newest row first', async () => {
      const store = await make();
      for (const subject of ['a', 'b', 'c', 'd', 'e']) await store.record([seen({ subject })]);
      await store.record([seen({ kind: 'demo.other', subject: 'a' })]);
      const all = await store.list({ state: 'all' });
      expect(all.map(({ id }) => id)).toEqual(
        all
          .map(({ id }) => id)
          .sort()
          .toReversed(),
      );
      expect(all).toHaveLength(6);
      const resolved = all.find(({ subject }) => subject === 'b')?.id ?? '';
      await store.markResolved(resolved, 'repair', at(1), 1);
      expect(await store.list({})).toHaveLength(5);
      expect(await store.list({ state: 'resolved' })).toMatchObject([{ id: resolved }]);
      expect(await store.list({ kind: 'demo.other' })).toMatchObject([{ subject: 'a' }]);
      expect(await store.list({ subject: 'a', state: 'all' })).toHaveLength(2);
      const first = await store.list({ state: 'all', limit: 4 });
      const second = await store.list({ state: 'all', limit: 4, after: first.at(-1)?.id ?? '' });
      expect([...first, ...second].map(({ id }) => id)).toEqual(all.map(({ id }) => id));
    });

    it('counts open and resolved rows by kind, in the order of names', async () => {
      const store = await make();
      await store.record([
        seen({ kind: 'b.two' }),
        seen({ kind: 'a.one' }),
        seen({ kind: 'B.three' }),
        seen({ kind: 'a.one', subject: 'x' }),
      ]);
      const [entry] = await store.list({ kind: 'a.one' });
      await store.markResolved(entry?.id ?? '', 'repair', at(1), 1);
      expect(await store.counts()).toEqual([
        { kind: 'B.three', open: 1, resolved: 0 },
        { kind: 'a.one', open: 1, resolved: 1 },
        { kind: 'b.two', open: 1, resolved: 0 },
      ]);
    });

    it('purges only rows resolved before the given time, and at most the given number', async () => {
      const store = await make();
      await store.record(['a', 'b', 'c', 'd'].map((subject) => seen({ subject })));
      for (const [index, { id }] of (await store.list({})).entries())
        if (index < 3) await store.markResolved(id, 'repair', at(index), 1);
      expect(await store.purge(at(0), 10)).toBe(0);
      expect(await store.purge(at(3), 2)).toBe(2);
      expect(await store.purge(at(3), 2)).toBe(1);
      expect(await store.list({ state: 'all' })).toMatchObject([{ resolvedAt: null }]);
    });

    it('finds nothing for invalid ids', async () => {
      const store = await make();
      expect(await store.get('nonsense')).toBeNull();
      expect(await store.get('018bcfe5-6800-7000-8000-000000000000')).toBeNull();
      expect(await store.markResolved('nonsense', 'repair', at(0), 1)).toBe(false);
      await expect(store.markRepairFailed('nonsense', 'no', at(0))).resolves.toBeUndefined();
      await expect(store.list({ after: 'nonsense' })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    });
  });
}
