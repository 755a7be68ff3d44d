// Missing privileges of the database role, and the statements with which an administrator grants them.
import { CoreError } from '../../core/errors.ts';
import type { Database, Queryable, Transaction } from './ports.ts';
import { hasSqlState, identifier, sql } from './sql.ts';

/** The schema of the job tables: pg-boss needs its own. */
export const jobsSchemaOf = (schema: string): string => `${schema}_jobs`;

/** Runs `work`; an insufficient_privilege error becomes STATE_UNUSABLE with the remedy for both schemas. */
export async function withRights<T>(database: Database, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof Error && hasSqlState(error, '42501')
      ? await missingRights(database, error)
      : error;
  }
}

/**
 * Creates the schema unless it exists. Not with IF NOT EXISTS: that needs the right to create even where an
 * administrator has created the schema, and fails when two sessions run it at once.
 */
export async function ensureSchema(transaction: Transaction, schema: string): Promise<void> {
  await transaction.query(
    sql`select pg_advisory_xact_lock(hashtextextended(${`headworks.schema.${schema}`}, 0))`,
  );
  const { rows } = await transaction.query(sql`select from pg_namespace where nspname = ${schema}`);
  if (rows.length === 0) await transaction.query(sql`create schema ${identifier(schema)}`);
}

async function missingRights(database: Database, cause: Error): Promise<CoreError> {
  const { schema } = database;
  const seen = await look(database, [schema, jobsSchemaOf(schema)]);
  return new CoreError(
    'STATE_UNUSABLE',
    `The role ${seen[0]?.role} lacks a privilege to set up the schemas ${schema} and ${jobsSchemaOf(schema)}: ${cause.message}. ${remedy(seen)}`,
    { cause },
  );
}

interface SeenSchema {
  readonly role: string;
  readonly database: string;
  readonly mayCreate: boolean;
  readonly schema: string;
  /** `null` when there is no such schema. */
  readonly owner: string | null;
  readonly isOurs: boolean;
  readonly hasTables: boolean;
}

async function look(database: Queryable, schemas: readonly string[]): Promise<readonly SeenSchema[]> {
  const { rows } = await database.query<SeenSchema>(sql`
    select current_user::text as role, current_database()::text as database,
           has_database_privilege(current_database(), 'create') as "mayCreate",
           wanted.schema, pg_get_userbyid(n.nspowner)::text as owner,
           coalesce(pg_has_role(n.nspowner, 'usage'), false) as "isOurs",
           exists(select from pg_class where relnamespace = n.oid) as "hasTables"
    from unnest(${schemas}::text[]) with ordinality as wanted (schema, place)
    left join pg_namespace as n on n.nspname = wanted.schema
    order by wanted.place`);
  return rows;
}

function remedy(seen: readonly SeenSchema[]): string {
  const absent = seen.filter(({ owner, mayCreate }) => owner === null && !mayCreate);
  const [first] = absent;
  const onDatabase = `GRANT CREATE ON DATABASE "${first?.database}" TO "${first?.role}";`;
  const created = absent.map(({ schema, role }) => `CREATE SCHEMA "${schema}" AUTHORIZATION "${role}";`);
  const granted = seen.filter(({ owner, isOurs }) => owner !== null && !isOurs).map(grant);
  const statements = [...granted, ...(first ? [onDatabase] : [])];
  if (statements.length === 0) return 'Grant the privilege as an administrator, then start again.';
  const instead = first ? ` (instead of CREATE ON DATABASE also: ${created.join(' ')})` : '';
  return `As an administrator: ${[...new Set(statements)].join(' ')}${instead}`;
}

/** Only the owner of a table can alter it: where tables exist, membership in the owning role is needed. */
function grant({ schema, role, owner, hasTables }: SeenSchema): string {
  return hasTables
    ? `GRANT "${owner}" TO "${role}";`
    : `GRANT USAGE, CREATE ON SCHEMA "${schema}" TO "${role}";`;
}
