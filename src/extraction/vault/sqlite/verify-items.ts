// Verifies items and versions: each by its hash, each against the other, and the facts of an item against its data.
import { contentHash } from '../content-hash.ts';
import { parseJson } from '../canonical-json.ts';
import { FactChecker } from './fact-checker.ts';
import { hashText, type Row } from './rows.ts';
import type { VaultReader } from './vault-reader.ts';
import type { Tally } from './verify-tally.ts';

/** Every version has the data that it says, and belongs to an item, whose facts are those of its newest data. */
export function checkVersions({ db }: VaultReader, tally: Tally, signal: AbortSignal | undefined): void {
  const statement = db.prepare(
    `SELECT type.name AS type, version.id, version.number, version.session AS version_session, version.size,
            version.hash, CAST(version.data AS BLOB) AS data, head.id IS NULL AS is_orphan,
            head.version IS version.number AS is_newest, head.session, head.name, owner, folder, created_at, updated_at
     FROM content_versions AS version
     LEFT JOIN content_types AS type ON type.number = version.content_type
     LEFT JOIN item_heads AS head ON head.content_type = version.content_type AND head.id = version.id`,
  );
  statement.setReadBigInts(true);
  const facts = new FactChecker(db);
  for (const row of statement.iterate()) {
    signal?.throwIfAborted();
    tally.versions += 1;
    const damaged = (message: string) =>
      tally.add('damaged', String(row['type']), String(row['id']), message);
    const problem = versionProblem(row);
    if (problem) damaged(`Version ${String(row['number'])} ${problem}`);
    else if (row['is_orphan'] === 1n) damaged(`Version ${String(row['number'])} belongs to no item.`);
    else if (row['is_newest'] === 1n && row['data'] instanceof Uint8Array) {
      const wrong = facts.problem(row, row['data']);
      if (wrong !== undefined) damaged(wrong);
    }
  }
}

function versionProblem({ data, size, hash }: Row): string | undefined {
  if (data === null) return hash === null && size === null ? undefined : 'has lost its data.';
  if (!(data instanceof Uint8Array)) return 'has something else than text as its data.';
  if (BigInt(data.byteLength) !== size) return `has ${data.byteLength} bytes instead of ${String(size)}.`;
  if (contentHash(data) !== hash) return `does not have the hash ${hashText(hash)}.`;
  try {
    parseJson(Buffer.from(data).toString('utf8'));
    return undefined;
  } catch {
    return 'is no JSON.';
  }
}

/**
 * Each item leads to the version that holds its data; a deleted one ends with a version that says so, and no other.
 * Pruning takes beginnings of histories only: what comes after has no gap.
 */
export function checkHeads({ db }: VaultReader, tally: Tally, signal: AbortSignal | undefined): void {
  const rows = db
    .prepare(
      `SELECT type.name AS type, head.id, head.size IS version.size AND head.hash IS version.hash AS fits,
              version.data IS NOT NULL AS has_data, deleted_at IS NOT NULL AS is_deleted,
              CASE WHEN raw_check IS NULL THEN raw_hash = head.hash ELSE raw_check = ~raw_hash END AS is_raw_right,
              EXISTS (SELECT 1 FROM extraction_sessions WHERE number = head.session) AS has_session,
              (SELECT max(number) > head.version FROM content_versions AS other
               WHERE other.content_type = head.content_type AND other.id = head.id) AS is_followed,
              (SELECT count(*) = max(number) - min(number) + 1 FROM content_versions AS other
               WHERE other.content_type = head.content_type AND other.id = head.id) AS is_whole
       FROM item_heads AS head
       LEFT JOIN content_types AS type ON type.number = head.content_type
       LEFT JOIN content_versions AS version ON version.content_type = head.content_type AND version.id = head.id
         AND version.number = head.version`,
    )
    .iterate();
  for (const row of rows) {
    signal?.throwIfAborted();
    tally.items += 1;
    const problem = headProblem(row);
    if (problem) tally.add('damaged', String(row['type']), String(row['id']), problem);
  }
}

function headProblem(row: Row): string | undefined {
  if (row['has_data'] !== 1) return 'The item has no data.';
  if (row['fits'] !== 1) return 'The item and its newest version do not agree.';
  if (row['is_followed'] !== row['is_deleted']) return 'The item is deleted in one table and not in another.';
  if (row['is_whole'] !== 1) return 'A version between its first and its last is missing.';
  if (row['has_session'] !== 1) return 'The session that saw it last is missing.';
  if (row['is_raw_right'] !== 1) return 'The hash of what came last was changed.';
  return undefined;
}
