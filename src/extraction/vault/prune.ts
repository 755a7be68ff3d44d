// Old versions go, so that a vault does not grow for ever. What an item is now always stays, and so does every state
// that was the newest at some moment since the cut.
//
// Only whole beginnings of histories go: whoever finds a version finds everything that came after it.
import type { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../../core/index.ts';
import { immediate } from '../../platform/sqlite/index.ts';
import { lockVault, onFile, openVaultFile, requireVault } from './file.ts';

export interface PruneRule {
  /** Versions that were replaced before so many days go. */
  readonly olderThanDays: number;
  /** So many of an item stay in any case, the newest included; at least 1. */
  readonly keep: number;
}

export interface PruneReport {
  readonly versions: number;
  /** Of their data. The file keeps its size, and uses the room again. */
  readonly bytes: number;
  /** Marks of pages, of extractions that a newer one of the same type has taken the place of. */
  readonly pages: number;
}

export interface PruneOptions {
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  /** Also give the room back to the disk: writes the whole file anew, and needs as much room for that. */
  readonly compact?: boolean;
}

const dayMs = 86_400_000;
/** Versions in one transaction: short enough that a reader never waits, and Ctrl-C is heard. */
const batchSize = 1_000;

/** Prunes a vault that nobody writes to. Fails with EXTRACTION_BUSY or a SqliteError. */
export async function pruneVault(path: string, rule: PruneRule, options: PruneOptions): Promise<PruneReport> {
  requireVault(path);
  const lock = lockVault(path);
  try {
    const db = openVaultFile(path);
    try {
      const report = await pruneVersions(path, db, rule, options);
      if (options.compact) onFile(path, () => db.exec('VACUUM'));
      return report;
    } finally {
      db.close();
    }
  } finally {
    lock.close();
  }
}

/** For whoever holds the vault's lock. */
export async function pruneVersions(
  path: string,
  db: DatabaseSync,
  rule: PruneRule,
  { clock, signal }: Omit<PruneOptions, 'compact'>,
): Promise<PruneReport> {
  const before = clock.now() - rule.olderThanDays * dayMs;
  const inFile = <T>(work: () => T): T => onFile(path, () => immediate(db, work));
  const pages = inFile(() => prunePages(db, before));
  let [versions, bytes] = [0, 0];
  for (let from: Place | null = { type: 0, id: '' }; from !== null;) {
    // Everything else of this process, a Ctrl-C too, has its turn between two batches.
    await clock.sleep(0, signal);
    const start: Place = from;
    const batch = inFile(() => pruneBatch(db, { ...rule, before }, start));
    versions += batch.versions;
    bytes += batch.bytes;
    from = batch.last;
  }
  return { versions, bytes, pages };
}

interface Place {
  readonly type: number;
  readonly id: string;
}

/**
 * `known`: the newest state at the cut; what came before it was replaced before the cut. The newest session of a type
 * may take back what it wrote for as long as it can be resumed, and then needs what was there before it.
 */
const doomed = `
  WITH open AS (
    SELECT checkpoint.content_type, session.number AS session
    FROM (SELECT content_type, max(session) AS session FROM checkpoints GROUP BY content_type) AS checkpoint
    JOIN extraction_sessions AS session ON session.number = checkpoint.session AND session.status <> 'completed')
  SELECT old.rowid AS row, old.size, old.content_type AS type, old.id
  FROM items AS head
  JOIN content_versions AS old
    ON old.content_type = head.content_type AND old.id = head.id AND old.number < head.version
  WHERE (head.content_type, head.id) >= (?1, ?2)
    AND old.number < (SELECT max(known.number) FROM content_versions AS known
                      WHERE known.content_type = head.content_type AND known.id = head.id
                        AND known.first_seen_at < ?3
                        AND known.session IS NOT
                            (SELECT open.session FROM open WHERE open.content_type = head.content_type))
    AND (SELECT count(*) FROM content_versions AS newer
         WHERE newer.content_type = head.content_type AND newer.id = head.id AND newer.number > old.number) >= ?4
  ORDER BY head.content_type, head.id, old.number LIMIT ?5`;

function pruneBatch(
  db: DatabaseSync,
  { before, keep }: { readonly before: number; readonly keep: number },
  from: Place,
): { readonly versions: number; readonly bytes: number; readonly last: Place | null } {
  const rows = db.prepare(doomed).all(from.type, from.id, before, Math.max(keep, 1), batchSize);
  const remove = db.prepare('DELETE FROM content_versions WHERE rowid = ?');
  const discount = db.prepare('UPDATE content_types SET version_count = version_count - 1 WHERE number = ?');
  let bytes = 0;
  for (const { row, size, type } of rows) {
    remove.run(Number(row));
    discount.run(Number(type));
    bytes += Number(size ?? 0);
  }
  const last = rows.length < batchSize ? undefined : rows.at(-1);
  return {
    versions: rows.length,
    bytes,
    last: last ? { type: Number(last['type']), id: String(last['id']) } : null,
  };
}

/** Only the newest session of a type is resumed or verified by its pages. */
function prunePages(db: DatabaseSync, before: number): number {
  const { changes } = db
    .prepare(
      `DELETE FROM pages
       WHERE session IN (SELECT number FROM extraction_sessions WHERE coalesce(finished_at, started_at) < ?)
         AND session < (SELECT max(session) FROM checkpoints AS newer
                        WHERE newer.content_type = pages.content_type)`,
    )
    .run(before);
  return Number(changes);
}
