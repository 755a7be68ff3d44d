// Organizations, API keys, deployments, limits and the reports of servers in Postgres.
import type { IdSource } from '../../core/index.ts';
import { CoreError, isUuid } from '../../core/index.ts';
import type { Database } from '../../platform/postgres/ports.ts';
import { ChangeFeed } from '../../platform/postgres/change-feed.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { identifier, joinSql, json, sql, SqlError } from '../../platform/postgres/sql.ts';
import type { LimitStore, OrganizationLimit, ServerRegistry, ServerReport } from '../admission/types.ts';
import { hasRunningExecutions, nameTaken, organizationDeleted } from '../names.ts';
import { nameKey } from '../organizations/organizations.ts';
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
    organizations: organizationStore(database),
    keys: apiKeyStore(database),
    deployments: deploymentStore(database),
    changes: new ChangeFeed(database, tenantChannel(database.schema), tenantTopics),
  };
}

/** Channels belong to the whole database. A schema name has at most 50 characters, a channel 63. */
const tenantChannel = (schema: string): string => `${schema}_tenants`;
/** Servers that cache limits in their own memory listen to it. */
export const limitsChannel = (schema: string): string => `${schema}_limits`;
export const limitsTopic = 'limits';

const foreignKeyViolation = '23503';
const uniqueViolation = '23505';

/** Ended executions and their files are deleted as well; there may be many. */
const deletionLeaseMs = 300_000;

interface Change {
  readonly topic: TenantTopic | typeof limitsTopic;
  /** Replace violated constraints, by SQLSTATE. */
  readonly errors?: Readonly<Record<string, () => Error | Promise<Error>>>;
}

/** Runs a statement that changes one row, and notifies all processes if it does; returns that row. */
async function change<Row extends object>(
  database: Database,
  { topic, errors = {} }: Change,
  statement: Sql,
): Promise<Row | null> {
  const channel = topic === limitsTopic ? limitsChannel(database.schema) : tenantChannel(database.schema);
  try {
    return await database.transaction(async (transaction) => {
      const { rows } = await transaction.query<Row>(statement);
      if (rows.length > 0) await transaction.notify(channel, topic);
      return rows[0] ?? null;
    });
  } catch (error) {
    throw (error instanceof SqlError ? await errors[error.sqlState]?.() : undefined) ?? error;
  }
}

