// Spaces: knowledge that belongs together, owned by an organization or by the server itself.
import type { Clock } from '../../core/index.ts';
import { CoreError } from '../../core/index.ts';
import type { Database } from '../../platform/postgres/ports.ts';
import { hasSqlState, sql } from '../../platform/postgres/sql.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { KnowledgeError } from '../errors.ts';

export interface Space {
  /** Internal; APIs identify a space by name and organization. */
  readonly spaceId: number;
  /** Null: owned by the server, reached with the admin token. */
  readonly organizationId: string | null;
  /** Unique within its owner, case-insensitively. */
  readonly name: string;
  /** A text search configuration of Postgres: english, german, simple, … */
  readonly language: string;
  readonly createdAt: Date;
}

const defaultSpaceName = 'default';
const defaultLanguage = 'english';
const foreignKeyViolation = '23503';
const maxNameLength = 100;
const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

const columns = sql`
  space_id as "spaceId", organization_id as "organizationId", name, language, created_at as "createdAt"`;

export interface SpacesDeps {
  readonly database: Database;
  readonly clock: Clock;
  /** Removes the space's nodes from a graph that is a separate store. */
  readonly onDeleted?: (space: Pick<Space, 'spaceId'>) => Promise<void>;
}

export class Spaces {
  readonly #deps: SpacesDeps;

  constructor(deps: SpacesDeps) {
    this.#deps = deps;
  }

  /** The owner's space; the default one is created on first use. NOT_FOUND does not reveal spaces of other owners. */
  async resolve(organizationId: string | null, name: string = defaultSpaceName): Promise<Space> {
    const found = await this.#find(organizationId, name);
    if (found) return found;
    if (nameKey(name) === defaultSpaceName) return this.ensure(organizationId, defaultSpaceName);
    throw new CoreError(
      'NOT_FOUND',
      `There is no space ${JSON.stringify(name.slice(0, 100).toWellFormed())} here. "headworks spaces list" shows the existing ones; "headworks spaces create NAME" creates one.`,
    );
  }

  get(spaceId: number): Promise<Space | null> {
    return this.#one(sql`space_id = ${spaceId}`);
  }

  /** Sorted by name; `undefined` lists the spaces of all owners. */
  async list(organizationId: string | null | undefined): Promise<readonly Space[]> {
    const owner =
      organizationId === undefined
        ? sql`true`
        : sql`organization_id is not distinct from ${organizationId}::text`;
    const { rows } = await this.#deps.database.query<Space>(sql`
      select ${columns} from knowledge_space where ${owner}
      order by organization_id nulls first, name_key`);
    return rows;
  }

  /** Fails with CONFLICT, INPUT_INVALID or KNOWLEDGE_LANGUAGE_UNKNOWN. */
  async create(organizationId: string | null, name: string, language?: string): Promise<Space> {
    if (await this.#find(organizationId, validName(name)))
      throw new CoreError('CONFLICT', `A space ${name} already exists. Choose another name.`);
    return this.ensure(organizationId, name, language);
  }

  /** The space, created if it is missing. Fails with KNOWLEDGE_LANGUAGE_UNKNOWN. */
  async ensure(
    organizationId: string | null,
    name: string,
    language: string = defaultLanguage,
  ): Promise<Space> {
    const existing = await this.#find(organizationId, name);
    if (existing) return existing;
    await this.#checkLanguage(language);
    try {
      await this.#deps.database.query(sql`
        insert into knowledge_space (organization_id, name, name_key, language, created_at)
        values (${organizationId}, ${validName(name)}, ${nameKey(name)}, ${language},
          ${new Date(this.#deps.clock.now())})
        on conflict do nothing`);
    } catch (error) {
      if (!hasSqlState(error, foreignKeyViolation)) throw error;
      throw new CoreError('NOT_FOUND', 'The organization was deleted.', { cause: error });
    }
    const created = await this.#find(organizationId, name);
    if (!created)
      throw new CoreError('CONFLICT', `The space ${name} was deleted at the same time. Try again.`);
    return created;
  }

  /** Deletes the space with everything in it. */
  async delete(space: Pick<Space, 'spaceId' | 'name'>): Promise<void> {
    const { affected } = await this.#deps.database.query(
      sql`delete from knowledge_space where space_id = ${space.spaceId}`,
    );
    if (affected !== 1) throw new CoreError('NOT_FOUND', `The space ${space.name} was already deleted.`);
    await this.#deps.onDeleted?.(space);
  }

  #find(organizationId: string | null, name: string): Promise<Space | null> {
    return this.#one(
      sql`organization_id is not distinct from ${organizationId}::text and name_key = ${nameKey(name)}`,
    );
  }

  async #one(condition: Sql): Promise<Space | null> {
    const { rows } = await this.#deps.database.query<Space>(
      sql`select ${columns} from knowledge_space where ${condition}`,
    );
    return rows[0] ?? null;
  }

  async #checkLanguage(language: string): Promise<void> {
    const { rows } = await this.#deps.database.query<{ name: string }>(
      sql`select cfgname as name from pg_ts_config where pg_ts_config_is_visible(oid) order by 1`,
    );
    if (rows.some(({ name }) => name === language)) return;
    throw new KnowledgeError(
      'KNOWLEDGE_LANGUAGE_UNKNOWN',
      `Postgres has no text search configuration of that name. Use one of: ${rows.map(({ name }) => name).join(', ')}.`,
    );
  }
}

/** Names with the same key are the same space. */
const nameKey = (name: string): string => name.toLowerCase();

/** Names are part of URLs and command lines. Fails with INPUT_INVALID. */
function validName(name: string): string {
  if (name.length <= maxNameLength && namePattern.test(name)) return name;
  throw new CoreError(
    'INPUT_INVALID',
    `Nothing was changed. A space's name has 1 to ${maxNameLength} letters (a to z), digits, "-", "_" and ".", and begins with a letter or digit.`,
    { details: { problems: [{ field: 'space', message: 'is not a valid name of a space' }] } },
  );
}

/** The caller that model calls for a space are billed to: `org:ID`, or `admin` for a space of the server. */
export const billingCaller = ({ organizationId }: Pick<Space, 'organizationId'>): string =>
  organizationId === null ? 'admin' : `org:${organizationId}`;
