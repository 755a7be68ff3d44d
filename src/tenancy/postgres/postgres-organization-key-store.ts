// Keys of organizations in Postgres: their hashes, never the keys.
import { isUuid } from '../../core/index.ts';
import type { Database } from '../../platform/postgres/ports.ts';
import { sql } from '../../platform/postgres/sql.ts';
import type { OrganizationKey, OrganizationKeyStore, StoredOrganizationKey } from '../ports.ts';
import { noOrganization } from '../refusals.ts';
import { refusing } from './refusing.ts';
import { tellTenants } from './tenant-channel.ts';

const columns = sql`
  id, organization_id as "organizationId", name, prefix, created_at as "createdAt", expires_at as "expiresAt",
  revoked_at as "revokedAt"`;

export class PostgresOrganizationKeyStore implements OrganizationKeyStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async add(key: StoredOrganizationKey): Promise<void> {
    const { id, organizationId, name, prefix, hash, createdAt, expiresAt, revokedAt } = key;
    const adding = this.#database.transaction(async (transaction) => {
      await transaction.query(sql`
        insert into organization_keys
          (id, organization_id, name, prefix, hash, created_at, expires_at, revoked_at)
        values
          (${id}, ${organizationId}, ${name}, ${prefix}, ${hash}, ${createdAt}, ${expiresAt}, ${revokedAt})`);
      await tellTenants(transaction, this.#database.schema, 'keys');
    });
    await refusing(adding, { '23503': noOrganization });
  }

  async list(): Promise<readonly StoredOrganizationKey[]> {
    const { rows } = await this.#database.query<StoredOrganizationKey>(
      sql`select ${columns}, hash from organization_keys order by created_at, id`,
    );
    return rows;
  }

  async revoke(id: string, at: Date): Promise<OrganizationKey | null> {
    if (!isUuid(id)) return null;
    return this.#database.transaction(async (transaction) => {
      const { rows } = await transaction.query<OrganizationKey>(sql`
        update organization_keys set revoked_at = coalesce(revoked_at, ${at}::timestamptz)
        where id = ${id}::uuid returning ${columns}`);
      if (rows.length > 0) await tellTenants(transaction, this.#database.schema, 'keys');
      return rows[0] ?? null;
    });
  }
}
