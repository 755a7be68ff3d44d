// Attempts in Postgres.
import type { Queryable } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { joinSql, json, sql } from '../../platform/postgres/sql.ts';
import type { Attempt, AttemptStore, ModelTally } from '../ports.ts';
import { countsOf } from '../state/counting-attempts.ts';

export class PostgresAttemptStore implements AttemptStore {
  readonly #database: Queryable;

  constructor(database: Queryable) {
    this.#database = database;
  }

  async append(attempts: readonly Attempt[]): Promise<void> {
    if (attempts.length === 0) return;
    const counts = countsOf(attempts);
    const rows = attempts.map((attempt, index) => ({
      ...attempt,
      at: new Date(attempt.at),
      counts: counts[index],
    }));
    await this.#database.query(sql`
      with batch as materialized (
        select * from rows from (jsonb_to_recordset(${json(rows)}::jsonb) as (
          "requestId" text, "modelId" bigint, at timestamptz, outcome text, counts boolean, status smallint,
          "durationMs" double precision, "promptTokens" integer, "completionTokens" integer, caller text))
        with ordinality),
      superseded as (
        update gateway_attempts earlier set counts = false from batch
        where earlier.counts and earlier.outcome <> 'success' and earlier.request_id = "requestId"
          and earlier.model_id = "modelId" and batch.counts)
      insert into gateway_attempts (request_id, model_id, at, outcome, counts, status, duration_ms, prompt_tokens,
        completion_tokens, caller)
      select "requestId", "modelId", at, outcome, counts, status, "durationMs", "promptTokens", "completionTokens",
        caller
      from batch order by ordinality`);
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

  async purge(before: Date, limit: number): Promise<number> {
    const { affected } = await this.#database.query(sql`
      delete from gateway_attempts where id in (
        select id from gateway_attempts where at < ${before} order by id limit ${limit})`);
    return affected;
  }
}
