// Models, their discoveries and cooldowns in Postgres.
import type { Clock } from '../../core/index.ts';
import type { Database, Transaction } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { json, sql } from '../../platform/postgres/sql.ts';
import { modelExists } from '../models/model-registry.ts';
import type { CooldownStore, DiscoveryStore, GatewayTopic, ModelStore } from '../stores.ts';
import type { Cooldown, CooldownSnapshot, Discovery, ListEffects, Model, ModelDefinition } from '../types.ts';

/** Channel of change notifications. Channels belong to the whole database; a schema has at most 50 characters, a channel 63. */
export const gatewayChannel = ({ schema }: Pick<Database, 'schema'>): string => `${schema}_gateway`;

/** A result column that notifies other processes if and when the statement commits. */
const notifyColumn = (database: Pick<Database, 'schema'>, topic: GatewayTopic): Sql =>
  sql`pg_notify(${gatewayChannel(database)}, ${topic})`;

/** Columns of a table or alias `known`. */
const modelColumns = sql`
  known.id, known.name, known.provider, known.base_url as "baseUrl", known.apis, known.key_header as "keyHeader",
  known.upstream_model as "upstreamModel", known.env_var as "envVar", known.headers, known.is_local as "isLocal",
  known.capabilities || coalesce(known.listed->'capabilities', '{}') as capabilities, known.quotas,
  coalesce(known.listed->'price', known.price) as price, known.timeouts,
  known.is_active and known.retired_at is null as "isActive", known.origin, known.created_at as "createdAt",
  known.missed_lists as "missedLists", known.retired_at as "retiredAt"`;

const rowsOf = (definitions: readonly ModelDefinition[]): Sql => sql`
  jsonb_to_recordset(${json(definitions)}::jsonb) as given(
    name text, provider text, "baseUrl" text, apis jsonb, "keyHeader" text, "upstreamModel" text, "envVar" text,
    headers jsonb, "isLocal" boolean, capabilities jsonb, quotas jsonb, price jsonb, timeouts jsonb)`;

/** An update without a condition, which the caller must append. */
const updateFrom = (definitions: readonly ModelDefinition[], origin: Model['origin']): Sql => sql`
  update gateway_models known set provider = given.provider, base_url = given."baseUrl", apis = given.apis,
    key_header = given."keyHeader", upstream_model = given."upstreamModel", env_var = given."envVar",
    headers = given.headers, is_local = given."isLocal", capabilities = given.capabilities, quotas = given.quotas,
    price = given.price, timeouts = given.timeouts, origin = ${origin},
    listed = case when ${origin} = 'built-in' then known.listed end,
    missed_lists = case when ${origin} in ('built-in', 'discovered') then known.missed_lists else 0 end,
    retired_at = case when ${origin} in ('built-in', 'discovered') then known.retired_at end
  from ${rowsOf(definitions)}`;

/** Ids follow the order of names. A name that exists is skipped without consuming an id, as an upsert would. */
const insertNew = (definitions: readonly ModelDefinition[], origin: Model['origin'], at: Date): Sql => sql`
  insert into gateway_models as known (name, provider, base_url, apis, key_header, upstream_model, env_var, headers,
    is_local, capabilities, quotas, price, timeouts, origin, created_at)
  select name, provider, "baseUrl", apis, "keyHeader", "upstreamModel", "envVar", headers, "isLocal", capabilities,
    quotas, price, timeouts, ${origin}, ${at}::timestamptz
  from ${rowsOf(definitions)}
  where not exists (select from gateway_models where name = given.name and removed_at is null)
  order by name collate "C"
  on conflict (name) where removed_at is null do nothing`;

