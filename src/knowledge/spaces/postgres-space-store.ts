// Spaces in Postgres.
import type { Clock } from '../../core/index.ts';
import { CoreError } from '../../core/index.ts';
import type { Database } from '../../platform/postgres/ports.ts';
import { hasSqlState } from '../../platform/postgres/sql-error.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { sql } from '../../platform/postgres/sql.ts';
import { KnowledgeError } from '../errors.ts';
import type { Space, SpaceStore } from '../ports.ts';
import { spaceKey, spaceName } from './space-name.ts';

const columns = sql`
  space_id as "spaceId", organization_id as "organizationId", name, language, created_at as "createdAt"`;

const usualLanguage = 'english';
const foreignKeyViolation = '23503';

export class PostgresSpaceStore implements SpaceStore {
  readonly #database: Database;
  readonly #clock: Clock;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  get(organizationId: string | null, name: string): Promise<Space | null> {
    return this.#one(
      sql`organization_id is not distinct from ${organizationId}::text and name_key = ${spaceKey(name)}`,
    );
  }

  byId(spaceId: number): Promise<Space | null> {
    return this.#one(sql`space_id = ${spaceId}`);
  }

  async ensure(
    organizationId: string | null,
    name: string,
    language: string = usualLanguage,
  ): Promise<Space> {
    const known = await this.get(organizationId, name);
    if (known) return known;
    await this.#checkLanguage(language);
    try {
      await this.#database.query(sql`
        insert into knowledge_space (organization_id, name, name_key, language, created_at)
        values (${organizationId}, ${spaceName(name)}, ${spaceKey(name)}, ${language},
          ${new Date(this.#clock.now())})
        on conflict do nothing`);
    } catch (error) {
      if (!hasSqlState(error, foreignKeyViolation)) throw error;
      throw new CoreError('NOT_FOUND', 'The organization was removed.', { cause: error });
    }
    const made = await this.get(organizationId, name);
    if (!made) throw new CoreError('CONFLICT', `The space ${name} was removed at this moment. Try again.`);
    return made;
  }

  async list(organizationId: string | null | undefined): Promise<readonly Space[]> {
    const owner =
      organizationId === undefined
        ? sql`true`
        : sql`organization_id is not distinct from ${organizationId}::text`;
    const { rows } = await this.#database.query<Space>(sql`
      select ${columns} from knowledge_space where ${owner}
      order by organization_id nulls first, name_key`);
    return rows;
  }

  async remove(spaceId: number): Promise<boolean> {
    const { affected } = await this.#database.query(
      sql`delete from knowledge_space where space_id = ${spaceId}`,
    );
    return affected === 1;
  }

  async #one(condition: Sql): Promise<Space | null> {
    const { rows } = await this.#database.query<Space>(
      sql`select ${columns} from knowledge_space where ${condition}`,
    );
    return rows[0] ?? null;
  }

  async #checkLanguage(language: string): Promise<void> {
    const { rows } = await this.#database.query<{ name: string }>(
      sql`select cfgname as name from pg_ts_config where pg_ts_config_is_visible(oid) order by 1`,
    );
    if (rows.some(({ name }) => name === language)) return;
    throw new KnowledgeError(
      'KNOWLEDGE_LANGUAGE_UNKNOWN',
      `The state store knows no text search configuration of that name. Take one of: ${rows.map(({ name }) => name).join(', ')}.`,
    );
  }
}
