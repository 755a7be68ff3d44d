// The audit trail in Postgres: rows are added, read and, when old enough, deleted; never changed.
import type { IdSource, Redactor } from '../../core/index.ts';
import type { Queryable } from '../../platform/postgres/ports.ts';
import { json, sql } from '../../platform/postgres/sql.ts';
import { checkCursor } from './audit-cursor.ts';
import type { AuditEntry, AuditPage, AuditRecord, AuditTrail } from './audit-trail.ts';
import { storableRecord } from './audit-trail.ts';

export class PostgresAuditTrail implements AuditTrail {
  readonly #database: Queryable;
  readonly #ids: IdSource;
  readonly #redactor: Redactor;

  constructor(database: Queryable, ids: IdSource, redactor: Redactor) {
    this.#database = database;
    this.#ids = ids;
    this.#redactor = redactor;
  }

  async record(record: AuditRecord): Promise<void> {
    const row = storableRecord(record, this.#redactor);
    await this.#database.query(sql`
      insert into audit_log (id, at, actor, action, subject, outcome, status, request_id, details)
      values (${this.#ids.uuid()}::uuid, ${row.at}, ${row.actor}, ${row.action}, ${row.subject}, ${row.outcome},
        ${row.status}, ${row.requestId}, ${json(row.details)}::jsonb)`);
  }

  async list({ limit = 100, before }: AuditPage = {}): Promise<readonly AuditEntry[]> {
    checkCursor(before);
    const { rows } = await this.#database.query<AuditEntry>(sql`
      select id, at, actor, action, subject, outcome, status, request_id as "requestId", details
      from audit_log where ${before ?? null}::uuid is null or id < ${before ?? null}::uuid
      order by id desc limit ${limit}`);
    return rows;
  }

  async purge(before: Date, limit: number): Promise<number> {
    const { affected } = await this.#database.query(sql`
      delete from audit_log where id in (select id from audit_log where at < ${before} order by at limit ${limit})`);
    return affected;
  }
}
