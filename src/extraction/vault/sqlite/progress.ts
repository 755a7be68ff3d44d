// What a session has done so far, type by type.
import type { DatabaseSync } from 'node:sqlite';
import type { PageRequest, SettledPage, SourceType, TypeProgress, TypeStatus } from '../../ports.ts';
import { numberOfType } from './numbers.ts';

export function readProgress(
  db: DatabaseSync,
  session: number,
  types: readonly SourceType[],
): readonly TypeProgress[] {
  const checkpoint = db.prepare(
    'SELECT status, items_seen FROM checkpoints WHERE session = ? AND content_type = ?',
  );
  return types.map(({ name }) => {
    const type = numberOfType(db, name);
    const row = checkpoint.get(session, type);
    return {
      type: name,
      status: row?.['status'] as TypeStatus,
      itemsSeen: Number(row?.['items_seen']),
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
  const done: SettledPage[] = [];
  const failed: PageRequest[] = [];
  for (const row of rows) {
    const request = JSON.parse(String(row['request'])) as PageRequest;
    if (row['state'] === 'failed') failed.push(request);
    else done.push({ request, ...(JSON.parse(String(row['outcome'])) as Omit<SettledPage, 'request'>) });
  }
  return { done, failed };
}

/** Before every position that a page has. */
const supersededPosition = -1;

/**
 * Lets failed pages be asked for again; their dead letters stay until the pages came. Pages with items that could not
 * be taken in are asked for again too: the source may have been mended.
 */
export function forgetFailedPages(db: DatabaseSync, session: number): void {
  const flawed = "session = ?1 AND outcome ->> 'rejectedCount' > 0";
  // What a page says when it is asked for again is newer, and must win wherever the item stood before.
  db.prepare(
    `UPDATE item_heads SET position = ${supersededPosition}
     WHERE session = ?1 AND content_type IN (SELECT content_type FROM pages WHERE ${flawed})`,
  ).run(session);
  db.prepare(`DELETE FROM pages WHERE ${flawed} OR (session = ?1 AND state = 'failed')`).run(session);
  db.prepare(
    `UPDATE checkpoints SET status = 'running', completed_at = NULL, reason = NULL,
       pages = (SELECT count(*) FROM pages WHERE session = ?1 AND content_type = checkpoints.content_type)
     WHERE session = ?1 AND status = 'incomplete'`,
  ).run(session);
}
