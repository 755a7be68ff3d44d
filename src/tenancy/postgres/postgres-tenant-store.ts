// Organizations, API keys, deployments and limits in Postgres.
import type { IdSource } from '../../core/index.ts';
import { CoreError, isUuid } from '../../core/index.ts';
import type { Database, QueryResult, Transaction } from '../../platform/postgres/ports.ts';
import { ChangeFeed } from '../../platform/postgres/change-feed.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { hasSqlState, identifier, joinSql, json, sql, SqlError } from '../../platform/postgres/sql.ts';
import type { LimitStore, OrganizationLimit } from '../admission/types.ts';
import { hasRunningExecutions, nameKey, nameTaken, organizationDeleted } from '../names.ts';
import type {
  ApiKeyStore,
  Deployment,
  DeploymentStore,
  DeploymentUpdate,
  Organization,
  OrganizationKey,
  OrganizationStore,
  StoredOrganizationKey,
  TenantStores,
  TenantTopic,
} from '../types.ts';
import { tenantTopics } from '../types.ts';

export function postgresTenantStores(database: Database): TenantStores {
  return {
    organizations: new PostgresOrganizationStore(database),
    keys: new PostgresApiKeyStore(database),
    deployments: new PostgresDeploymentStore(database),
    changes: new ChangeFeed(database, tenantChannel(database.schema), tenantTopics),
  };
}

/** Channels belong to the whole database. A schema name has at most 50 characters, a channel 63. */
const tenantChannel = (schema: string): string => `${schema}_tenants`;

/** Delivered only if the transaction commits. */
async function notifyTenants(
  transaction: Transaction,
  schema: string,
  ...topics: readonly TenantTopic[]
): Promise<void> {
  for (const topic of topics) await transaction.notify(tenantChannel(schema), topic);
}

/** Replaces violated constraints, by SQLSTATE, with errors of ours; other errors pass. */
function mapSqlErrors<T>(
  work: Promise<T>,
  errors: Readonly<Record<string, () => Error | Promise<Error>>>,
): Promise<T> {
  return work.catch(async (error: unknown) => {
    throw (error instanceof SqlError ? await errors[error.sqlState]?.() : undefined) ?? error;
  });
}

const foreignKeyViolation = '23503';
const uniqueViolation = '23505';

/** Ended executions and their files are deleted as well; there may be many. */
const deletionLeaseMs = 300_000;

/** False when there is none. Fails with CONFLICT while an execution is unfinished. */
function deleteIdle(
  database: Database,
  what: 'organization' | 'deployment',
  id: string,
  topics: readonly TenantTopic[],
): Promise<boolean> {
  const table = identifier(`${what}s`);
  return database.transaction(
    async (transaction) => {
      // With the row locked no execution can be added: an insert waits, and then finds no row to refer to.
      const locked = await transaction.query(sql`select id from ${table} where id = ${id} for update`);
      if (locked.rows.length === 0) return false;
      // A second statement: it must see what was committed while the first one waited for the lock.
      const unfinished = await transaction.query(sql`
        select id from executions where ${identifier(`${what}_id`)} = ${id} and ended_at is null limit 1`);
      if (unfinished.rows.length > 0) throw hasRunningExecutions(what);
      await transaction.query(sql`delete from ${table} where id = ${id}`);
      await notifyTenants(transaction, database.schema, ...topics);
      return true;
    },
    { leaseMs: deletionLeaseMs },
  );
}

const organizationColumns = sql`id, name, created_at as "createdAt"`;

class PostgresOrganizationStore implements OrganizationStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async create({ id, name, createdAt }: Organization): Promise<void> {
    await this.#withFreeName(name, async (transaction) => {
      await transaction.query(sql`
        insert into organizations (id, name, name_key, created_at)
        values (${id}, ${name}, ${nameKey(name)}, ${createdAt})`);
      await notifyTenants(transaction, this.#database.schema, 'organizations');
    });
  }

  async list(): Promise<readonly Organization[]> {
    const { rows } = await this.#database.query<Organization>(
      sql`select ${organizationColumns} from organizations order by created_at, id`,
    );
    return rows;
  }

  rename(id: string, name: string): Promise<Organization | null> {
    return this.#withFreeName(name, async (transaction) => {
      const { rows } = await transaction.query<Organization>(sql`
        update organizations set name = ${name}, name_key = ${nameKey(name)} where id = ${id}
        returning ${organizationColumns}`);
      if (rows.length > 0) await notifyTenants(transaction, this.#database.schema, 'organizations');
      return rows[0] ?? null;
    });
  }

  delete(id: string): Promise<boolean> {
    return deleteIdle(this.#database, 'organization', id, ['organizations', 'keys', 'deployments']);
  }

  #withFreeName<T>(name: string, work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return mapSqlErrors(this.#database.transaction(work), { [uniqueViolation]: () => this.#taken(name) });
  }

  /** The holder may spell the name differently, or be deleted by now. */
  async #taken(name: string): Promise<Error> {
    const { rows } = await this.#database.query<{ name: string }>(
      sql`select name from organizations where name_key = ${nameKey(name)}`,
    );
    return nameTaken('organization', rows[0]?.name ?? name);
  }
}

