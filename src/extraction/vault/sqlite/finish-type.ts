// Ends a type: is everything there, and if so, what is no longer there?
import type { DatabaseSync } from 'node:sqlite';
import type { TypeStatus } from '../../ports.ts';

interface Finish {
  readonly session: number;
  readonly type: number;
  /** What the source says there is. */
  readonly expectedTotal: number | null;
  readonly at: number;
}

/** Within a transaction of the caller's. A type that is completed stays so, whatever is asked again. */
export function finishType(db: DatabaseSync, finish: Finish): TypeStatus {
  const { session, type, expectedTotal, at } = finish;
  const before = checkpoint(db, finish);
  if (before['status'] === 'completed') return 'completed';
  const counts = count(db, finish);
  const reason = whatIsMissing(counts, expectedTotal);
  const status: TypeStatus = reason === null ? 'completed' : 'incomplete';
  db.prepare(
    `UPDATE checkpoints SET status = ?, started_at = coalesce(started_at, ?), completed_at = ?, expected_total = ?,
       items_seen = ?, duplicates = ?, reason = ? WHERE session = ? AND content_type = ?`,
  ).run(status, at, at, expectedTotal, counts.seen, counts.came - counts.seen, reason, session, type);
  const isWhole = before['scope'] === null;
  if (status === 'completed') resolveLetters(db, finish, isWhole);
  if (status === 'completed' && isWhole) markDeleted(db, finish);
  return status;
}

interface Counts {
  readonly failed: number;
  readonly rejected: number;
  /** Items on all pages. */
  readonly came: number;
  /** Different items: one that moved from page to page while they were read came twice. */
  readonly seen: number;
}

function count(db: DatabaseSync, { session, type }: Finish): Counts {
  return db
    .prepare(
      `SELECT count(*) FILTER (WHERE state = 'failed') AS failed,
              coalesce(sum(outcome ->> 'rejectedCount'), 0) AS rejected,
              coalesce(sum(outcome ->> 'itemCount'), 0) AS came,
              (SELECT count(*) FROM item_heads WHERE content_type = ?1 AND session = ?2) AS seen
       FROM pages WHERE session = ?2 AND content_type = ?1`,
    )
    .get(type, session) as unknown as Counts;
}

/** What did not come, for people, or null. */
function whatIsMissing({ failed, rejected, seen }: Counts, expectedTotal: number | null): string | null {
  const isShort = expectedTotal !== null && seen + rejected < expectedTotal;
  const reasons = [
    failed > 0 && `${failed} ${failed === 1 ? 'page' : 'pages'} did not come`,
    rejected > 0 && `${rejected} ${rejected === 1 ? 'item' : 'items'} could not be taken in`,
    failed === 0 && isShort && `the source counts ${expectedTotal} items, ${seen} came`,
  ].filter((reason) => reason !== false);
  return reasons.length === 0 ? null : reasons.join('; ');
}

function checkpoint(db: DatabaseSync, { session, type }: Finish): Record<string, unknown> {
  const row = db
    .prepare('SELECT status, scope FROM checkpoints WHERE session = ? AND content_type = ?')
    .get(session, type);
  if (!row) throw new RangeError(`Session ${session} does not read the type ${type}.`);
  return row;
}

/**
 * Letters that no page answers: that a parent was incomplete, or a chain led back to where it was. A type that was read
 * as a whole also lacks nothing of what earlier sessions missed.
 */
function resolveLetters(db: DatabaseSync, { session, type, at }: Finish, isWhole: boolean): void {
  db.prepare(
    `UPDATE dead_letters SET resolved_at = ?
     WHERE content_type = ? AND session BETWEEN ? AND ? AND resolved_at IS NULL`,
  ).run(at, type, isWhole ? 0 : session, session);
}

/** A version without data says when the item was first missed. */
function markDeleted(db: DatabaseSync, { session, type, at }: Finish): void {
  const gone = 'content_type = ? AND session <> ? AND deleted_at IS NULL';
  const { changes } = db
    .prepare(
      `INSERT INTO content_versions (content_type, id, number, session, first_seen_at)
       SELECT content_type, id, version + 1, ?, ? FROM item_heads WHERE ${gone}`,
    )
    .run(session, at, type, session);
  db.prepare('UPDATE content_types SET versions = versions + ? WHERE number = ?').run(changes, type);
  db.prepare(`UPDATE item_heads SET deleted_at = ? WHERE ${gone}`).run(at, type, session);
}