export class PostgresModelStore implements ModelStore {
  readonly #database: Database;
  readonly #clock: Clock;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  async sync(
    definitions: readonly ModelDefinition[],
    origin: 'built-in' | 'config' | 'discovered',
  ): Promise<void> {
    if (definitions.length === 0) return;
    await this.#database.transaction(async (transaction) => {
      const changed = await this.#upsert(transaction, definitions, origin, []);
      if (changed > 0) await transaction.notify(gatewayChannel(this.#database), 'models');
    });
  }

  async applyList(
    { definitions, facts, states }: ListEffects,
    undefinedNames: readonly string[],
  ): Promise<void> {
    if (definitions.length + facts.length + states.length === 0) return;
    await this.#database.transaction(async (transaction) => {
      await this.#upsert(transaction, definitions, 'discovered', undefinedNames);
      await transaction.query(sql`
        update gateway_models known set listed = coalesce(known.listed, '{}') || given.facts
        from jsonb_to_recordset(${json(facts)}::jsonb) as given(id bigint, facts jsonb)
        where known.id = given.id and known.origin = 'built-in'`);
      await transaction.query(sql`
        update gateway_models known set missed_lists = given."missedLists",
          retired_at = case when given."isRetired"
            then coalesce(known.retired_at, ${new Date(this.#clock.now())}::timestamptz) end
        from jsonb_to_recordset(${json(states)}::jsonb) as given(id bigint, "missedLists" integer, "isRetired" boolean)
        where known.id = given.id and known.origin in ('built-in', 'discovered')`);
      await transaction.notify(gatewayChannel(this.#database), 'models');
    });
  }

  async list(): Promise<readonly Model[]> {
    const { rows } = await this.#database.query<Model>(
      sql`select ${modelColumns} from gateway_models known where removed_at is null order by id`,
    );
    return rows;
  }

  async add(definition: ModelDefinition): Promise<Model> {
    const added = await this.#update(sql`
      ${insertNew([definition], 'custom', new Date(this.#clock.now()))} returning ${modelColumns}`);
    if (!added) throw modelExists(definition.name);
    return added;
  }

  async setActive(id: number, isActive: boolean): Promise<Model | undefined> {
    return this.#update(sql`
      update gateway_models known set is_active = ${isActive},
        missed_lists = case when ${isActive} then 0 else known.missed_lists end,
        retired_at = case when not ${isActive} then known.retired_at end
      where id = ${id} and removed_at is null
      returning ${modelColumns}`);
  }

  async replace(id: number, definition: ModelDefinition): Promise<Model | undefined> {
    return this.#update(sql`
      ${updateFrom([definition], 'custom')}
      where known.id = ${id} and known.origin = 'custom' and known.removed_at is null
      returning ${modelColumns}`);
  }

  async remove(id: number): Promise<boolean> {
    const removed = await this.#update(sql`
      update gateway_models known set removed_at = ${new Date(this.#clock.now())}
      where id = ${id} and origin = 'custom' and removed_at is null
      returning ${modelColumns}`);
    return removed !== undefined;
  }

  async names(): Promise<ReadonlyMap<number, string>> {
    const { rows } = await this.#database.query<Pick<Model, 'id' | 'name'>>(
      sql`select id, name from gateway_models`,
    );
    return new Map(rows.map(({ id, name }) => [id, name]));
  }

  /** Returns how many rows it changed or added. */
  async #upsert(
    transaction: Transaction,
    definitions: readonly ModelDefinition[],
    origin: 'built-in' | 'config' | 'discovered',
    undefinedNames: readonly string[],
  ): Promise<number> {
    if (definitions.length === 0) return 0;
    const overwrites = {
      config: sql`true`,
      'built-in': sql`known.origin <> 'custom'`,
      discovered: sql`(known.origin = 'discovered'
        or known.origin <> 'custom' and known.name = any(${undefinedNames}::text[]))`,
    };
    const updated = await transaction.query(sql`
      ${updateFrom(definitions, origin)}
      where known.name = given.name and known.removed_at is null and ${overwrites[origin]}
        and (known.provider, known.base_url, known.apis, known.key_header, known.upstream_model, known.env_var,
          known.headers, known.is_local, known.capabilities, known.quotas, known.price, known.timeouts, known.origin)
        is distinct from (given.provider, given."baseUrl", given.apis, given."keyHeader", given."upstreamModel",
          given."envVar", given.headers, given."isLocal", given.capabilities, given.quotas, given.price,
          given.timeouts, ${origin})`);
    const inserted = await transaction.query(insertNew(definitions, origin, new Date(this.#clock.now())));
    return updated.affected + inserted.affected;
  }

  /** A statement that changes at most one row, with a notification. */
  #update(statement: Sql): Promise<Model | undefined> {
    return this.#database.transaction(async (transaction) => {
      const { rows } = await transaction.query<Model>(statement);
      if (rows.length > 0) await transaction.notify(gatewayChannel(this.#database), 'models');
      return rows[0];
    });
  }
}

export class PostgresDiscoveryStore implements DiscoveryStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async claim(providers: readonly string[], now: number, intervalMs: number): Promise<readonly string[]> {
    const { rows } = await this.#database.query<{ provider: string }>(sql`
      insert into gateway_discovery_schedule (provider, started_at)
      select unnest(${providers.toSorted()}::text[]), ${new Date(now)}::timestamptz
      on conflict (provider) do update set started_at = excluded.started_at
        where gateway_discovery_schedule.started_at <= ${new Date(now - intervalMs)}
      returning provider`);
    return rows.map(({ provider }) => provider);
  }

  async add({ id, at, provider, trigger, outcome, message, listed, changes }: Discovery): Promise<void> {
    await this.#database.query(sql`
      insert into gateway_discoveries (id, at, provider, cause, outcome, message, listed, changes)
      values (${id}, ${at}, ${provider}, ${trigger}, ${outcome}, ${message}, ${listed}, ${json(changes)}::jsonb)`);
  }

  async list({
    provider,
    after,
    limit,
  }: Parameters<DiscoveryStore['list']>[0]): Promise<readonly Discovery[]> {
    const { rows } = await this.#database.query<Discovery>(sql`
      select id, at, provider, cause as trigger, outcome, message, listed, changes from gateway_discoveries
      where (${provider ?? null}::text is null or provider = ${provider ?? null})
        and (${after ?? null}::uuid is null
          or (at, id) < (select at, id from gateway_discoveries where id = ${after ?? null}))
      order by at desc, id desc limit ${limit}`);
    return rows;
  }

  async purge(before: Date, limit: number): Promise<number> {
    const { affected } = await this.#database.query(sql`
      delete from gateway_discoveries where id in (
        select id from gateway_discoveries where at < ${before} order by at limit ${limit})`);
    return affected;
  }
}

interface ActiveRow {
  readonly modelId: number;
  readonly clearedAt: Date | null;
  /** Null: the model was cleared and has no cooldown since. */
  readonly keyId: string | null;
  readonly until: Date;
  readonly cause: Cooldown['cause'];
  readonly source: string;
  readonly reason: string | null;
  readonly setAt: Date;
}

/** A row only ever grows; clearing sets a time on the model that voids older rows. */
export class PostgresCooldownStore implements CooldownStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async extend({ modelId, keyId, until, cause, source, reason, setAt }: Cooldown): Promise<void> {
    // The lock waits for a concurrent clear, so that its time is seen.
    await this.#database.query(sql`
      with model as materialized (
        select id, coalesce(cooldowns_cleared_at, '-infinity') as cleared_at
        from gateway_models where id = ${modelId} for share),
      kept as (
        insert into gateway_cooldowns as known (model_id, key_id, until, cause, source, reason, set_at)
        select id, ${keyId}, ${new Date(until)}::timestamptz, ${cause}, ${source}, ${reason},
          ${new Date(setAt)}::timestamptz
        from model where cleared_at < ${new Date(setAt)}::timestamptz
        on conflict (model_id, key_id) do update set until = excluded.until, cause = excluded.cause,
          source = excluded.source, reason = excluded.reason, set_at = excluded.set_at
        where known.until < excluded.until or known.set_at <= (select cleared_at from model)
        returning key_id)
      select ${notifyColumn(this.#database, 'cooldowns')} from kept`);
  }

  async clear(modelId: number, at: number): Promise<number> {
    // Clocks differ between machines: stored cooldowns are cleared even if they were set later by another clock.
    const { rows } = await this.#database.query<{ clearedAt: Date }>(sql`
      with cleared as (
        update gateway_models set cooldowns_cleared_at = greatest(cooldowns_cleared_at, ${new Date(at)}::timestamptz,
          (select max(set_at) from gateway_cooldowns where model_id = ${modelId}))
        where id = ${modelId} returning cooldowns_cleared_at)
      select cooldowns_cleared_at as "clearedAt", ${notifyColumn(this.#database, 'cooldowns')} from cleared`);
    return rows[0]?.clearedAt.getTime() ?? at;
  }

  async active(now: number): Promise<CooldownSnapshot> {
    const { rows } = await this.#database.query<ActiveRow>(sql`
      select m.id as "modelId", m.cooldowns_cleared_at as "clearedAt",
        c.key_id as "keyId", c.until, c.cause, c.source, c.reason, c.set_at as "setAt"
      from gateway_models m
      left join gateway_cooldowns c on c.model_id = m.id and c.until > ${new Date(now)}::timestamptz
        and c.set_at > coalesce(m.cooldowns_cleared_at, '-infinity')
      where m.cooldowns_cleared_at is not null or c.model_id is not null
      order by m.id, c.key_id collate "C"`);
    return {
      cooldowns: rows.flatMap(cooldownOf),
      clearedAt: new Map(
        rows.flatMap(({ modelId, clearedAt }) => (clearedAt ? [[modelId, clearedAt.getTime()]] : [])),
      ),
    };
  }
}

function cooldownOf({ keyId, ...row }: ActiveRow): readonly Cooldown[] {
  if (keyId === null) return [];
  const { modelId, until, cause, source, reason, setAt } = row;
  return [{ modelId, keyId, until: until.getTime(), cause, source, reason, setAt: setAt.getTime() }];
}
