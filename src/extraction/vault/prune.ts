// Deletes old versions. The newest version of an item always stays, and so does every version that was the newest at
// some time since the cutoff. Only the beginning of a history is deleted, never a version in the middle.
import type { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../../core/index.ts';
import { immediate, sqlOn } from '../../platform/sqlite/open-sqlite.ts';
import { lockVault, onFile, openVaultFile, requireVault } from './file.ts';

export interface PruneRule {
  /** Deletes versions that were replaced more than this many days ago. */
  readonly olderThanDays: number;
  /** Keeps this many versions of each item, the newest included; at least 1. */
  readonly keep: number;
}

export interface PruneReport {
  readonly versions: number;
  /** Bytes of their data. The file keeps its size and reuses the space. */
  readonly bytes: number;
  /** Rows of pages of superseded sessions. */
  readonly pages: number;
}

export interface PruneOptions {
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  /** Also shrinks the file: rewrites it, and needs as much free space meanwhile. */
  readonly compact?: boolean;
}

const dayMs = 86_400_000;
/** Versions per transaction: short enough for readers and Ctrl-C. */
const batchSize = 1_000;

/** Prunes a vault. Fails with EXTRACTION_BUSY during an extraction, or with a SqliteError. */
export async function pruneVault(path: string, rule: PruneRule, options: PruneOptions): Promise<PruneReport> {
  requireVault(path).db.close();
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

/** Prunes a vault whose lock the caller holds. */
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
  for (let from: ItemKey | null = { type: 0, id: '' }; from !== null;) {
    // Yields to the event loop between two batches, for example for Ctrl-C.
    await clock.sleep(0, signal);
    const start: ItemKey = from;
    const batch = inFile(() => pruneBatch(db, { ...rule, before }, start));
    versions += batch.versions;
    bytes += batch.bytes;
    from = batch.last;
  }
  return { versions, bytes, pages };
}

interface ItemKey {
  readonly type: number;
  readonly id: string;
}

interface PrunableVersion extends ItemKey {
  readonly row: number;
  /** Null for a deletion. */
  readonly size: number | null;
}

/**
 * `known`: the newest version at the cutoff; earlier ones were replaced before it. The newest session of a type may
 * replace what it wrote while it can be resumed, and then needs the version before it.
 */
const prunable = `
  WITH open AS (
    SELECT checkpoint.content_type, session.number AS session
    FROM (SELECT content_type, max(session) AS session FROM checkpoints GROUP BY content_type) AS checkpoint
    JOIN extraction_sessions AS session ON session.number = checkpoint.session AND session.state <> 'completed')
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
  from: ItemKey,
): { readonly versions: number; readonly bytes: number; readonly last: ItemKey | null } {
  const rows = db
    .prepare(prunable)
    .all(from.type, from.id, before, Math.max(keep, 1), batchSize) as unknown as readonly PrunableVersion[];
  const remove = db.prepare('DELETE FROM content_versions WHERE rowid = ?');
  const discount = db.prepare('UPDATE content_types SET version_count = version_count - 1 WHERE number = ?');
  for (const { row, type } of rows) {
    remove.run(row);
    discount.run(type);
  }
  return {
    versions: rows.length,
    bytes: rows.reduce((sum, { size }) => sum + (size ?? 0), 0),
    last: rows.length < batchSize ? null : (rows.at(-1) ?? null),
  };
}

/** Only the newest session of a type is resumed or verified by its pages. */
function prunePages(db: DatabaseSync, before: number): number {
  const { changes } = sqlOn(db).run`
    DELETE FROM pages
    WHERE session IN (SELECT number FROM extraction_sessions WHERE coalesce(finished_at, started_at) < ${before})
      AND session < (SELECT max(session) FROM checkpoints AS newer WHERE newer.content_type = pages.content_type)`;
  return Number(changes);
}
