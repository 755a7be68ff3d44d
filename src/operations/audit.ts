// The audit trail in Postgres: rows are added, read and, after their retention time, deleted; never updated.
import type { IdSource, Redactor } from '../core/index.ts';
import { CoreError, isUuid, plainValue, storableText } from '../core/index.ts';
import type { Queryable } from '../platform/postgres/index.ts';
import { json, sql } from '../platform/postgres/index.ts';

export interface AuditRecord {
  readonly at: Date;
  /** `admin`, or the id of a key; never a credential. */
  readonly actor: string;
  /** The operation id, for example `ledger.repair`. */
  readonly action: string;
  /** What it was done to. */
  readonly subject: string | null;
  /** By the HTTP status: below 400, below 500, the rest. */
  readonly outcome: 'completed' | 'rejected' | 'failed';
  /** The HTTP status of the response; null for actions that did not come over HTTP. */
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
  /** Only entries older than the one with this id. */
  readonly before?: string;
}

export class AuditTrail {
  readonly #database: Queryable;
  readonly #ids: IdSource;
  readonly #redactor: Redactor;

  constructor(database: Queryable, ids: IdSource, redactor: Redactor) {
    this.#database = database;
    this.#ids = ids;
    this.#redactor = redactor;
  }

  /** Resolves when the row is durable. Secrets in it are masked. */
  async record(record: AuditRecord): Promise<void> {
    const row = storableRecord(record, this.#redactor);
    await this.#database.query(sql`
      insert into audit_log (id, at, actor, action, subject, outcome, status, request_id, details)
      values (${this.#ids.uuid()}::uuid, ${row.at}, ${row.actor}, ${row.action}, ${row.subject}, ${row.outcome},
        ${row.status}, ${row.requestId}, ${json(row.details)}::jsonb)`);
  }

  /** Newest first. Fails with INPUT_INVALID when `before` is not an id. */
  async list({ limit = 100, before }: AuditPage = {}): Promise<readonly AuditEntry[]> {
    if (before !== undefined && !isUuid(before))
      throw new CoreError(
        'INPUT_INVALID',
        'The cursor is not the id of an audit entry. Use an id from the list.',
      );
    const { rows } = await this.#database.query<AuditEntry>(sql`
      select id, at, actor, action, subject, outcome, status, request_id as "requestId", details
      from audit_log where ${before ?? null}::uuid is null or id < ${before ?? null}::uuid
      order by id desc limit ${limit}`);
    return rows;
  }

  /** Deletes at most `limit` rows from before `before` and returns how many. */
  async purge(before: Date, limit: number): Promise<number> {
    const { affected } = await this.#database.query(sql`
      delete from audit_log where id in (select id from audit_log where at < ${before} order by at limit ${limit})`);
    return affected;
  }
}

const maxTextLength = 1_000;

/** The record without secrets, every text storable and of a maximum length. */
function storableRecord(record: AuditRecord, redactor: Redactor): Required<AuditRecord> {
  const text = (raw: string) => storableText(redactor.text(raw), maxTextLength);
  return {
    ...record,
    actor: text(record.actor),
    action: text(record.action),
    subject: record.subject === null ? null : text(record.subject),
    requestId: record.requestId === null ? null : text(record.requestId),
    details: plainValue(redactor.value(record.details ?? {}), { text }) as Record<string, unknown>,
  };
}
