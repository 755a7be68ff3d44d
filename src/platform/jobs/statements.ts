// SQL on pg-boss's job table, for what pg-boss has no call for or only one job and one queue at a time.
// Written for pg-boss's schema version 41 and pinned with it; the contract suite runs every statement on both stores.
import type { JobFilter, JobProgress, JobView } from '../../core/index.ts';
import type { Sql } from '../postgres/sql.ts';
import { identifier, json, sql } from '../postgres/sql.ts';

export const defaultListLimit = 100;

/** Attempts that a crashed process may cost beyond the definition's retries. */
export const crashAllowance = 3;

export const canceledReason = 'It was canceled.';

/** Stored as the reason of a job whose process died. */
export const lostReason = 'The process that ran it stopped without finishing.';

/** One claimed attempt. Every claim raises `retryCount`, so that a worker that lost its claim can write nothing. */
export interface Claim {
  readonly name: string;
  readonly id: string;
  readonly retryCount: number;
}

/**
 * What happens to a job after an attempt:
 *
 *   running ─┬─ completed
 *            ├─ skipped
 *            ├─ retried    (queued again after a delay)
 *            ├─ failed     (no attempt left, or another would end the same way)
 *            └─ released   (queued again as if this attempt had not begun: the process drained)
 */
export interface Settlement {
  readonly kind: 'completed' | 'skipped' | 'retried' | 'failed' | 'released';
  /** Until it may run again. */
  readonly delayMs: number;
  readonly output: JobOutput;
}

export interface SettleRecord extends Claim, Settlement {}

export interface HeartbeatRecord extends Claim {
  /** Absent when unchanged. */
  readonly progress?: JobProgress | undefined;
}

/** The content of pg-boss's `output` column. */
export interface JobOutput {
  readonly result?: unknown;
  readonly skipped?: string;
  readonly reason?: string;
  readonly progress?: JobProgress | undefined;
}

export interface JobRow extends Omit<JobView, 'startAfter' | 'progress' | 'reason' | 'result'> {
  readonly startAfter: Date;
  readonly output: JobOutput | null;
}

export interface ReapedRow {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly retryCount: number;
  /** From the start of its last attempt until now. */
  readonly durationMs: number;
}

export function toJobView({ output, startAfter, ...row }: JobRow): JobView {
  const { progress = null, result = null, skipped, reason = null } = output ?? {};
  return {
    ...row,
    startAfter: row.state === 'queued' ? startAfter : null,
    progress,
    reason: row.state === 'canceled' ? canceledReason : (skipped ?? reason),
    result,
  };
}

/** The names of pg-boss's own queues, which are not listed. */
const internal = sql`${'\\_\\_pgboss\\_\\_%'}`;

export class JobStatements {
  readonly #table: Sql;
  readonly #queues: Sql;
  readonly #state: Sql;

  constructor(schema: string) {
    this.#table = sql`${identifier(schema)}.job`;
    this.#queues = sql`${identifier(schema)}.queue`;
    this.#state = sql`${identifier(schema)}.job_state`;
  }

  /** Writes how attempts ended; returns the ids of those whose claim was still valid. */
  settle(records: readonly SettleRecord[]): Sql {
    return sql`
      update ${this.#table} as j
      set state = (case i.kind when 'retried' then 'retry' when 'released' then 'created' when 'failed' then 'failed'
                   else 'completed' end)::${this.#state},
          completed_on = case when i.kind in ('completed', 'skipped', 'failed') then now() end,
          start_after = case when i.kind in ('retried', 'released')
                        then now() + make_interval(secs => i."delayMs" / 1000) else j.start_after end,
          started_on = case when i.kind <> 'released' then j.started_on end,
          heartbeat_on = null,
          output = case when i.kind = 'released' then j.output else i.output end
      from json_to_recordset(${json(records)}::text::json)
        as i (name text, id uuid, "retryCount" int, kind text, "delayMs" float8, output jsonb)
      where j.name = i.name and j.id = i.id and j.state = 'active' and j.retry_count = i."retryCount"
      returning j.id`;
  }

