// Attempts, the log of requests and their bodies in Postgres.
import type { Queryable } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { joinSql, sql } from '../../platform/postgres/sql.ts';
import { countsAmong } from '../state/attempt-log.ts';
import { evidence } from '../state/model-health.ts';
import { typicalTokens } from '../state/scores.ts';
import type { AttemptStore, ContentStore, RequestWithAttempts } from '../stores.ts';
import type {
  Attempt,
  FailedRequest,
  HistoryInterval,
  LoggedRequest,
  Model,
  ModelStats,
  RequestContent,
  RequestFilter,
} from '../types.ts';

/** As `typicalMs` of scores.ts. */
const typicalMs = sql`coalesce(first_token_ms, 0) + greatest(0, duration_ms - coalesce(first_token_ms, 0))
  * least(1, ${typicalTokens}::double precision / greatest(1, completion_tokens))`;

/** Times are sent as integers: Postgres takes a third of the time of an insert to parse fractions. */
const perUnit = sql`1000.0::double precision`;

export class PostgresAttemptStore implements AttemptStore {
  readonly #database: Queryable;

  constructor(database: Queryable) {
    this.#database = database;
  }

  async append(given: readonly (Attempt | FailedRequest)[]): Promise<void> {
    if (given.length === 0) return;
    const counts = countsAmong(given);
    const rows = given.map((row) => ('errorCode' in row ? failedRow(row) : row));
    const of = <Field extends keyof StoredRow>(field: Field) => rows.map((row) => row[field]);
    const microsecondsOf = (field: 'durationMs' | 'firstTokenMs' | 'waitedMs') =>
      rows.map(({ [field]: ms }) => (ms === null ? null : Math.round(ms * 1_000)));
    await this.#database.query(sql`
      ${superseding(given)}
      insert into gateway_attempts (request_id, model_id, at, outcome, is_counted, status, duration_ms, first_token_ms,
        prompt_tokens, completion_tokens, cache_read_tokens, cache_write_tokens, cost_usd, caller, api, requested_model,
        call_number, waited_ms, ends_request)
      select request_id, model_id, to_timestamp(at_ms / ${perUnit}), outcome, is_counted, status,
        duration_us / ${perUnit}, first_token_us / ${perUnit}, prompt_tokens, completion_tokens, cache_read_tokens,
        cache_write_tokens, cost_usd, caller, api, requested_model, call_number, waited_us / ${perUnit}, ends_request
      from unnest(${of('requestId')}::text[], ${of('modelId')}::bigint[], ${of('at')}::bigint[],
        ${of('outcome')}::text[], ${counts}::boolean[], ${of('status')}::smallint[],
        ${microsecondsOf('durationMs')}::bigint[], ${microsecondsOf('firstTokenMs')}::bigint[],
        ${of('promptTokens')}::integer[], ${of('completionTokens')}::integer[], ${of('cacheReadTokens')}::integer[],
        ${of('cacheWriteTokens')}::integer[], ${of('costUsd')}::double precision[], ${of('caller')}::text[],
        ${of('api')}::text[], ${of('requestedModel')}::text[], ${of('callNumber')}::smallint[],
        ${microsecondsOf('waitedMs')}::bigint[], ${of('endsRequest')}::boolean[])
        with ordinality as batch (request_id, model_id, at_ms, outcome, is_counted, status, duration_us, first_token_us,
          prompt_tokens, completion_tokens, cache_read_tokens, cache_write_tokens, cost_usd, caller, api,
          requested_model, call_number, waited_us, ends_request, position)
      order by position`);
  }

  async stats({ since, before }: { since?: Date; before?: Date }): Promise<readonly ModelStats[]> {
    const conditions: Sql[] = [sql`is_counted`];
    if (since) conditions.push(sql`at >= ${since}`);
    if (before) conditions.push(sql`at < ${before}`);
    const { rows } = await this.#database.query<ModelStats>(sql`
      select model_id as "modelId", count(*) as requests, count(*) filter (where outcome = 'success') as successes,
        coalesce(avg(duration_ms) filter (where outcome = 'success'), 0) / 1000 as "averageSeconds",
        coalesce(avg(${typicalMs}) filter (where outcome = 'success'), 0) / 1000 as "typicalSeconds"
      from gateway_attempts where ${joinSql(conditions, sql` and `)}
      group by model_id order by model_id`);
    return rows;
  }

  async list({ modelId, limit }: { modelId?: number; limit: number }): Promise<readonly Attempt[]> {
    const which = modelId === undefined ? sql`model_id is not null` : sql`model_id = ${modelId}`;
    return this.#attempts(sql`where ${which} order by at desc, id desc limit ${limit}`);
  }

  async requests(filter: RequestFilter): Promise<readonly LoggedRequest[]> {
    const { since, caller, status, model, requestId, limit, after } = filter;
    const conditions: Sql[] = [sql`ends_request`, sql`at >= ${since}`];
    if (caller !== undefined) conditions.push(sql`caller = ${caller}`);
    if (status !== undefined) conditions.push(sql`${requestStatus} = ${status}`);
    if (model)
      conditions.push(sql`(requested_model = ${model.name} or model_id = any(${model.ids}::bigint[]))`);
    // With a suffix: the id that the caller chose.
    if (requestId !== undefined)
      conditions.push(sql`(request_id = ${requestId} or starts_with(request_id, ${`${requestId}/`}))`);
    if (after !== undefined) conditions.push(sql`id < ${after}`);
    return this.#requests(sql`where ${joinSql(conditions, sql` and `)} order by id desc limit ${limit}`);
  }

  async request(id: number): Promise<RequestWithAttempts | undefined> {
    const [request] = await this.#requests(sql`where id = ${id} and ends_request`);
    if (!request) return undefined;
    const { requestId, at, durationMs } = request;
    // The range lets the index on times find them; there is none on request ids.
    const [from, to] = [new Date(at - marginMs), new Date(at + durationMs + marginMs)];
    const attempts = await this.#attempts(sql`
      where at between ${from} and ${to} and request_id = ${requestId} and model_id is not null order by at, id`);
    return { request, attempts };
  }

  async lastCalls({
    models,
    since,
    limit,
    withoutCallers = [],
  }: {
    models: readonly Pick<Model, 'id' | 'isLocal'>[];
    since: Date;
    limit: number;
    withoutCallers?: readonly string[];
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
        where model_id = model.id and at >= ${since} and caller <> all(${withoutCallers}::text[])
          and (is_counted or outcome = any(${outcomes}::text[]) or model.is_local and outcome = any(${local}::text[])
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

  async #attempts(which: Sql): Promise<readonly Attempt[]> {
    const { rows } = await this.#database.query<Omit<Attempt, 'at'> & { at: Date }>(sql`
      select request_id as "requestId", model_id as "modelId", at, outcome, status, duration_ms as "durationMs",
        first_token_ms as "firstTokenMs", ${tokenColumns}, caller, api, requested_model as "requestedModel",
        call_number as "callNumber", waited_ms as "waitedMs", ends_request as "endsRequest"
      from gateway_attempts ${which}`);
    return rows.map((row) => ({ ...row, at: row.at.getTime() }));
  }

  async #requests(which: Sql): Promise<readonly LoggedRequest[]> {
    const { rows } = await this.#database.query<Omit<LoggedRequest, 'at'> & { at: Date }>(sql`
      select id, request_id as "requestId", at - waited_ms * interval '1 ms' as at, caller, api,
        requested_model as "requestedModel", ${requestStatus} as status, outcome, model_id as "modelId",
        call_number as calls, waited_ms + duration_ms as "durationMs",
        waited_ms + first_token_ms as "firstTokenMs", ${tokenColumns}
      from gateway_attempts ${which}`);
    return rows.map((row) => ({ ...row, at: row.at.getTime() }));
  }
}

const tokenColumns = sql`
  prompt_tokens as "promptTokens", completion_tokens as "completionTokens", cache_read_tokens as "cacheReadTokens",
  cache_write_tokens as "cacheWriteTokens", cost_usd as "costUsd"`;

/** The status of the request that ended with this row. */
const requestStatus = sql`case when outcome = 'success' then 'completed'
  when outcome = 'canceled' then 'canceled'
  when model_id is null and call_number = 0 then 'rejected' else 'failed' end`;

/** Clocks may be corrected during a request. */
const marginMs = 60_000;

type StoredRow = Omit<Attempt, 'modelId' | 'outcome'> & {
  readonly modelId: number | null;
  readonly outcome: string;
};

const failedRow = ({ errorCode, calls, ...request }: FailedRequest): StoredRow => ({
  ...request,
  modelId: null,
  outcome: errorCode,
  status: null,
  firstTokenMs: null,
  promptTokens: 0,
  completionTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  costUsd: null,
  callNumber: calls,
  waitedMs: 0,
  endsRequest: true,
});

/** Marks failures in earlier batches that these attempts supersede. Normally there are none. */
function superseding(rows: readonly (Attempt | FailedRequest)[]): Sql {
  const batch = new Set(rows);
  const later = rows.filter(
    (row): row is Attempt =>
      !('errorCode' in row) && row.supersedes !== undefined && !batch.has(row.supersedes),
  );
  if (later.length === 0) return sql``;
  return sql`
    with superseded as (
      update gateway_attempts earlier set is_counted = false
      from unnest(${later.map(({ requestId }) => requestId)}::text[],
        ${later.map(({ modelId }) => modelId)}::bigint[]) as batch (request_id, model_id)
      where earlier.is_counted and earlier.outcome <> 'success' and earlier.request_id = batch.request_id
        and earlier.model_id = batch.model_id)`;
}

export class PostgresContentStore implements ContentStore {
  readonly #database: Queryable;

  constructor(database: Queryable) {
    this.#database = database;
  }

  async append(contents: readonly RequestContent[]): Promise<void> {
    // One statement must not update a row twice.
    const last = [...new Map(contents.map((content) => [content.requestId, content])).values()];
    if (last.length === 0) return;
    const of = <Field extends keyof RequestContent>(field: Field) => last.map((content) => content[field]);
    await this.#database.query(sql`
      insert into gateway_request_contents (request_id, at, request, response)
      select * from unnest(${of('requestId')}::text[], ${of('at')}::timestamptz[], ${of('request')}::text[],
        ${of('response')}::text[])
      on conflict (request_id) do update set at = excluded.at, request = excluded.request,
        response = excluded.response`);
  }

  async get(requestId: string): Promise<RequestContent | undefined> {
    const { rows } = await this.#database.query<RequestContent>(sql`
      select request_id as "requestId", at, request, response from gateway_request_contents
      where request_id = ${requestId}`);
    return rows[0];
  }

  async purge(before: Date, limit: number): Promise<number> {
    const { affected } = await this.#database.query(sql`
      delete from gateway_request_contents where request_id in (
        select request_id from gateway_request_contents where at < ${before} order by at limit ${limit})`);
    return affected;
  }
}
