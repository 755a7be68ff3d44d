// Gateway keys in Postgres: their hashes, never the keys.
import { isUuid } from '../../core/index.ts';
import type { Database } from '../../platform/postgres/ports.ts';
import { sql } from '../../platform/postgres/sql.ts';
import type { GatewayKey, GatewayKeyStore, StoredGatewayKey } from '../ports.ts';
import { changesChannel } from './changes-channel.ts';

const columns = sql`
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
      await transaction.notify(changesChannel(this.#database.schema), 'keys');
    });
  }

  async list(): Promise<readonly StoredGatewayKey[]> {
    const { rows } = await this.#database.query<StoredGatewayKey>(
      sql`select ${columns}, hash from gateway_keys order by created_at, id`,
    );
    return rows;
  }

  async revoke(id: string, at: Date): Promise<GatewayKey | undefined> {
    if (!isUuid(id)) return undefined;
    return this.#database.transaction(async (transaction) => {
      const { rows } = await transaction.query<GatewayKey>(sql`
        update gateway_keys set revoked_at = coalesce(revoked_at, ${at}::timestamptz)
        where id = ${id}::uuid returning ${columns}`);
      if (rows.length > 0) await transaction.notify(changesChannel(this.#database.schema), 'keys');
      return rows[0];
    });
  }
}
