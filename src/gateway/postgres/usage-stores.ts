// Usage, gateway keys, stored responses and the probe schedule in Postgres.
import { isUuid } from '../../core/index.ts';
import type { Database, Queryable } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { json, sql } from '../../platform/postgres/sql.ts';
import type { GatewayKeyStore, ProbeSchedule, ResponseStore, UsageStore } from '../stores.ts';
import type { GatewayKey, KeyLimits, StoredGatewayKey, StoredResponse, Usage } from '../types.ts';
import { gatewayChannel } from './model-stores.ts';

const keyColumns = sql`
  id, name, prefix, created_at as "createdAt", expires_at as "expiresAt", revoked_at as "revokedAt",
  requests_per_minute as "requestsPerMinute", tokens_per_day as "tokensPerDay", usd_per_day as "usdPerDay"`;

export class PostgresGatewayKeyStore implements GatewayKeyStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async add({ id, name, prefix, hash, ...rest }: StoredGatewayKey): Promise<void> {
    const { createdAt, expiresAt, revokedAt, requestsPerMinute, tokensPerDay, usdPerDay } = rest;
    await this.#database.transaction(async (transaction) => {
      await transaction.query(sql`
        insert into gateway_keys (id, name, prefix, hash, created_at, expires_at, revoked_at, requests_per_minute,
          tokens_per_day, usd_per_day)
        values (${id}, ${name}, ${prefix}, ${hash}, ${createdAt}, ${expiresAt}, ${revokedAt}, ${requestsPerMinute},
          ${tokensPerDay}, ${usdPerDay})`);
      await transaction.notify(gatewayChannel(this.#database), 'keys');
    });
  }

  async list(): Promise<readonly StoredGatewayKey[]> {
    const { rows } = await this.#database.query<StoredGatewayKey>(
      sql`select ${keyColumns}, hash from gateway_keys order by created_at, id`,
    );
    return rows;
  }

  async revoke(id: string, at: Date): Promise<GatewayKey | undefined> {
    return this.#update(id, sql`revoked_at = coalesce(revoked_at, ${at}::timestamptz)`);
  }

  async setLimits(id: string, limits: KeyLimits): Promise<GatewayKey | undefined> {
    const { requestsPerMinute, tokensPerDay, usdPerDay } = limits;
    return this.#update(
      id,
      sql`requests_per_minute = ${requestsPerMinute}, tokens_per_day = ${tokensPerDay}, usd_per_day = ${usdPerDay}`,
    );
  }

  async #update(id: string, change: Sql): Promise<GatewayKey | undefined> {
    if (!isUuid(id)) return undefined;
    return this.#database.transaction(async (transaction) => {
      const { rows } = await transaction.query<GatewayKey>(
        sql`update gateway_keys set ${change} where id = ${id}::uuid returning ${keyColumns}`,
      );
      if (rows.length > 0) await transaction.notify(gatewayChannel(this.#database), 'keys');
      return rows[0];
    });
  }
}

export class PostgresUsageStore implements UsageStore {
  readonly #database: Queryable;

  constructor(database: Queryable) {
    this.#database = database;
  }

