// Attempts, usage, gateway keys and the probe schedule in Postgres.
import { isUuid } from '../../core/index.ts';
import type { Database, Queryable } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { joinSql, json, sql } from '../../platform/postgres/sql.ts';
import { countsAmong } from '../state/attempt-log.ts';
import { evidence } from '../state/model-health.ts';
import type { AttemptStore, GatewayKeyStore, ProbeSchedule, UsageStore } from '../stores.ts';
import type {
  Attempt,
  GatewayKey,
  HistoryInterval,
  Model,
  ModelStats,
  StoredGatewayKey,
  Usage,
} from '../types.ts';
import { gatewayChannel } from './model-stores.ts';

export class PostgresAttemptStore implements AttemptStore {
  readonly #database: Queryable;

  constructor(database: Queryable) {
    this.#database = database;
  }

  async append(attempts: readonly Attempt[]): Promise<void> {
    if (attempts.length === 0) return;
    const counts = countsAmong(attempts);
    const of = <Field extends keyof Attempt>(field: Field) => attempts.map((attempt) => attempt[field]);
    await this.#database.query(sql`
      ${superseding(attempts)}
      insert into gateway_attempts (request_id, model_id, at, outcome, is_counted, status, duration_ms, prompt_tokens,
        completion_tokens, caller)
      select request_id, model_id, to_timestamp(ms / 1000), outcome, is_counted, status, duration_ms, prompt_tokens,
        completion_tokens, caller
      from unnest(${of('requestId')}::text[], ${of('modelId')}::bigint[], ${of('at')}::double precision[],
        ${of('outcome')}::text[], ${counts}::boolean[], ${of('status')}::smallint[],
        ${of('durationMs')}::double precision[], ${of('promptTokens')}::integer[],
        ${of('completionTokens')}::integer[], ${of('caller')}::text[])
        with ordinality as batch (request_id, model_id, ms, outcome, is_counted, status, duration_ms, prompt_tokens,
          completion_tokens, caller, position)
      order by position`);
  }

  async stats({ since, before }: { since?: Date; before?: Date }): Promise<readonly ModelStats[]> {
    const conditions: Sql[] = [sql`is_counted`];
    if (since) conditions.push(sql`at >= ${since}`);
    if (before) conditions.push(sql`at < ${before}`);
    const { rows } = await this.#database.query<ModelStats>(sql`
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

  async lastCalls({
    models,
    since,
    limit,
  }: {
    models: readonly Pick<Model, 'id' | 'isLocal'>[];
    since: Date;
    limit: number;
  }): Promise<readonly Pick<Attempt, 'modelId' | 'at' | 'outcome'>[]> {
    const { outcomes, impatient, hangingMs, local } = evidence;
    const { rows } = await this.#database.query<{
      modelId: number;
      at: Date;
      outcome: Attempt['outcome'];
    }>(sql`
      select model.id as "modelId", call.at, call.outcome
      from unnest(${models.map(({ id }) => id)}::bigint[], ${models.map(({ isLocal }) => isLocal)}::boolean[])
        as model (id, is_local)
      cross join lateral (
        select id, at, outcome from gateway_attempts
        where model_id = model.id and at >= ${since}
          and (outcome = any(${outcomes}::text[]) or model.is_local and outcome = any(${local}::text[])
            or outcome = any(${impatient}::text[]) and duration_ms >= ${hangingMs} and completion_tokens = 0)
        order by at desc, id desc limit ${limit}) as call
      order by call.at, call.id`);
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
      select ${since.getTime()} + bucket * ${intervalMs} as at, count(*) as requests,
        count(*) filter (where outcome = 'success') as successes,
        coalesce(avg(duration_ms) filter (where outcome = 'success'), 0) / 1000 as "averageSeconds"
      from (select outcome, duration_ms,
          floor(extract(epoch from at - ${since}::timestamptz) * 1000 / ${intervalMs}::double precision)::bigint as bucket
        from gateway_attempts where is_counted and model_id = ${modelId} and at >= ${since}) as counted
      group by bucket order by bucket`);
    return rows;
  }

  async purge(before: Date, limit: number): Promise<number> {
    const { affected } = await this.#database.query(sql`
      delete from gateway_attempts where id in (
        select id from gateway_attempts where at < ${before} order by id limit ${limit})`);
    return affected;
  }
}

/** Marks failures in earlier batches that these attempts supersede. Normally there are none. */
function superseding(attempts: readonly Attempt[]): Sql {
  const batch = new Set(attempts);
  const later = attempts.filter(({ supersedes }) => supersedes && !batch.has(supersedes));
  if (later.length === 0) return sql``;
  return sql`
    with superseded as (
      update gateway_attempts earlier set is_counted = false
      from unnest(${later.map(({ requestId }) => requestId)}::text[],
        ${later.map(({ modelId }) => modelId)}::bigint[]) as batch (request_id, model_id)
      where earlier.is_counted and earlier.outcome <> 'success' and earlier.request_id = batch.request_id
        and earlier.model_id = batch.model_id)`;
}

const keyColumns = sql`
  id, name, prefix, created_at as "createdAt", expires_at as "expiresAt", revoked_at as "revokedAt",
  daily_token_cap as "dailyTokenCap"`;

export class PostgresGatewayKeyStore implements GatewayKeyStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async add({ id, name, prefix, hash, ...rest }: StoredGatewayKey): Promise<void> {
    const { createdAt, expiresAt, revokedAt, dailyTokenCap } = rest;
    await this.#database.transaction(async (transaction) => {
      await transaction.query(sql`
        insert into gateway_keys (id, name, prefix, hash, created_at, expires_at, revoked_at, daily_token_cap)
        values (${id}, ${name}, ${prefix}, ${hash}, ${createdAt}, ${expiresAt}, ${revokedAt}, ${dailyTokenCap})`);
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
    if (!isUuid(id)) return undefined;
    return this.#database.transaction(async (transaction) => {
      const { rows } = await transaction.query<GatewayKey>(sql`
        update gateway_keys set revoked_at = coalesce(revoked_at, ${at}::timestamptz)
        where id = ${id}::uuid returning ${keyColumns}`);
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
