// The table organization_rate_limits in Postgres.
import type { IdSource } from '../../core/index.ts';
import { CoreError } from '../../core/index.ts';
import type { Database, QueryResult } from '../../platform/postgres/ports.ts';
import { hasSqlState, sql } from '../../platform/postgres/sql.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import type { LimitStore, OrganizationLimit } from '../admission/types.ts';

/** Told of every change: servers that cache limits in their own memory listen. */
export const limitsChannel = (schema: string): string => `${schema}_limits`;
export const limitsTopic = 'limits';

const columns = sql`
  id, organization_id as "organizationId", concurrent_request_limit as "concurrentRequestLimit",
  created_at as "createdAt", modified_at as "modifiedAt"`;

export class PostgresLimitStore implements LimitStore {
  readonly #database: Database;
  readonly #ids: IdSource;

  constructor(database: Database, ids: IdSource) {
    this.#database = database;
    this.#ids = ids;
  }

  async get(organizationId: string): Promise<OrganizationLimit | null> {
    const { rows } = await this.#database.query<OrganizationLimit>(sql`
      select ${columns} from organization_rate_limits where organization_id = ${organizationId}`);
    return rows[0] ?? null;
  }

  async list(): Promise<readonly OrganizationLimit[]> {
    const { rows } = await this.#database.query<OrganizationLimit>(sql`
      select ${columns} from organization_rate_limits order by created_at, id`);
    return rows;
  }

  async set(
    organizationId: string,
    limit: number,
    at: Date,
  ): Promise<{ readonly limit: OrganizationLimit; readonly isNew: boolean }> {
    try {
      // xmax tells an update from an insert; nothing else does in one statement.
      const { rows } = await this.#change<OrganizationLimit & { isNew: boolean }>(sql`
        insert into organization_rate_limits
          (id, organization_id, concurrent_request_limit, created_at, modified_at)
        values (${this.#ids.uuid()}, ${organizationId}, ${limit}, ${at}, ${at})
        on conflict (organization_id) do update
          set concurrent_request_limit = excluded.concurrent_request_limit, modified_at = excluded.modified_at
        returning ${columns}, xmax = 0 as "isNew"`);
      const [row] = rows;
      if (!row) throw new CoreError('INTERNAL', 'An upsert gave no row.');
      const { isNew, ...stored } = row;
      return { limit: stored, isNew };
    } catch (error) {
      if (!hasSqlState(error, '23503')) throw error;
      throw new CoreError('NOT_FOUND', `There is no organization ${organizationId}.`, { cause: error });
    }
  }

  async delete(organizationId: string): Promise<OrganizationLimit | null> {
    const { rows } = await this.#change<OrganizationLimit>(sql`
      delete from organization_rate_limits where organization_id = ${organizationId} returning ${columns}`);
    return rows[0] ?? null;
  }

  #change<Row extends object>(statement: Sql): Promise<QueryResult<Row>> {
    const { schema } = this.#database;
    return this.#database.transaction(async (transaction) => {
      await transaction.notify(limitsChannel(schema), limitsTopic);
      return transaction.query<Row>(statement);
    });
  }
}
