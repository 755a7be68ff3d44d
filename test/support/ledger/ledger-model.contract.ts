// A model-based test of LedgerStore: random commands against a simple model.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { at, seen } from './ledger-store.contract.ts';
import type { LedgerEntry, LedgerStore } from '../../../src/ledger/store.ts';
import { rowKey } from '../../../src/ledger/store.ts';

type Step =
  | { readonly do: 'record'; readonly rows: readonly { readonly key: number; readonly count: number }[] }
  | { readonly do: 'repair'; readonly pick: number }
  | { readonly do: 'fail'; readonly pick: number }
  | { readonly do: 'purge'; readonly before: number; readonly limit: number };

const row = fc.record({ key: fc.nat(5), count: fc.integer({ min: 1, max: 5 }) });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('record'), rows: fc.array(row, { maxLength: 6 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('repair'), pick: fc.nat(50) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('fail'), pick: fc.nat(50) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('purge'), before: fc.nat(20), limit: fc.nat(3) }),
  },
);
/** Steps of one wave run concurrently; the next wave starts when all have ended. */
const waves = fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { maxLength: 12 });

const subjectOf = (key: number) => ({ kind: `demo.kind-${key % 2}`, subject: `subject-${key}` });

class Run {
  readonly #store: LedgerStore;
  readonly #recorded = new Map<string, number>();
  /** Every row ever listed, and the count with which it was closed. */
  readonly #everSeen = new Map<string, LedgerEntry>();
  readonly #closed = new Map<string, number>();
  #time = 0;

  constructor(store: LedgerStore) {
    this.#store = store;
  }

  async wave(steps: readonly Step[]): Promise<void> {
    const open = await this.#store.list({ limit: 1_000 });
    this.#time += 1;
    await Promise.all(steps.map((next) => this.#take(next, open)));
    await this.#check();
  }

  async #take(next: Step, open: readonly LedgerEntry[]): Promise<void> {
    const now = at(this.#time);
    switch (next.do) {
      case 'record':
        for (const { key, count } of next.rows) {
          const name = rowKey(subjectOf(key));
          this.#recorded.set(name, (this.#recorded.get(name) ?? 0) + count);
        }
        return this.#store.record(
          next.rows.map(({ key, count }) => seen({ ...subjectOf(key), count, lastSeenAt: now })),
        );
      case 'repair': {
        const entry = open[next.pick % Math.max(open.length, 1)];
        if (entry && (await this.#store.markResolved(entry.id, 'repair', now, entry.count))) {
          expect(this.#closed.has(entry.id)).toBe(false);
          this.#closed.set(entry.id, entry.count);
        }
        return undefined;
      }
      case 'fail': {
        const entry = open[next.pick % Math.max(open.length, 1)];
        return entry ? this.#store.markRepairFailed(entry.id, 'no', now) : undefined;
      }
      case 'purge':
        expect(await this.#store.purge(at(next.before), next.limit)).toBeLessThanOrEqual(next.limit);
        return undefined;
    }
  }

  async #check(): Promise<void> {
    const rows = await this.#store.list({ state: 'all', limit: 1_000 });
    for (const entry of rows) this.#everSeen.set(entry.id, entry);
    const present = new Set(rows.map(({ id }) => id));
    for (const [id, count] of this.#closed)
      if (present.has(id)) expect(this.#everSeen.get(id)).toMatchObject({ count });
    // Only closed rows are purged.
    for (const id of this.#everSeen.keys()) expect(present.has(id) || this.#closed.has(id)).toBe(true);
    const open = rows.filter(({ resolvedAt }) => resolvedAt === null);
    expect(new Set(open.map(rowKey)).size).toBe(open.length);
    expect(this.#countsOf(open)).toEqual(this.#recorded);
  }

  /** What was recorded is in the open row, or in rows that were closed, purged or not. */
  #countsOf(open: readonly LedgerEntry[]): Map<string, number> {
    const counts = new Map<string, number>();
    const add = (entry: LedgerEntry, count: number) =>
      counts.set(rowKey(entry), (counts.get(rowKey(entry)) ?? 0) + count);
    for (const entry of open) add(entry, entry.count);
    for (const [id, count] of this.#closed) {
      const entry = this.#everSeen.get(id);
      if (entry) add(entry, count);
    }
    return counts;
  }
}

/** `make` returns an empty store each time. */
export function itKeepsTheLedgerModel(name: string, make: () => Promise<LedgerStore>, runs: number): void {
  it(`${name}: one open row per kind and subject, counts add up, nothing is lost`, async () => {
    await fc.assert(
      fc.asyncProperty(waves, async (plan) => {
        const run = new Run(await make());
        for (const steps of plan) await run.wave(steps);
      }),
      { numRuns: runs },
    );
  });
}
