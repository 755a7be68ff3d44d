// A vault belongs to one source: items of two would be taken for each other's.
import type { DatabaseSync } from 'node:sqlite';
import { ExtractionError } from '../../errors.ts';

/** The source the vault belongs to; null for a vault that nothing was extracted into yet. */
export function sourceOf(db: DatabaseSync): string | null {
  const name = db.prepare('SELECT name FROM vault_source').get()?.['name'];
  return typeof name === 'string' ? name : null;
}

/** Fails with EXTRACTION_VAULT_FOREIGN. */
export function requireSource(db: DatabaseSync, path: string, source: string): void {
  const holds = sourceOf(db);
  if (holds === null || holds === source) return;
  throw new ExtractionError(
    'EXTRACTION_VAULT_FOREIGN',
    `${path} holds "${holds}", not "${source}". Name another vault; this one was not changed.`,
    { details: { path, holds, source } },
  );
}

/** The first source that comes has it. Within a transaction of the caller's. */
export function claimFor(db: DatabaseSync, path: string, source: string): void {
  requireSource(db, path, source);
  db.prepare('INSERT INTO vault_source (one, name) VALUES (1, ?) ON CONFLICT DO NOTHING').run(source);
}
