// What we ask of pg-boss's job table ourselves: it has no call for these, or only one job and one kind at a time.
// Bound to pg-boss's schema version 41 and pinned with it; the contract suite runs every statement on both stores.
import type { JobFilter } from '../../../core/index.ts';
import type { Sql } from '../../postgres/sql.ts';
import { identifier, json, sql } from '../../postgres/sql.ts';
import { crashAllowance, defaultListLimit, lostReason } from '../job-rules.ts';

/** One try, as a worker claimed it: every claim raises `retryCount`, so a worker that lost it can change nothing. */
export interface Claim {
  readonly name: string;
  readonly id: string;
  readonly retryCount: number;
}

export interface SettleRecord extends Claim {
  readonly kind: 'done' | 'skipped' | 'retried' | 'failed' | 'released';
  readonly delayMs: number;
  readonly output: unknown;
}

export interface TouchRecord extends Claim {
  /** Left out when it has not changed. */
  readonly progress?: unknown;
}

/** pg-boss's own queues (the schedule's) are nobody's business. */
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

  /** Writes down how tries ended; returns the ids of those that were still ours. */
  settle(records: readonly SettleRecord[]): Sql {
    return sql`
      update ${this.#table} as j
      set state = (case i.kind when 'retried' then 'retry' when 'released' then 'created' when 'failed' then 'failed'
                   else 'completed' end)::${this.#state},
          completed_on = case when i.kind in ('done', 'skipped', 'failed') then now() end,
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

  /** Says that these are alive and how far they got; returns the ids of those that are still ours. */
  touch(records: readonly TouchRecord[]): Sql {
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

  /** Puts back jobs that nobody has touched for so long: their process is gone. */
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

  /** One more try for a failed job. */
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
    return sql`
      select * from (${this.#views()}) as v where name not like ${internal} ${byName} ${byState}
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
        case j.state when 'active' then 'running' when 'failed' then 'failed' when 'cancelled' then 'skipped'
          when 'completed' then case when j.output ? 'skipped' then 'skipped' else 'done' end
          else 'pending' end as state,
        j.state = 'cancelled' as "isCancelled",
        j.retry_count + (j.started_on is not null)::int as attempts,
        j.created_on as "createdAt", j.started_on as "startedAt", j.completed_on as "finishedAt",
        j.start_after as "startAfter"
      from ${this.#table} as j`;
  }
}