const keyColumns = sql`
  id, organization_id as "organizationId", name, prefix, created_at as "createdAt", expires_at as "expiresAt",
  revoked_at as "revokedAt"`;

class PostgresApiKeyStore implements ApiKeyStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async create(key: StoredOrganizationKey): Promise<void> {
    const { id, organizationId, name, prefix, hash, createdAt, expiresAt, revokedAt } = key;
    const inserting = this.#database.transaction(async (transaction) => {
      await transaction.query(sql`
        insert into organization_keys
          (id, organization_id, name, prefix, hash, created_at, expires_at, revoked_at)
        values
          (${id}, ${organizationId}, ${name}, ${prefix}, ${hash}, ${createdAt}, ${expiresAt}, ${revokedAt})`);
      await notifyTenants(transaction, this.#database.schema, 'keys');
    });
    await mapSqlErrors(inserting, { [foreignKeyViolation]: organizationDeleted });
  }

  async list(): Promise<readonly StoredOrganizationKey[]> {
    const { rows } = await this.#database.query<StoredOrganizationKey>(
      sql`select ${keyColumns}, hash from organization_keys order by created_at, id`,
    );
    return rows;
  }

  async revoke(id: string, at: Date): Promise<OrganizationKey | null> {
    if (!isUuid(id)) return null;
    return this.#database.transaction(async (transaction) => {
      const { rows } = await transaction.query<OrganizationKey>(sql`
        update organization_keys set revoked_at = coalesce(revoked_at, ${at}::timestamptz)
        where id = ${id}::uuid returning ${keyColumns}`);
      if (rows.length > 0) await notifyTenants(transaction, this.#database.schema, 'keys');
      return rows[0] ?? null;
    });
  }
}

const deploymentColumns = sql`
  id, organization_id as "organizationId", name, workflow, options, webhook_url as "webhookUrl",
  wait_seconds as "waitSeconds", is_active as "isActive", created_at as "createdAt", modified_at as "modifiedAt"`;

