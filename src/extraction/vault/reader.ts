// Reads a vault, at any time, also during an extraction.
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { toCamelCase } from '../../core/index.ts';
import { ExtractionError } from '../errors.ts';
import type { SessionState, TypeState } from '../types.ts';
import { onFile, openMigratedVault, sourceOf } from './file.ts';

export interface ItemQuery {
  readonly limit: number;
  /** Id of the last item of the previous page. */
  readonly after?: string;
  /** Default: without deleted items. */
  readonly withDeleted?: boolean;
}

/**
 * Migrates the vault of an older version. Fails with a SqliteError when the file does not exist or is not a vault, and
 * with EXTRACTION_BUSY when it is older and an extraction writes to it.
 */
export function openVaultReader(path: string): VaultReader {
  const { db, wasOlder } = openMigratedVault(path);
  return new VaultReader(path, db, wasOlder);
}

/** A stored hash as 16 hexadecimal digits. */
const hashColumn = "printf('%016x', hash) AS hash";

const sessionColumns = `number, id, source, state, started_at, finished_at, total_items, total_calls, errors,
  worker_count, throughput_items_per_second`;

const itemColumns = `type.name AS type, id, head.name AS name, owner, folder, created_at, updated_at, synced_at,
  deleted_at, size, ${hashColumn},
  (SELECT count(*) FROM content_versions AS kept WHERE kept.content_type = head.content_type AND kept.id = head.id) AS versions
  FROM items AS head JOIN content_types AS type ON type.number = content_type`;

export class VaultReader {
  readonly path: string;
  /** For verify.ts and diff.ts. */
  readonly db: DatabaseSync;
  /** It has been migrated: older versions can no longer read it. */
  readonly wasOlder: boolean;

  constructor(path: string, db: DatabaseSync, wasOlder: boolean) {
    this.path = path;
    this.db = db;
    this.wasOlder = wasOlder;
  }

  /** Null when nothing was extracted yet. */
  source(): string | null {
    return onFile(this.path, () => sourceOf(this.db));
  }

  /** Newest first. */
  sessions(limit = 100): readonly SessionRecord[] {
    return this.#all(`SELECT ${sessionColumns} FROM extraction_sessions ORDER BY number DESC LIMIT ?`, limit);
  }

