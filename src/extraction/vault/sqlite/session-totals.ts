// What the runs of a session come to together: items, calls, errors, and the time in which they worked.
import type { DatabaseSync } from 'node:sqlite';
import type { RunTotals, SessionTotals } from '../../ports.ts';

/** The time that a session lay interrupted is not in it. */
const computed = `
  total_items = (SELECT coalesce(sum(items_seen), 0) FROM checkpoints WHERE session = number),
  throughput_items_per_second =
    (SELECT nullif(sum(items_seen), 0) FROM checkpoints WHERE session = number) * 1000.0 / nullif(active_ms, 0)`;

/**
 * A run that has ended. `callsBefore` are those of the runs before it: meanwhile its pages were counted as calls, for
 * the case that it is killed. Within a transaction of the caller's, as everything here.
 */
export function addRun(db: DatabaseSync, session: number, run: RunTotals, callsBefore: number): void {
  const { calls, errors, activeMs } = run;
  db.prepare(
    `UPDATE extraction_sessions SET total_calls = ?, errors = errors + ?, active_ms = active_ms + ?,
       active_since = NULL WHERE number = ?`,
  ).run(callsBefore + calls, errors, Math.round(activeMs), session);
  db.prepare(`UPDATE extraction_sessions SET ${computed} WHERE number = ?`).run(session);
}

/**
 * Runs that ended without a word: they worked at least until the last item that they wrote. Their calls are counted as
 * those of the pages that they committed. We hold the vault's lock, so that none of them still works.
 */
export function settleKilledRuns(db: DatabaseSync): void {
  const killed = db.prepare('SELECT number FROM extraction_sessions WHERE active_since IS NOT NULL').all();
  for (const { number } of killed) {
    db.prepare(
      `UPDATE extraction_sessions SET active_since = NULL, active_ms = active_ms + max(0, coalesce(
         (SELECT max(synced_at) FROM item_heads WHERE session = ?1), active_since) - active_since)
       WHERE number = ?1`,
    ).run(Number(number));
    db.prepare(`UPDATE extraction_sessions SET ${computed} WHERE number = ?`).run(Number(number));
  }
}

export function readTotals(db: DatabaseSync, session: number): SessionTotals {
  const row = db
    .prepare(
      `SELECT total_items AS items, total_calls AS calls, errors, active_ms AS activeMs,
              throughput_items_per_second AS throughputItemsPerSecond
       FROM extraction_sessions WHERE number = ?`,
    )
    .get(session);
  return { ...row } as unknown as SessionTotals;
}
