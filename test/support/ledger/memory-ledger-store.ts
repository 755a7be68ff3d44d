// The ledger in memory.
import type { IdSource } from '../../../src/core/index.ts';
import type {
  LedgerCount,
  LedgerEntry,
  LedgerFilter,
  LedgerStore,
  SeenDegradation,
} from '../../../src/ledger/store.ts';
import { completeFilter, mergeRows, mergeSeen, rowKey } from '../../../src/ledger/store.ts';

export class MemoryLedgerStore implements LedgerStore {
  readonly #ids: IdSource;
  readonly #entries = new Map<string, LedgerEntry>();

  constructor(ids: IdSource) {
    this.#ids = ids;
  }

  async record(seen: readonly SeenDegradation[]): Promise<void> {
    for (const row of mergeRows(seen)) {
      const open = this.#open().find((entry) => rowKey(entry) === rowKey(row));
      const entry = open ? { ...open, ...mergeSeen(open, row) } : newEntry(this.#ids.uuid(), row);
      this.#entries.set(entry.id, entry);
    }
  }

  async list(filter: LedgerFilter): Promise<readonly LedgerEntry[]> {
    const { state, kind, subject, after, limit } = completeFilter(filter);
    return [...this.#entries.values()]
      .filter((entry) => state === 'all' || (state === 'open') === (entry.resolvedAt === null))
      .filter((entry) => kind === undefined || entry.kind === kind)
      .filter((entry) => subject === undefined || entry.subject === subject)
      .filter((entry) => after === undefined || entry.id < after)
      .sort((a, b) => (a.id < b.id ? 1 : -1))
      .slice(0, limit);
  }

  async get(id: string): Promise<LedgerEntry | null> {
    return this.#entries.get(id) ?? null;
  }

  async due(kinds: readonly string[], now: Date, limit: number): Promise<readonly LedgerEntry[]> {
    const dueSince = (entry: LedgerEntry) => (entry.nextRepairAt ?? entry.firstSeenAt).getTime();
    return this.#open()
      .filter((entry) => kinds.includes(entry.kind))
      .filter((entry) => entry.nextRepairAt === null || entry.nextRepairAt <= now)
      .sort((a, b) => dueSince(a) - dueSince(b) || (a.id < b.id ? -1 : 1))
      .slice(0, limit);
  }

  async counts(): Promise<readonly LedgerCount[]> {
    const byKind = Map.groupBy(this.#entries.values(), (entry) => entry.kind);
    return Array.from(byKind, ([kind, entries]) => {
      const open = entries.filter((entry) => entry.resolvedAt === null).length;
      return { kind, open, resolved: entries.length - open };
    }).sort((a, b) => (a.kind < b.kind ? -1 : 1));
  }

  async markResolved(id: string, resolution: string, at: Date, seenCount: number): Promise<boolean> {
    const entry = this.#entries.get(id);
    if (!entry || entry.resolvedAt || entry.count !== seenCount) return false;
    this.#entries.set(id, { ...entry, resolvedAt: at, resolution, nextRepairAt: null });
    return true;
  }

  async markRepairFailed(id: string, error: string, nextRepairAt: Date): Promise<void> {
    const entry = this.#entries.get(id);
    if (!entry || entry.resolvedAt) return;
    const repairAttempts = entry.repairAttempts + 1;
    this.#entries.set(id, { ...entry, repairAttempts, lastRepairError: error, nextRepairAt });
  }

  async purge(before: Date, limit: number): Promise<number> {
    const old = [...this.#entries.values()]
      .filter((entry) => entry.resolvedAt !== null && entry.resolvedAt < before)
      .slice(0, limit);
    for (const { id } of old) this.#entries.delete(id);
    return old.length;
  }

  #open(): LedgerEntry[] {
    return [...this.#entries.values()].filter((entry) => entry.resolvedAt === null);
  }
}

function newEntry(id: string, row: SeenDegradation): LedgerEntry {
  return {
    ...row,
    id,
    resolvedAt: null,
    resolution: null,
    repairAttempts: 0,
    nextRepairAt: null,
    lastRepairError: null,
  };
}
