// Token usage in Postgres, a line per day, caller and model.
import type { Queryable } from '../../platform/postgres/ports.ts';
import { json, sql } from '../../platform/postgres/sql.ts';
import type { Usage, UsageStore } from '../ports.ts';

export class PostgresUsageStore implements UsageStore {
  readonly #database: Queryable;

  constructor(database: Queryable) {
    this.#database = database;
  }

  async add(usage: readonly Usage[]): Promise<void> {
    if (usage.length === 0) return;
    // Writers lock rows in one order, whatever the order of their lines: else two of them could deadlock.
    await this.#database.query(sql`
      insert into gateway_usage as known (day, caller, model_id, requests, prompt_tokens, completion_tokens)
      select day, caller, "modelId", sum(requests), sum("promptTokens"), sum("completionTokens")
      from jsonb_to_recordset(${json(usage)}::jsonb) as used(
        day date, caller text, "modelId" bigint, requests bigint, "promptTokens" bigint, "completionTokens" bigint)
      group by day, caller, "modelId" order by day, caller collate "C", "modelId"
      on conflict (day, caller, model_id) do update set requests = known.requests + excluded.requests,
        prompt_tokens = known.prompt_tokens + excluded.prompt_tokens,
        completion_tokens = known.completion_tokens + excluded.completion_tokens`);
  }

  async list({ fromDay, caller }: { fromDay: string; caller?: string }): Promise<readonly Usage[]> {
    const { rows } = await this.#database.query<Usage>(sql`
      select day, caller, model_id as "modelId", requests, prompt_tokens as "promptTokens",
        completion_tokens as "completionTokens"
      from gateway_usage
      where day >= ${fromDay}::date ${caller === undefined ? sql`` : sql`and caller = ${caller}`}
      order by day, caller collate "C", model_id`);
    return rows;
  }

  async purge(beforeDay: string, limit: number): Promise<number> {
    const { affected } = await this.#database.query(sql`
      delete from gateway_usage where (day, caller, model_id) in (
        select day, caller, model_id from gateway_usage where day < ${beforeDay}::date order by day limit ${limit})`);
    return affected;
  }
}
