// Sessions and types by their numbers: what rows carry instead of ids and names.
import type { DatabaseSync } from 'node:sqlite';
import type { SourceType } from '../../ports.ts';
import { firstOwnNumber } from '../../content-types.ts';

/** Fails when the vault has no such session: a bug of the caller's. */
export function numberOfSession(db: DatabaseSync, id: string): number {
  return found(db.prepare('SELECT number FROM extraction_sessions WHERE id = ?').get(id), `session ${id}`);
}

/** Fails when the vault has no such type: a bug of the caller's. */
export function numberOfType(db: DatabaseSync, name: string): number {
  return found(db.prepare('SELECT number FROM content_types WHERE name = ?').get(name), `type ${name}`);
}

/** Gives each type its number, once and for all. Within a transaction of the caller's. */
export function numberTypes(db: DatabaseSync, types: readonly SourceType[]): ReadonlyMap<string, number> {
  const insert = db.prepare(
    `INSERT INTO content_types (number, name)
     VALUES (coalesce(?1, (SELECT max(coalesce(max(number), 0) + 1, ?2) FROM content_types)), ?3)
     ON CONFLICT (name) DO NOTHING`,
  );
  return new Map(
    types.map(({ name, number }) => {
      insert.run(number, firstOwnNumber, name);
      return [name, numberOfType(db, name)];
    }),
  );
}

function found(row: Record<string, unknown> | undefined, what: string): number {
  if (!row) throw new RangeError(`The vault has no ${what}.`);
  return Number(row['number']);
}