class PostgresDeploymentStore implements DeploymentStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async create(deployment: Deployment): Promise<void> {
    const { id, organizationId, name, workflow, options, webhookUrl, waitSeconds, isActive } = deployment;
    const inserting = this.#database.transaction(async (transaction) => {
      await transaction.query(sql`
        insert into deployments (
          id, organization_id, name, workflow, options, webhook_url, wait_seconds, is_active, created_at, modified_at
        ) values (
          ${id}, ${organizationId}, ${name}, ${workflow}, ${json(options)}, ${webhookUrl}, ${waitSeconds},
          ${isActive}, ${deployment.createdAt}, ${deployment.modifiedAt}
        )`);
      await notifyTenants(transaction, this.#database.schema, 'deployments');
    });
    await mapSqlErrors(inserting, {
      [foreignKeyViolation]: organizationDeleted,
      [uniqueViolation]: () => this.#taken(name, sql`${organizationId}`),
    });
  }

  async list(): Promise<readonly Deployment[]> {
    const { rows } = await this.#database.query<Deployment>(
      sql`select ${deploymentColumns} from deployments order by created_at, id`,
    );
    return rows;
  }

  async update(id: string, update: DeploymentUpdate, at: Date): Promise<Deployment | null> {
    if (!isUuid(id)) return null;
    const updating = this.#database.transaction(async (transaction) => {
      const { rows } = await transaction.query<Deployment>(sql`
        update deployments set ${joinSql([sql`modified_at = ${at}`, ...assignments(update)], sql`, `)}
        where id = ${id}::uuid returning ${deploymentColumns}`);
      if (rows.length > 0) await notifyTenants(transaction, this.#database.schema, 'deployments');
      return rows[0] ?? null;
    });
    const owner = sql`(select organization_id from deployments where id = ${id}::uuid)`;
    return mapSqlErrors(updating, { [uniqueViolation]: () => this.#taken(update.name ?? '', owner) });
  }

  async delete(id: string): Promise<boolean> {
    return isUuid(id) && deleteIdle(this.#database, 'deployment', id, ['deployments']);
  }

  /** The holder may spell the name differently, or be deleted by now. */
  async #taken(name: string, organizationId: Sql): Promise<Error> {
    const { rows } = await this.#database.query<{ name: string }>(sql`
      select name from deployments
      where organization_id = ${organizationId} and lower(name collate "C") = lower(${name} collate "C")`);
    return nameTaken('deployment', rows[0]?.name ?? name);
  }
}

/** Only the given fields: another process may update the others at the same time. */
function assignments({ name, options, webhookUrl, waitSeconds, isActive }: DeploymentUpdate): readonly Sql[] {
  return [
    ...(name === undefined ? [] : [sql`name = ${name}`]),
    ...(options === undefined ? [] : [sql`options = ${json(options)}`]),
    ...(webhookUrl === undefined ? [] : [sql`webhook_url = ${webhookUrl}`]),
    ...(waitSeconds === undefined ? [] : [sql`wait_seconds = ${waitSeconds}`]),
    ...(isActive === undefined ? [] : [sql`is_active = ${isActive}`]),
  ];
}

/** Servers that cache limits in their own memory listen to it. */
export const limitsChannel = (schema: string): string => `${schema}_limits`;
export const limitsTopic = 'limits';

const limitColumns = sql`
  id, organization_id as "organizationId", concurrent_request_limit as "concurrentRequestLimit",
  created_at as "createdAt", modified_at as "modifiedAt"`;

/** The table organization_rate_limits. */
export class PostgresLimitStore implements LimitStore {
  readonly #database: Database;
  readonly #ids: IdSource;

  constructor(database: Database, ids: IdSource) {
    this.#database = database;
    this.#ids = ids;
  }

  async get(organizationId: string): Promise<OrganizationLimit | null> {
    const { rows } = await this.#database.query<OrganizationLimit>(sql`
      select ${limitColumns} from organization_rate_limits where organization_id = ${organizationId}`);
    return rows[0] ?? null;
  }

  async list(): Promise<readonly OrganizationLimit[]> {
    const { rows } = await this.#database.query<OrganizationLimit>(sql`
      select ${limitColumns} from organization_rate_limits order by created_at, id`);
    return rows;
  }

  async set(
    organizationId: string,
    limit: number,
    at: Date,
  ): Promise<{ readonly limit: OrganizationLimit; readonly isNew: boolean }> {
    try {
      // xmax tells an update from an insert in one statement.
      const { rows } = await this.#write<OrganizationLimit & { isNew: boolean }>(sql`
        insert into organization_rate_limits
          (id, organization_id, concurrent_request_limit, created_at, modified_at)
        values (${this.#ids.uuid()}, ${organizationId}, ${limit}, ${at}, ${at})
        on conflict (organization_id) do update
          set concurrent_request_limit = excluded.concurrent_request_limit, modified_at = excluded.modified_at
        returning ${limitColumns}, xmax = 0 as "isNew"`);
      const [row] = rows;
      if (!row) throw new CoreError('INTERNAL', 'An upsert returned no row.');
      const { isNew, ...stored } = row;
      return { limit: stored, isNew };
    } catch (error) {
      if (!hasSqlState(error, foreignKeyViolation)) throw error;
      throw new CoreError('NOT_FOUND', `There is no organization ${organizationId}.`, { cause: error });
    }
  }

  async delete(organizationId: string): Promise<OrganizationLimit | null> {
    const { rows } = await this.#write<OrganizationLimit>(sql`
      delete from organization_rate_limits where organization_id = ${organizationId} returning ${limitColumns}`);
    return rows[0] ?? null;
  }

  #write<Row extends object>(statement: Sql): Promise<QueryResult<Row>> {
    const { schema } = this.#database;
    return this.#database.transaction(async (transaction) => {
      await transaction.notify(limitsChannel(schema), limitsTopic);
      return transaction.query<Row>(statement);
    });
  }
}
