// Models in Postgres.
import type { Clock } from '../../core/index.ts';
import type { Database } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { json, sql } from '../../platform/postgres/sql.ts';
import { modelExists } from '../state/model-exists.ts';
import type { Model, ModelDefinition, ModelStore } from '../ports.ts';
import { changesChannel } from './changes-channel.ts';

const columns = sql`
  id, name, provider, base_url as "baseUrl", upstream_model as "upstreamModel", env_var as "envVar", headers,
  is_local as "isLocal", capabilities, quotas, is_active as "isActive", origin, created_at as "createdAt"`;

const wanted = sql`wanted(
  name text, provider text, "baseUrl" text, "upstreamModel" text, "envVar" text, headers jsonb, "isLocal" boolean,
  capabilities jsonb, quotas jsonb)`;

export class PostgresModelStore implements ModelStore {
  readonly #database: Database;
  readonly #clock: Clock;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  async sync(definitions: readonly ModelDefinition[], origin: 'built-in' | 'config'): Promise<void> {
    if (definitions.length === 0) return;
    const rows = json(definitions);
    const at = new Date(this.#clock.now());
    await this.#database.transaction(async (transaction) => {
      // Not one upsert: that would use up an id per model and start.
      const updated = await transaction.query(sql`
        update gateway_models known set provider = wanted.provider, base_url = wanted."baseUrl",
          upstream_model = wanted."upstreamModel", env_var = wanted."envVar", headers = wanted.headers,
          is_local = wanted."isLocal", capabilities = wanted.capabilities, quotas = wanted.quotas,
          origin = ${origin}
        from jsonb_to_recordset(${rows}::jsonb) as ${wanted}
        where known.name = wanted.name and known.removed_at is null
          and not (known.origin = 'added' and ${origin} = 'built-in')
          and (known.provider, known.base_url, known.upstream_model, known.env_var, known.headers, known.is_local,
            known.capabilities, known.quotas, known.origin)
          is distinct from (wanted.provider, wanted."baseUrl", wanted."upstreamModel", wanted."envVar",
            wanted.headers, wanted."isLocal", wanted.capabilities, wanted.quotas, ${origin})`);
      const inserted = await transaction.query(sql`
        insert into gateway_models (name, provider, base_url, upstream_model, env_var, headers, is_local,
          capabilities, quotas, origin, created_at)
        select name, provider, "baseUrl", "upstreamModel", "envVar", headers, "isLocal", capabilities, quotas,
          ${origin}, ${at}::timestamptz
        from jsonb_to_recordset(${rows}::jsonb) as ${wanted}
        where not exists (
          select from gateway_models known where known.name = wanted.name and known.removed_at is null)
        order by name collate "C"
        on conflict (name) where removed_at is null do nothing`);
      if (updated.affected + inserted.affected > 0)
        await transaction.notify(changesChannel(this.#database.schema), 'models');
    });
  }

  async list(): Promise<readonly Model[]> {
    const { rows } = await this.#database.query<Model>(
      sql`select ${columns} from gateway_models where removed_at is null order by id`,
    );
    return rows;
  }

  async add(definition: ModelDefinition): Promise<Model> {
    const { name, provider, baseUrl, upstreamModel, envVar, headers, isLocal, capabilities, quotas } =
      definition;
    return this.#database.transaction(async (transaction) => {
      const { rows } = await transaction.query<Model>(sql`
        insert into gateway_models (name, provider, base_url, upstream_model, env_var, headers, is_local,
          capabilities, quotas, origin, created_at)
        values (${name}, ${provider}, ${baseUrl}, ${upstreamModel}, ${envVar}, ${json(headers)}, ${isLocal},
          ${json(capabilities)}, ${json(quotas)}, 'added', ${new Date(this.#clock.now())})
        on conflict (name) where removed_at is null do nothing
        returning ${columns}`);
      const [added] = rows;
      if (!added) throw modelExists(name);
      await transaction.notify(changesChannel(this.#database.schema), 'models');
      return added;
    });
  }

  async setActive(id: number, isActive: boolean): Promise<Model | undefined> {
    return this.#change(sql`
      update gateway_models set is_active = ${isActive} where id = ${id} and removed_at is null
      returning ${columns}`);
  }

  async replace(id: number, definition: ModelDefinition): Promise<Model | undefined> {
    const { provider, baseUrl, upstreamModel, envVar, headers, isLocal, capabilities, quotas } = definition;
    return this.#change(sql`
      update gateway_models set provider = ${provider}, base_url = ${baseUrl}, upstream_model = ${upstreamModel},
        env_var = ${envVar}, headers = ${json(headers)}, is_local = ${isLocal}, capabilities = ${json(capabilities)},
        quotas = ${json(quotas)}
      where id = ${id} and origin = 'added' and removed_at is null
      returning ${columns}`);
  }

  async remove(id: number): Promise<boolean> {
    const removed = await this.#change(sql`
      update gateway_models set removed_at = ${new Date(this.#clock.now())}
      where id = ${id} and origin = 'added' and removed_at is null
      returning ${columns}`);
    return removed !== undefined;
  }

  async names(): Promise<ReadonlyMap<number, string>> {
    const { rows } = await this.#database.query<Pick<Model, 'id' | 'name'>>(
      sql`select id, name from gateway_models`,
    );
    return new Map(rows.map(({ id, name }) => [id, name]));
  }

  /** One statement that changes one row at most; others hear of it. */
  #change(statement: Sql): Promise<Model | undefined> {
    return this.#database.transaction(async (transaction) => {
      const { rows } = await transaction.query<Model>(statement);
      if (rows.length > 0) await transaction.notify(changesChannel(this.#database.schema), 'models');
      return rows[0];
    });
  }
}