async function rowsOf<Row extends object>(database: Database, statement: Sql): Promise<readonly Row[]> {
  return (await database.query<Row>(statement)).rows;
}

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
        select id from executions where ${identifier(`${what}_id`)} = ${id} and finished_at is null limit 1`);
      if (unfinished.rows.length > 0) throw hasRunningExecutions(what);
      await transaction.query(sql`delete from ${table} where id = ${id}`);
      for (const topic of topics) await transaction.notify(tenantChannel(database.schema), topic);
      return true;
    },
    { leaseMs: deletionLeaseMs },
  );
}

const organizationColumns = sql`id, name, created_at as "createdAt"`;

function organizationStore(database: Database): OrganizationStore {
  /** The holder may spell the name differently, or be deleted by now. */
  const taken = async (name: string): Promise<Error> => {
    const [holder] = await rowsOf<{ name: string }>(
      database,
      sql`select name from organizations where name_key = ${nameKey(name)}`,
    );
    return nameTaken('organization', holder?.name ?? name);
  };
  const changeName = (name: string, statement: Sql): Promise<Organization | null> =>
    change(database, { topic: 'organizations', errors: { [uniqueViolation]: () => taken(name) } }, statement);
  return {
    create: async ({ id, name, createdAt }) => {
      await changeName(
        name,
        sql`
        insert into organizations (id, name, name_key, created_at)
        values (${id}, ${name}, ${nameKey(name)}, ${createdAt}) returning id`,
      );
    },
    list: () =>
      rowsOf(database, sql`select ${organizationColumns} from organizations order by created_at, id`),
    rename: (id, name) =>
      changeName(
        name,
        sql`
        update organizations set name = ${name}, name_key = ${nameKey(name)} where id = ${id}
        returning ${organizationColumns}`,
      ),
    delete: (id) => deleteIdle(database, 'organization', id, ['organizations', 'keys', 'deployments']),
  };
}

const keyColumns = sql`
  id, organization_id as "organizationId", name, prefix, created_at as "createdAt", expires_at as "expiresAt",
  revoked_at as "revokedAt"`;

function apiKeyStore(database: Database): ApiKeyStore {
  return {
    create: async (key: StoredOrganizationKey) => {
      const { id, organizationId, name, prefix, hash, createdAt, expiresAt, revokedAt } = key;
      await change(
        database,
        { topic: 'keys', errors: { [foreignKeyViolation]: organizationDeleted } },
        sql`
        insert into organization_keys
          (id, organization_id, name, prefix, hash, created_at, expires_at, revoked_at)
        values
          (${id}, ${organizationId}, ${name}, ${prefix}, ${hash}, ${createdAt}, ${expiresAt}, ${revokedAt})
        returning id`,
      );
    },
    list: () =>
      rowsOf(database, sql`select ${keyColumns}, hash from organization_keys order by created_at, id`),
    revoke: async (id, at) => {
      if (!isUuid(id)) return null;
      return change<OrganizationKey>(
        database,
        { topic: 'keys' },
        sql`
        update organization_keys set revoked_at = coalesce(revoked_at, ${at}::timestamptz)
        where id = ${id}::uuid returning ${keyColumns}`,
      );
    },
  };
}

const deploymentColumns = sql`
  id, organization_id as "organizationId", name, workflow, options, webhook_url as "webhookUrl",
  wait_seconds as "waitSeconds", is_active as "isActive", created_at as "createdAt", modified_at as "modifiedAt"`;

function deploymentStore(database: Database): DeploymentStore {
  /** The holder may spell the name differently, or be deleted by now. */
  const taken = async (name: string, organizationId: Sql): Promise<Error> => {
    const [holder] = await rowsOf<{ name: string }>(
      database,
      sql`
      select name from deployments
      where organization_id = ${organizationId} and lower(name collate "C") = lower(${name} collate "C")`,
    );
    return nameTaken('deployment', holder?.name ?? name);
  };
  return {
    create: async (deployment) => {
      const { id, organizationId, name, workflow, options, webhookUrl, waitSeconds, isActive } = deployment;
      const errors = {
        [foreignKeyViolation]: organizationDeleted,
        [uniqueViolation]: () => taken(name, sql`${organizationId}`),
      };
      await change(
        database,
        { topic: 'deployments', errors },
        sql`
        insert into deployments (
          id, organization_id, name, workflow, options, webhook_url, wait_seconds, is_active, created_at, modified_at
        ) values (
          ${id}, ${organizationId}, ${name}, ${workflow}, ${json(options)}, ${webhookUrl}, ${waitSeconds},
          ${isActive}, ${deployment.createdAt}, ${deployment.modifiedAt}
        ) returning id`,
      );
    },
    list: () => rowsOf(database, sql`select ${deploymentColumns} from deployments order by created_at, id`),
    update: async (id, update, at) => {
      if (!isUuid(id)) return null;
      const owner = sql`(select organization_id from deployments where id = ${id}::uuid)`;
      return change<Deployment>(
        database,
        { topic: 'deployments', errors: { [uniqueViolation]: () => taken(update.name ?? '', owner) } },
        sql`
        update deployments set ${joinSql([sql`modified_at = ${at}`, ...assignments(update)], sql`, `)}
        where id = ${id}::uuid returning ${deploymentColumns}`,
      );
    },
    delete: async (id) => isUuid(id) && deleteIdle(database, 'deployment', id, ['deployments']),
  };
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

const limitColumns = sql`
  id, organization_id as "organizationId", concurrent_request_limit as "concurrentRequestLimit",
  created_at as "createdAt", modified_at as "modifiedAt"`;

/** The table organization_rate_limits. */
export function postgresLimitStore(database: Database, ids: IdSource): LimitStore {
  return {
    get: async (organizationId) => {
      const [limit] = await rowsOf<OrganizationLimit>(
        database,
        sql`select ${limitColumns} from organization_rate_limits where organization_id = ${organizationId}`,
      );
      return limit ?? null;
    },
    list: () =>
      rowsOf(database, sql`select ${limitColumns} from organization_rate_limits order by created_at, id`),
    set: async (organizationId, limit, at) => {
      const noOrganization = () => new CoreError('NOT_FOUND', `There is no organization ${organizationId}.`);
      // xmax distinguishes an update from an insert in one statement.
      const row = await change<OrganizationLimit & { isNew: boolean }>(
        database,
        { topic: limitsTopic, errors: { [foreignKeyViolation]: noOrganization } },
        sql`
        insert into organization_rate_limits
          (id, organization_id, concurrent_request_limit, created_at, modified_at)
        values (${ids.uuid()}, ${organizationId}, ${limit}, ${at}, ${at})
        on conflict (organization_id) do update
          set concurrent_request_limit = excluded.concurrent_request_limit, modified_at = excluded.modified_at
        returning ${limitColumns}, xmax = 0 as "isNew"`,
      );
      if (!row) throw new CoreError('INTERNAL', 'An upsert returned no row.');
      const { isNew, ...stored } = row;
      return { limit: stored, isNew };
    },
    delete: (organizationId) =>
      change<OrganizationLimit>(
        database,
        { topic: limitsTopic },
        sql`
        delete from organization_rate_limits where organization_id = ${organizationId} returning ${limitColumns}`,
      ),
  };
}

/** Reports of the servers that share slots, on the clock of Postgres. */
export function postgresServerRegistry(database: Database, leaseSeconds: number): ServerRegistry {
  return {
    report: async ({ serverId, number, heartbeats, slots, isDown, sharedWith }) => {
      const shared = sharedWith === null ? null : json(sharedWith);
      await database.query(sql`
        insert into admission_servers
          (server_id, number, heartbeats, slots, is_down, shared_with, reported_at)
        values (${serverId}, ${number}, ${heartbeats}, ${json(slots)}, ${isDown}, ${shared}, clock_timestamp())
        on conflict (server_id) do update
          set number = excluded.number, heartbeats = excluded.heartbeats, slots = excluded.slots,
              is_down = excluded.is_down, shared_with = excluded.shared_with, reported_at = excluded.reported_at
          where admission_servers.number < excluded.number`);
    },
    list: async () => {
      const { rows } = await database.query<ServerReport>(sql`
        select server_id as "serverId", number, heartbeats, slots, is_down as "isDown", shared_with as "sharedWith"
        from admission_servers
        where reported_at > clock_timestamp() - make_interval(secs => ${leaseSeconds})
        order by server_id`);
      return rows;
    },
    remove: async (serverId) => {
      await database.query(sql`
        delete from admission_servers
        where server_id = ${serverId} or reported_at < clock_timestamp() - interval '1 day'`);
    },
  };
}
