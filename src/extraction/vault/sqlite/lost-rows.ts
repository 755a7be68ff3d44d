// Rows that somebody removed from the file: noticed before a run says that everything is there, and read anew.
import type { DatabaseSync } from 'node:sqlite';
import type { SourceType } from '../../ports.ts';

/**
 * The types of which the file has fewer items than were counted, or, of `session`, fewer pages or no checkpoint. Counts
 * only: "vault verify" looks at the rows themselves. 100,000 items take a tenth of a second.
 */
export function typesWithLostRows(
  db: DatabaseSync,
  types: readonly SourceType[],
  session: number | undefined,
): readonly string[] {
  const statement = db.prepare(
    `SELECT type.items = count(version.number) AS has_all,
            ?2 IS NULL OR (
              checkpoint.items_seen IS count(version.number) FILTER (WHERE head.session = ?2)
              AND checkpoint.pages IS (SELECT count(*) FROM pages WHERE session = ?2 AND content_type = type.number
                                       AND state = 'done')) AS has_seen
     FROM content_types AS type
     LEFT JOIN checkpoints AS checkpoint ON checkpoint.content_type = type.number AND checkpoint.session = ?2
     LEFT JOIN item_heads AS head ON head.content_type = type.number
     LEFT JOIN content_versions AS version ON version.content_type = head.content_type AND version.id = head.id
       AND version.number = head.version
     WHERE type.name = ?1 GROUP BY type.number`,
  );
  return types.flatMap(({ name }) => {
    const row = statement.get(name, session ?? null);
    // A type that was never read has no row.
    return row === undefined || (row['has_all'] === 1 && row['has_seen'] === 1) ? [] : [name];
  });
}

/** Drops what is left of items that are there in part, so that they can come again. Within a transaction of the caller's. */
export function dropRemnants(db: DatabaseSync, types: readonly string[]): void {
  for (const name of types) {
    const ofType = 'content_type = (SELECT number FROM content_types WHERE name = ?)';
    db.prepare(
      `DELETE FROM item_heads WHERE ${ofType} AND NOT EXISTS (
         SELECT 1 FROM content_versions AS version WHERE version.content_type = item_heads.content_type
           AND version.id = item_heads.id AND version.number = item_heads.version)`,
    ).run(name);
    db.prepare(
      `DELETE FROM content_versions WHERE ${ofType} AND NOT EXISTS (
         SELECT 1 FROM item_heads AS head WHERE head.content_type = content_versions.content_type
           AND head.id = content_versions.id)`,
    ).run(name);
    db.prepare(
      `UPDATE content_types SET items = (SELECT count(*) FROM item_heads WHERE content_type = content_types.number),
         versions = (SELECT count(*) FROM content_versions WHERE content_type = content_types.number)
       WHERE name = ?`,
    ).run(name);
  }
}
