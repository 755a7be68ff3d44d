// The audit trail in memory, for tests.
import type { IdSource, Redactor } from '../../core/index.ts';
import type { AuditEntry, AuditPage, AuditRecord, AuditTrail } from './audit-trail.ts';
import { storableRecord } from './audit-trail.ts';
import { checkCursor } from './audit-cursor.ts';

export class MemoryAuditTrail implements AuditTrail {
  readonly #ids: IdSource;
  readonly #redactor: Redactor;
  #entries: AuditEntry[] = [];

  constructor(ids: IdSource, redactor: Redactor) {
    this.#ids = ids;
    this.#redactor = redactor;
  }

  async record(record: AuditRecord): Promise<void> {
    this.#entries.push({ ...storableRecord(record, this.#redactor), id: this.#ids.uuid() });
  }

  async list({ limit = 100, before }: AuditPage = {}): Promise<readonly AuditEntry[]> {
    checkCursor(before);
    return this.#entries
      .filter((entry) => before === undefined || entry.id < before)
      .sort((a, b) => (a.id < b.id ? 1 : -1))
      .slice(0, limit);
  }

  async purge(before: Date, limit: number): Promise<number> {
    const old = new Set(this.#entries.filter((entry) => entry.at < before).slice(0, limit));
    this.#entries = this.#entries.filter((entry) => !old.has(entry));
    return old.size;
  }
}
