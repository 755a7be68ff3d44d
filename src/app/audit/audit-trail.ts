// The port to the audit trail: who did what with administrative rights. Adapters: Postgres, and in memory for tests.
import type { Redactor } from '../../core/index.ts';
import { plainValue } from '../../core/index.ts';

export interface AuditRecord {
  readonly at: Date;
  /** `admin`, or the id of a key; never a credential. */
  readonly actor: string;
  /** For example `ledger.repair` or `POST /api/v1/jobs/:id/retry`. */
  readonly action: string;
  /** What it was done to. */
  readonly subject: string | null;
  readonly outcome: 'done' | 'refused' | 'failed';
  /** The HTTP status that was answered, if it came that way. */
  readonly status: number | null;
  readonly requestId: string | null;
  readonly details?: Readonly<Record<string, unknown>>;
}

export interface AuditEntry extends Required<AuditRecord> {
  readonly id: string;
}

export interface AuditPage {
  /** Default 100. */
  readonly limit?: number;
  /** Continue with what is older than this entry (its id). */
  readonly before?: string;
}

export interface AuditTrail {
  /** Resolves when the row is durable. Secrets in it are masked. */
  record(record: AuditRecord): Promise<void>;
  /** Newest first. A cursor that is no id fails with INPUT_INVALID. */
  list(page?: AuditPage): Promise<readonly AuditEntry[]>;
  /** Deletes rows from before `before`, at most `limit`; how many went. */
  purge(before: Date, limit: number): Promise<number>;
}

const longestText = 1_000;

/** What a store gets to see: clean of secrets and of what Postgres refuses (NUL, half a surrogate pair), bounded. */
export function storableRecord(record: AuditRecord, redactor: Redactor): Required<AuditRecord> {
  const text = (raw: string) =>
    redactor.text(raw).replaceAll('\0', '').toWellFormed().slice(0, longestText).toWellFormed();
  return {
    ...record,
    actor: text(record.actor),
    action: text(record.action),
    subject: record.subject === null ? null : text(record.subject),
    requestId: record.requestId === null ? null : text(record.requestId),
    details: plainValue(redactor.value(record.details ?? {}), { text }) as Record<string, unknown>,
  };
}