  /** A session by number or id; the newest without either. Fails with EXTRACTION_ITEM_UNKNOWN. */
  session(numberOrId: string): SessionRecord {
    const [session] = this.#all<SessionRecord>(
      `SELECT ${sessionColumns} FROM extraction_sessions WHERE id = ?1 OR CAST(number AS TEXT) = ?1`,
      numberOrId,
    );
    if (session) return session;
    throw this.#unknown(`no session ${numberOrId}`, 'See "headworks vault list --sessions".');
  }

  types(): readonly TypeRecord[] {
    return this.#all(
      `SELECT type.name AS type, checkpoint.session, state, scope, reason, expected_total, items_seen, duplicates,
              completed_at,
              (SELECT count(*) FROM checkpoints AS whole
               WHERE whole.content_type = type.number AND whole.state = 'completed' AND whole.scope IS NULL
                 AND whole.list_ends ->> 'not-found' IS NULL) AS whole_sessions,
              count(head.id) FILTER (WHERE head.deleted_at IS NULL) AS live,
              count(head.deleted_at) AS deleted,
              coalesce(sum(head.size) FILTER (WHERE head.deleted_at IS NULL), 0) AS bytes
       FROM content_types AS type
       JOIN checkpoints AS checkpoint ON checkpoint.content_type = type.number AND checkpoint.session =
            (SELECT max(session) FROM checkpoints AS other WHERE other.content_type = type.number)
       LEFT JOIN items AS head ON head.content_type = type.number
       GROUP BY type.number ORDER BY type.number`,
    );
  }

  /** In the order of their ids. Fails with EXTRACTION_ITEM_UNKNOWN for an unknown type. */
  items(type: string, { limit, after = '', withDeleted = false }: ItemQuery): readonly ItemRecord[] {
    const number = this.typeNumber(type);
    return this.#all(
      `SELECT ${itemColumns} WHERE content_type = ? AND id > ? ${withDeleted ? '' : 'AND deleted_at IS NULL'}
       ORDER BY id LIMIT ?`,
      number,
      after,
      limit,
    );
  }

  /** Fails with EXTRACTION_ITEM_UNKNOWN. */
  item(type: string, id: string): ItemRecord {
    const [item] = this.#all<ItemRecord>(
      `SELECT ${itemColumns} WHERE content_type = ? AND id = ?`,
      this.typeNumber(type),
      id,
    );
    if (item) return item;
    throw this.#unknownItem(type, id);
  }

  /** Oldest first. */
  versions(type: string, id: string): readonly VersionRecord[] {
    const versions = this.#all<VersionRecord>(
      `SELECT number, session, first_seen_at, size, iif(hash IS NULL, NULL, printf('%016x', hash)) AS hash
       FROM content_versions WHERE content_type = ? AND id = ? ORDER BY number`,
      this.typeNumber(type),
      id,
    );
    if (versions.length > 0) return versions;
    throw this.#unknownItem(type, id);
  }

  /** JSON text of a version, by default the newest; null for a deletion. */
  data(type: string, id: string, version?: number): string | null {
    const [row] = this.#all<{ readonly data: string | null }>(
      `SELECT data FROM content_versions WHERE content_type = ?1 AND id = ?2 AND number = coalesce(?3,
         (SELECT version FROM items WHERE content_type = ?1 AND id = ?2))`,
      this.typeNumber(type),
      id,
      version ?? null,
    );
    if (row) return row.data;
    const what = version === undefined ? `item ${id}` : `version ${version} of ${id}`;
    throw this.#unknown(
      `no ${what} of the type ${type}`,
      `See "headworks vault get ${type} ${id} --versions".`,
    );
  }

  /** Unresolved ones, newest first. */
  deadLetters(limit = 100): readonly DeadLetter[] {
    return this.#all(
      `SELECT session, type.name AS type, page_key, cause, message, dead_letters.created_at AS at, resolved_at
       FROM dead_letters JOIN content_types AS type ON type.number = content_type
       WHERE resolved_at IS NULL ORDER BY session DESC, at DESC, page_key, item_index LIMIT ?`,
      limit,
    );
  }

  typeNumber(name: string): number {
    const types = this.#all<{ readonly name: string; readonly number: number }>(
      'SELECT name, number FROM content_types ORDER BY number',
    );
    const type = types.find((each) => each.name === name);
    if (type) return type.number;
    throw this.#unknown(
      `no items of the type ${name}`,
      types.length === 0 ? 'It is empty.' : `It has ${types.map((each) => each.name).join(', ')}.`,
    );
  }

  /** Safe to call twice. */
  close(): void {
    if (this.db.isOpen) this.db.close();
  }

  /**
   * The columns of `sql`, in camel case, must be the fields of T. Times of a source may be too large for a JavaScript
   * number.
   */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the row type, as in Database.query
  #all<T>(sql: string, ...values: readonly SQLInputValue[]): readonly T[] {
    const rows = onFile(this.path, () => {
      const statement = this.db.prepare(sql);
      statement.setReadBigInts(true);
      return statement.all(...values);
    });
    return rows.map((row) => {
      const fields = Object.entries(row).map(([name, value]) => [
        toCamelCase(name),
        typeof value === 'bigint' ? Number(value) : value,
      ]);
      return Object.fromEntries(fields) as T;
    });
  }

  #unknownItem(type: string, id: string): ExtractionError {
    return this.#unknown(`no item ${id} of the type ${type}`, `See "headworks vault list ${type}".`);
  }

  #unknown(what: string, remedy: string): ExtractionError {
    return new ExtractionError('EXTRACTION_ITEM_UNKNOWN', `${this.path} has ${what}. ${remedy}`, {
      details: { path: this.path },
    });
  }
}

export interface SessionRecord {
  /** From 1; users refer to it. */
  readonly number: number;
  readonly id: string;
  readonly source: string;
  readonly state: SessionState;
  readonly startedAt: number;
  readonly finishedAt: number | null;
  readonly totalItems: number;
  readonly totalCalls: number;
  readonly errors: number;
  /** Null when sequential. */
  readonly workerCount: number | null;
  readonly throughputItemsPerSecond: number | null;
}

/** A type after the newest session that extracted it. */
export interface TypeRecord {
  readonly type: string;
  readonly live: number;
  readonly deleted: number;
  /** Size of the live items. */
  readonly bytes: number;
  /** Number of the newest session with the type. */
  readonly session: number;
  readonly state: TypeState;
  readonly scope: string | null;
  /** Why it is incomplete. */
  readonly reason: string | null;
  /** The source's own count; null when unknown. */
  readonly expectedTotal: number | null;
  readonly itemsSeen: number;
  readonly duplicates: number;
  readonly completedAt: number | null;
  /** Completed sessions of the whole type that are evidence of what the source does not have (T2). */
  readonly wholeSessions: number;
}

export interface ItemRecord {
  readonly type: string;
  readonly id: string;
  readonly name: string | null;
  readonly owner: string | null;
  readonly folder: string | null;
  readonly createdAt: number | null;
  readonly updatedAt: number | null;
  /** When it was last seen. */
  readonly syncedAt: number;
  readonly deletedAt: number | null;
  readonly size: number;
  /** 16 hexadecimal digits. */
  readonly hash: string;
  /** How many versions are stored, deletions included. */
  readonly versions: number;
}

export interface VersionRecord {
  /** 1 is the first. */
  readonly number: number;
  /** Number of the session that saw it first. */
  readonly session: number;
  readonly firstSeenAt: number;
  /** Null for a deletion. */
  readonly size: number | null;
  readonly hash: string | null;
}

export interface DeadLetter {
  readonly session: number;
  readonly type: string;
  readonly pageKey: string;
  readonly cause: string;
  readonly message: string;
  readonly at: number;
  /** When the page was committed after all. */
  readonly resolvedAt: number | null;
}
