// Optional features of PostgreSQL. A missing one is reported, never an error.
import { messageOf } from '../../core/errors.ts';
import type { Capability, DatabaseCapabilities, Queryable } from './ports.ts';
import { hasSqlState, identifier, sql } from './sql.ts';

type Extension = 'vector' | 'pg_trgm';

/** A type that can be resolved only when the extension is on the search path. */
const probeType = { vector: 'vector', pg_trgm: 'gtrgm' } as const satisfies Record<Extension, string>;

/** Detects extensions and creates those that this role may create. Fails only when the store is unavailable. */
export async function detectCapabilities(
  database: Queryable,
  kind: DatabaseCapabilities['kind'],
): Promise<DatabaseCapabilities> {
  const { rows } = await database.query<{ version: string }>(
    sql`select current_setting('server_version') as version`,
  );
  return {
    kind,
    version: (rows[0]?.version ?? '').split(' ')[0] ?? '',
    statementTimeout: kind === 'server',
    isShared: kind === 'server',
    vector: await ensureExtension(database, 'vector'),
    trigram: await ensureExtension(database, 'pg_trgm'),
  };
}

async function ensureExtension(database: Queryable, name: Extension): Promise<Capability> {
  const before = await look(database, name);
  if (before.installed !== null) return usable(name, before);
  if (before.offered === null) return notOffered(name);
  try {
    await database.query(sql`create extension if not exists ${identifier(name)} schema public`);
  } catch (error) {
    // Another process may have created it at the same time.
    const after = await look(database, name);
    return after.installed === null ? notAllowed(name, error) : usable(name, after);
  }
  return usable(name, await look(database, name));
}

interface Seen {
  readonly installed: string | null;
  readonly schema: string | null;
  readonly offered: string | null;
  readonly isOnPath: boolean;
}

async function look(database: Queryable, name: Extension): Promise<Seen> {
  const { rows } = await database.query<Seen>(sql`
    select (select extversion from pg_extension where extname = ${name}) as installed,
           (select nspname::text from pg_extension join pg_namespace n on n.oid = extnamespace
            where extname = ${name}) as schema,
           (select default_version from pg_available_extensions where name = ${name}) as offered,
           to_regtype(${probeType[name]}) is not null as "isOnPath"`);
  return rows[0] ?? { installed: null, schema: null, offered: null, isOnPath: false };
}

function usable(name: Extension, seen: Seen): Capability {
  if (seen.installed !== null && seen.isOnPath) return { available: true, version: seen.installed };
  return {
    available: false,
    reason: `The extension ${name} is installed in the schema ${seen.schema}, which Headworks does not search.`,
    remedy: `As its owner: ALTER EXTENSION ${name} SET SCHEMA public; then start again.`,
  };
}

function notOffered(name: Extension): Capability {
  const packageName = name === 'vector' ? 'pgvector' : 'postgresql-contrib';
  return {
    available: false,
    reason: `The Postgres server does not have the extension ${name}.`,
    remedy: `Install ${packageName} on the server (or choose a service that offers it), then start again.`,
  };
}

function notAllowed(name: Extension, error: unknown): Capability {
  const why = hasSqlState(error, '42501') ? 'this role may not create it' : messageOf(error);
  return {
    available: false,
    reason: `The extension ${name} is not installed in this database, and ${why}.`,
    remedy: `As a superuser or the database's owner: CREATE EXTENSION ${name} SCHEMA public; then start again.`,
  };
}
