// Tokens of login links, on Postgres: each logs in once, on whichever server it is used.
import { createHash } from 'node:crypto';
import type { Clock, IdSource } from '../../core/index.ts';
import type { Logins } from '../../http/index.ts';
import type { Queryable } from '../../platform/postgres/index.ts';
import { sql } from '../../platform/postgres/index.ts';

const lastsMs = 10 * 60_000;

export class PostgresLogins implements Logins {
  readonly #database: Queryable;
  readonly #clock: Clock;
  readonly #ids: IdSource;

  constructor(database: Queryable, clock: Clock, ids: IdSource) {
    this.#database = database;
    this.#clock = clock;
    this.#ids = ids;
  }

  async create(): Promise<{ readonly token: string; readonly expiresAt: Date }> {
    const token = this.#ids.token(32);
    const now = this.#clock.now();
    const expiresAt = new Date(now + lastsMs);
    await this.#database.query(sql`delete from login_link where expires_at < ${new Date(now)}`);
    await this.#database.query(
      sql`insert into login_link (token_hash, expires_at) values (${hashOf(token)}, ${expiresAt})`,
    );
    return { token, expiresAt };
  }

  async use(token: string): Promise<boolean> {
    const { rows } = await this.#database.query<{ expires_at: Date }>(
      sql`delete from login_link where token_hash = ${hashOf(token)} returning expires_at`,
    );
    return rows.some(({ expires_at }) => expires_at.getTime() > this.#clock.now());
  }
}

const hashOf = (token: string): Uint8Array => createHash('sha256').update(token).digest();