  /** Writes heartbeats and progress; returns the ids of those whose claim was still valid. */
  heartbeat(records: readonly HeartbeatRecord[]): Sql {
    return sql`
      update ${this.#table} as j
      set heartbeat_on = now(),
          output = case when i.progress is null then j.output
                   else coalesce(j.output, '{}') || jsonb_build_object('progress', i.progress) end
      from json_to_recordset(${json(records)}::text::json)
        as i (name text, id uuid, "retryCount" int, progress jsonb)
      where j.name = i.name and j.id = i.id and j.state = 'active' and j.retry_count = i."retryCount"
      returning j.id`;
  }

  /** Queues jobs again that have had no heartbeat for so long: their process is gone. */
  reap(silentMs: number): Sql {
    return sql`
      update ${this.#table}
      set state = (case when retry_count < retry_limit then 'retry' else 'failed' end)::${this.#state},
          completed_on = case when retry_count < retry_limit then null else now() end,
          start_after = now(),
          heartbeat_on = null,
          output = coalesce(output, '{}') || jsonb_build_object('reason', ${lostReason}::text)
      where state = 'active' and heartbeat_on <= now() - make_interval(secs => ${silentMs / 1000}::float8)
      returning id, name, state::text, retry_count as "retryCount",
        round(extract(epoch from now() - started_on) * 1000)::float8 as "durationMs"`;
  }

  /** Those of the kinds that have a job which may start now. */
  due(names: readonly string[]): Sql {
    return sql`
      select kind.name from unnest(${names}::text[]) as kind (name)
      where exists (
        select from ${this.#table} as j
        where j.name = kind.name and j.state < 'active' and not j.blocked and j.start_after <= now())`;
  }

  /** One more attempt for a failed job. */
  retry(id: string): Sql {
    return sql`
      update ${this.#table} as j
      set state = 'retry', completed_on = null, start_after = now(), retry_limit = j.retry_count + ${1 + crashAllowance}
      from ${this.#queues} as q
      where j.name = q.name and j.id = ${id} and j.state = 'failed'
      returning j.name`;
  }

  get(id: string): Sql {
    return sql`${this.#views()} join ${this.#queues} as q on q.name = j.name where j.id = ${id}`;
  }

  list(filter: JobFilter): Sql {
    const byName = filter.name === undefined ? sql`` : sql`and name = ${filter.name}`;
    const byState = filter.states ? sql`and state = any(${filter.states})` : sql``;
    const after = sql`(select created_on, id from ${this.#table} where id = ${filter.after}::uuid)`;
    const isAfter = filter.after === undefined ? sql`` : sql`and ("createdAt", id) < ${after}`;
    return sql`
      select * from (${this.#views()}) as v where name not like ${internal} ${byName} ${byState} ${isAfter}
      order by "createdAt" desc, id desc limit ${filter.limit ?? defaultListLimit}`;
  }

  counts(): Sql {
    return sql`
      select name, state, count(*) from (${this.#views()}) as v where name not like ${internal} group by name, state`;
  }

  purge(before: Date, limit: number): Sql {
    return sql`
      delete from ${this.#table} as j
      using (select name, id from ${this.#table} where state > 'active' and completed_on < ${before}
             order by completed_on limit ${limit}) as old
      where j.name = old.name and j.id = old.id`;
  }

  #views(): Sql {
    return sql`
      select j.id, j.name, j.data -> 'payload' as payload, j.output,
        case j.state when 'active' then 'running' when 'failed' then 'failed' when 'cancelled' then 'canceled'
          when 'completed' then case when j.output ? 'skipped' then 'skipped' else 'completed' end
          else 'queued' end as state,
        j.retry_count + (j.started_on is not null)::int as attempts,
        j.created_on as "createdAt", j.started_on as "startedAt", j.completed_on as "finishedAt",
        j.start_after as "startAfter"
      from ${this.#table} as j`;
  }
}
