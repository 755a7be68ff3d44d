// Organizations in Postgres.
import type { Database, Transaction } from '../../platform/postgres/ports.ts';
import { sql } from '../../platform/postgres/sql.ts';
import { nameKey } from '../names.ts';
import type { Organization, OrganizationStore } from '../ports.ts';
import { takenName } from '../refusals.ts';
import { refusing } from './refusing.ts';
import { removeIdle } from './remove-idle.ts';
import { tellTenants } from './tenant-channel.ts';

const columns = sql`id, name, created_at as "createdAt"`;

export class PostgresOrganizationStore implements OrganizationStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async add({ id, name, createdAt }: Organization): Promise<void> {
    await this.#refusingTaken(name, async (transaction) => {
      await transaction.query(sql`
        insert into organizations (id, name, name_key, created_at)
        values (${id}, ${name}, ${nameKey(name)}, ${createdAt})`);
      await tellTenants(transaction, this.#database.schema, 'organizations');
    });
  }

  async list(): Promise<readonly Organization[]> {
    const { rows } = await this.#database.query<Organization>(
      sql`select ${columns} from organizations order by created_at, id`,
    );
    return rows;
  }

  rename(id: string, name: string): Promise<Organization | null> {
    return this.#refusingTaken(name, async (transaction) => {
      const { rows } = await transaction.query<Organization>(sql`
        update organizations set name = ${name}, name_key = ${nameKey(name)} where id = ${id}
        returning ${columns}`);
      if (rows.length > 0) await tellTenants(transaction, this.#database.schema, 'organizations');
      return rows[0] ?? null;
    });
  }

  remove(id: string): Promise<boolean> {
    return removeIdle(this.#database, 'organization', id, ['organizations', 'keys', 'deployments']);
  }

  #refusingTaken<T>(name: string, work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return refusing(this.#database.transaction(work), { '23505': () => this.#taken(name) });
  }

  /** The one that has the name may write it otherwise; it may also be gone by now. */
  async #taken(name: string): Promise<Error> {
    const { rows } = await this.#database.query<{ name: string }>(
      sql`select name from organizations where name_key = ${nameKey(name)}`,
    );
    return takenName('organization', rows[0]?.name ?? name);
  }
}
