// Attempts in Postgres.
import type { Queryable } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { joinSql, sql } from '../../platform/postgres/sql.ts';
import type { Attempt, AttemptStore, HistoryInterval, ModelTally } from '../ports.ts';
import { countsOf } from '../state/counting-attempts.ts';

export class PostgresAttemptStore implements AttemptStore {
  readonly #database: Queryable;

  constructor(database: Queryable) {
    this.#database = database;
  }

  async append(attempts: readonly Attempt[]): Promise<void> {
    if (attempts.length === 0) return;
    const counts = countsOf(attempts);
    const of = <Field extends keyof Attempt>(field: Field) => attempts.map((attempt) => attempt[field]);
    await this.#database.query(sql`
      ${superseding(attempts.filter(({ isRepeated }, index) => isRepeated !== false && counts[index]))}
      insert into gateway_attempts (request_id, model_id, at, outcome, counts, status, duration_ms, prompt_tokens,
        completion_tokens, caller)
      select request_id, model_id, to_timestamp(ms / 1000), outcome, counts, status, duration_ms, prompt_tokens,
        completion_tokens, caller
      from unnest(${of('requestId')}::text[], ${of('modelId')}::bigint[], ${of('at')}::double precision[],
        ${of('outcome')}::text[], ${counts}::boolean[], ${of('status')}::smallint[],
        ${of('durationMs')}::double precision[], ${of('promptTokens')}::integer[],
        ${of('completionTokens')}::integer[], ${of('caller')}::text[])
        with ordinality as batch (request_id, model_id, ms, outcome, counts, status, duration_ms, prompt_tokens,
          completion_tokens, caller, place)
      order by place`);
  }

  async tallies({ since, before }: { since?: Date; before?: Date }): Promise<readonly ModelTally[]> {
    const conditions: Sql[] = [sql`counts`];
    if (since) conditions.push(sql`at >= ${since}`);
    if (before) conditions.push(sql`at < ${before}`);
    const { rows } = await this.#database.query<ModelTally>(sql`
      select model_id as "modelId", count(*) as requests, count(*) filter (where outcome = 'success') as successes,
        coalesce(avg(duration_ms) filter (where outcome = 'success'), 0) / 1000 as "averageSeconds"
      from gateway_attempts where ${joinSql(conditions, sql` and `)}
      group by model_id order by model_id`);
    return rows;
  }

  async list({ modelId, limit }: { modelId?: number; limit: number }): Promise<readonly Attempt[]> {
    const { rows } = await this.#database.query<Omit<Attempt, 'at'> & { at: Date }>(sql`
      select request_id as "requestId", model_id as "modelId", at, outcome, status, duration_ms as "durationMs",
        prompt_tokens as "promptTokens", completion_tokens as "completionTokens", caller
      from gateway_attempts ${modelId === undefined ? sql`` : sql`where model_id = ${modelId}`}
      order by at desc, id desc limit ${limit}`);
    return rows.map((row) => ({ ...row, at: row.at.getTime() }));
  }

  async history({
    modelId,
    since,
    intervalMs,
  }: {
    modelId: number;
    since: Date;
    intervalMs: number;
  }): Promise<readonly HistoryInterval[]> {
    const { rows } = await this.#database.query<HistoryInterval>(sql`
      select ${since.getTime()} + stretch * ${intervalMs} as at, count(*) as requests,
        count(*) filter (where outcome = 'success') as successes,
        coalesce(avg(duration_ms) filter (where outcome = 'success'), 0) / 1000 as "averageSeconds"
      from (select outcome, duration_ms,
          floor(extract(epoch from at - ${since}::timestamptz) * 1000 / ${intervalMs}::double precision)::bigint as stretch
        from gateway_attempts where counts and model_id = ${modelId} and at >= ${since}) as counted
      group by stretch order by stretch`);
    return rows;
  }

  async purge(before: Date, limit: number): Promise<number> {
    const { affected } = await this.#database.query(sql`
      delete from gateway_attempts where id in (
        select id from gateway_attempts where at < ${before} order by id limit ${limit})`);
    return affected;
  }
}

/** Earlier failures of the same requests count no more. On a good day nobody asks twice: then there is nothing to find. */
function superseding(repeated: readonly Attempt[]): Sql {
  if (repeated.length === 0) return sql``;
  return sql`
    with superseded as (
      update gateway_attempts earlier set counts = false
      from unnest(${repeated.map(({ requestId }) => requestId)}::text[],
        ${repeated.map(({ modelId }) => modelId)}::bigint[]) as batch (request_id, model_id)
      where earlier.counts and earlier.outcome <> 'success' and earlier.request_id = batch.request_id
        and earlier.model_id = batch.model_id)`;
}
