// Models and cooldowns in Postgres.
import type { Clock } from '../../core/index.ts';
import type { Database } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { json, sql } from '../../platform/postgres/sql.ts';
import { modelExists } from '../models/model-registry.ts';
import type { CooldownStore, GatewayTopic, ModelStore } from '../stores.ts';
import type { Cooldown, CooldownSnapshot, Model, ModelDefinition } from '../types.ts';

/** Channel of change notifications. Channels belong to the whole database; a schema has at most 50 characters, a channel 63. */
export const gatewayChannel = ({ schema }: Pick<Database, 'schema'>): string => `${schema}_gateway`;

/** A result column that notifies other processes if and when the statement commits. */
const notifyColumn = (database: Pick<Database, 'schema'>, topic: GatewayTopic): Sql =>
  sql`pg_notify(${gatewayChannel(database)}, ${topic})`;

/** Columns of a table or alias `known`. */
const modelColumns = sql`
  known.id, known.name, known.provider, known.base_url as "baseUrl", known.upstream_model as "upstreamModel",
  known.env_var as "envVar", known.headers, known.is_local as "isLocal", known.capabilities, known.quotas,
  known.is_active as "isActive", known.origin, known.created_at as "createdAt"`;

const rowsOf = (definitions: readonly ModelDefinition[]): Sql => sql`
  jsonb_to_recordset(${json(definitions)}::jsonb) as given(
    name text, provider text, "baseUrl" text, "upstreamModel" text, "envVar" text, headers jsonb,
    "isLocal" boolean, capabilities jsonb, quotas jsonb)`;

/** An update without a condition, which the caller must append. */
const updateFrom = (definitions: readonly ModelDefinition[], origin: Model['origin']): Sql => sql`
  update gateway_models known set provider = given.provider, base_url = given."baseUrl",
    upstream_model = given."upstreamModel", env_var = given."envVar", headers = given.headers,
    is_local = given."isLocal", capabilities = given.capabilities, quotas = given.quotas, origin = ${origin}
  from ${rowsOf(definitions)}`;

/** Ids follow the order of names. A name that exists is skipped without consuming an id, as an upsert would. */
const insertNew = (definitions: readonly ModelDefinition[], origin: Model['origin'], at: Date): Sql => sql`
  insert into gateway_models as known (name, provider, base_url, upstream_model, env_var, headers, is_local,
    capabilities, quotas, origin, created_at)
  select name, provider, "baseUrl", "upstreamModel", "envVar", headers, "isLocal", capabilities, quotas,
    ${origin}, ${at}::timestamptz
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

  async sync(definitions: readonly ModelDefinition[], origin: 'built-in' | 'config'): Promise<void> {
    if (definitions.length === 0) return;
    await this.#database.transaction(async (transaction) => {
      const updated = await transaction.query(sql`
        ${updateFrom(definitions, origin)}
        where known.name = given.name and known.removed_at is null
          and not (known.origin = 'custom' and ${origin} = 'built-in')
          and (known.provider, known.base_url, known.upstream_model, known.env_var, known.headers, known.is_local,
            known.capabilities, known.quotas, known.origin)
          is distinct from (given.provider, given."baseUrl", given."upstreamModel", given."envVar",
            given.headers, given."isLocal", given.capabilities, given.quotas, ${origin})`);
      const inserted = await transaction.query(insertNew(definitions, origin, new Date(this.#clock.now())));
      if (updated.affected + inserted.affected > 0)
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
      update gateway_models known set is_active = ${isActive} where id = ${id} and removed_at is null
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

  /** A statement that changes at most one row, with a notification. */
  #update(statement: Sql): Promise<Model | undefined> {
    return this.#database.transaction(async (transaction) => {
      const { rows } = await transaction.query<Model>(statement);
      if (rows.length > 0) await transaction.notify(gatewayChannel(this.#database), 'models');
      return rows[0];
    });
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
