// What a session has done so far, type by type.
import type { DatabaseSync } from 'node:sqlite';
import type { PageOutcome, PageRequest, SourceType, TypeProgress, TypeStatus } from '../../ports.ts';
import { numberOfType } from './numbers.ts';

export function readProgress(
  db: DatabaseSync,
  session: number,
  types: readonly SourceType[],
): readonly TypeProgress[] {
  const status = db.prepare('SELECT status FROM checkpoints WHERE session = ? AND content_type = ?');
  return types.map(({ name }) => {
    const type = numberOfType(db, name);
    return {
      type: name,
      status: status.get(session, type)?.['status'] as TypeStatus,
      ...readPages(db, session, type),
    };
  });
}

/** The settled pages of a type (by number), in the order of their keys. */
export function readPages(
  db: DatabaseSync,
  session: number,
  type: number,
): Pick<TypeProgress, 'done' | 'failed'> {
  const rows = db
    .prepare('SELECT state, request, outcome FROM pages WHERE session = ? AND content_type = ? ORDER BY key')
    .iterate(session, type);
  const done: PageOutcome[] = [];
  const failed: PageRequest[] = [];
  for (const row of rows) {
    const request = JSON.parse(String(row['request'])) as PageRequest;
    if (row['state'] === 'failed') failed.push(request);
    else done.push({ request, ...(JSON.parse(String(row['outcome'])) as Omit<PageOutcome, 'request'>) });
  }
  return { done, failed };
}

/**
 * Lets failed pages be asked for again; their dead letters stay until the pages came. Pages with items that could not
 * be taken in are asked for again too: the source may have been mended.
 */
export function forgetFailedPages(db: DatabaseSync, session: number): void {
  db.prepare(
    `DELETE FROM pages WHERE session = ?
       AND (state = 'failed' OR json_extract(outcome, '$.rejectedCount') > 0)`,
  ).run(session);
  db.prepare(
    `UPDATE checkpoints SET status = 'running', completed_at = NULL, reason = NULL
     WHERE session = ? AND status = 'incomplete'`,
  ).run(session);
}