  async add(usage: readonly Usage[]): Promise<void> {
    if (usage.length === 0) return;
    // Sorted, so that all writers lock rows in the same order and cannot deadlock.
    await this.#database.query(sql`
      insert into gateway_usage as known (day, caller, model_id, requests, prompt_tokens, completion_tokens, cost_usd,
        unpriced_requests)
      select day, caller, "modelId", sum(requests), sum("promptTokens"), sum("completionTokens"), sum("costUsd"),
        sum("unpricedRequests")
      from jsonb_to_recordset(${json(usage)}::jsonb) as used(
        day date, caller text, "modelId" bigint, requests bigint, "promptTokens" bigint, "completionTokens" bigint,
        "costUsd" double precision, "unpricedRequests" bigint)
      group by day, caller, "modelId" order by day, caller collate "C", "modelId"
      on conflict (day, caller, model_id) do update set requests = known.requests + excluded.requests,
        prompt_tokens = known.prompt_tokens + excluded.prompt_tokens,
        completion_tokens = known.completion_tokens + excluded.completion_tokens,
        cost_usd = coalesce(known.cost_usd + excluded.cost_usd, known.cost_usd, excluded.cost_usd),
        unpriced_requests = known.unpriced_requests + excluded.unpriced_requests`);
  }

  async list({ fromDay, caller }: { fromDay: string; caller?: string }): Promise<readonly Usage[]> {
    const { rows } = await this.#database.query<Usage>(sql`
      select day, caller, model_id as "modelId", requests, prompt_tokens as "promptTokens",
        completion_tokens as "completionTokens", cost_usd as "costUsd", unpriced_requests as "unpricedRequests"
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

const responseColumns = sql`
  known.id, known.caller, known.previous_id as "previousId", known.created_at as "createdAt", known.input,
  known.response, known.item_ids as "itemIds"`;

/** Longer conversations cannot be continued: no model has room for them. */
const maxChain = 2_000;

export class PostgresResponseStore implements ResponseStore {
  readonly #database: Queryable;

  constructor(database: Queryable) {
    this.#database = database;
  }

  async add({ id, caller, previousId, createdAt, input, response, itemIds }: StoredResponse): Promise<void> {
    await this.#database.query(sql`
      insert into gateway_responses (id, caller, previous_id, created_at, input, response, item_ids)
      values (${id}, ${caller}, ${previousId}, ${createdAt}, ${input}, ${response}, ${itemIds}::text[])
      on conflict (caller, id) do update set previous_id = excluded.previous_id, created_at = excluded.created_at,
        input = excluded.input, response = excluded.response, item_ids = excluded.item_ids`);
  }

  async chain(id: string, caller: string): Promise<readonly StoredResponse[]> {
    const { rows } = await this.#database.query<StoredResponse & { depth: number }>(sql`
      with recursive chain as (
        select first.*, 1 as depth from gateway_responses first
        where first.caller = ${caller} and first.id = ${id}
        union all
        select earlier.*, chain.depth + 1 from gateway_responses earlier
        join chain on earlier.caller = chain.caller and earlier.id = chain.previous_id
        where chain.depth < ${maxChain})
        -- A provider that uses an id twice would lead back to it.
        cycle id set is_cycle using path
      select ${responseColumns} from chain known where not is_cycle order by depth desc`);
    return rows;
  }

  async withItems(ids: readonly string[], caller: string): Promise<readonly StoredResponse[]> {
    const { rows } = await this.#database.query<StoredResponse>(sql`
      select ${responseColumns} from gateway_responses known
      where caller = ${caller} and item_ids && ${ids}::text[] order by created_at, id`);
    return rows;
  }

  async delete(id: string, caller: string): Promise<boolean> {
    const { affected } = await this.#database.query(
      sql`delete from gateway_responses where id = ${id} and caller = ${caller}`,
    );
    return affected > 0;
  }

  async purge(before: Date, limit: number): Promise<number> {
    const { affected } = await this.#database.query(sql`
      delete from gateway_responses where (caller, id) in (
        select caller, id from gateway_responses where created_at < ${before} order by created_at limit ${limit})`);
    return affected;
  }
}

export class PostgresProbeSchedule implements ProbeSchedule {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async claim(now: number, intervalMs: number): Promise<boolean> {
    const at = new Date(now);
    const due = new Date(now - intervalMs);
    const { rows } = await this.#database.query<{ is_claimed: boolean }>(sql`
      insert into gateway_probe_schedule (started_at) values (${at})
      on conflict (is_singleton) do update set started_at = excluded.started_at
        where gateway_probe_schedule.started_at <= ${due}
      returning (xmax <> 0) as is_claimed`);
    return rows[0]?.is_claimed ?? false;
  }
}
