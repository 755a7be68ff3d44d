// Is a vault whole? Every row is read and its hash computed again; every type is held against what the source said.
import { contentHash } from '../content-hash.ts';
import { parseJson } from '../canonical-json.ts';
import { SqliteError } from '../../../platform/sqlite/index.ts';
import { findGaps } from '../page-ranges.ts';
import { readPages } from './progress.ts';
import { hashText, type Row } from './rows.ts';
import { onFile } from './vault-file.ts';
import type { VaultReader } from './vault-reader.ts';

export interface VaultProblem {
  /** `damaged`: what is in the file is not what was written. `incomplete`: not everything is in the file. */
  readonly kind: 'damaged' | 'incomplete';
  readonly type: string | null;
  readonly id: string | null;
  readonly message: string;
}

export interface VerifyReport {
  readonly isSound: boolean;
  readonly isComplete: boolean;
  readonly checked: { readonly items: number; readonly versions: number; readonly pages: number };
  /** The first `mostProblems` of them. */
  readonly problems: readonly VaultProblem[];
  readonly problemCount: number;
}

const mostProblems = 100;

/** Reads the whole file; `signal` stops it between two rows. */
export function verifyVault(reader: VaultReader, signal?: AbortSignal): VerifyReport {
  const tally = new Tally();
  for (const check of [checkFile, checkVersions, checkHeads, checkTypes])
    try {
      onFile(reader.path, () => check(reader, tally, signal));
    } catch (error) {
      // A file too damaged to be read on is a finding; anything else is a failure of ours.
      if (!(error instanceof SqliteError) || error.code !== 'SQLITE_UNUSABLE') throw error;
      tally.add('damaged', null, null, error.message);
    }
  return tally.report();
}

class Tally {
  items = 0;
  versions = 0;
  pages = 0;
  readonly #counts = { damaged: 0, incomplete: 0 };
  readonly #problems: VaultProblem[] = [];

  add(kind: VaultProblem['kind'], type: string | null, id: string | null, message: string): void {
    this.#counts[kind] += 1;
    if (this.#problems.length < mostProblems) this.#problems.push({ kind, type, id, message });
  }

  report(): VerifyReport {
    const { damaged, incomplete } = this.#counts;
    return {
      isSound: damaged === 0,
      isComplete: incomplete === 0,
      checked: { items: this.items, versions: this.versions, pages: this.pages },
      problems: this.#problems,
      problemCount: damaged + incomplete,
    };
  }
}

function checkFile({ db }: VaultReader, tally: Tally): void {
  for (const row of db.prepare('PRAGMA integrity_check').all())
    if (row['integrity_check'] !== 'ok') tally.add('damaged', null, null, String(row['integrity_check']));
  for (const row of db.prepare('PRAGMA foreign_key_check').all())
    tally.add(
      'damaged',
      null,
      null,
      `A row of ${String(row['table'])} refers to nothing in ${String(row['parent'])}.`,
    );
}

function checkVersions({ db }: VaultReader, tally: Tally, signal: AbortSignal | undefined): void {
  const statement = db.prepare(
    `SELECT type.name AS type, id, version.number, size, hash, CAST(data AS BLOB) AS data
     FROM content_versions AS version LEFT JOIN content_types AS type ON type.number = content_type`,
  );
  statement.setReadBigInts(true);
  for (const row of statement.iterate()) {
    signal?.throwIfAborted();
    tally.versions += 1;
    const problem = versionProblem(row);
    if (problem)
      tally.add(
        'damaged',
        String(row['type']),
        String(row['id']),
        `Version ${String(row['number'])} ${problem}`,
      );
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

/** Each item leads to the version that holds its data; a deleted one ends with a version that says so, and no other. */
function checkHeads({ db }: VaultReader, tally: Tally): void {
  const rows = db
    .prepare(
      `SELECT type.name AS type, head.id, head.size IS version.size AND head.hash IS version.hash AS fits,
              version.data IS NOT NULL AS has_data,
              EXISTS (SELECT 1 FROM content_versions AS later WHERE later.content_type = head.content_type
                      AND later.id = head.id AND later.number > head.version) AS is_followed,
              deleted_at IS NOT NULL AS is_deleted
       FROM item_heads AS head
       LEFT JOIN content_types AS type ON type.number = head.content_type
       LEFT JOIN content_versions AS version ON version.content_type = head.content_type AND version.id = head.id
         AND version.number = head.version`,
    )
    .iterate();
  for (const row of rows) {
    tally.items += 1;
    const damaged = (message: string) =>
      tally.add('damaged', String(row['type']), String(row['id']), message);
    if (row['has_data'] !== 1) damaged('The item has no data.');
    else if (row['fits'] !== 1) damaged('The item and its newest version do not agree.');
    else if (row['is_followed'] !== row['is_deleted'])
      damaged('The item is deleted in one table and not in another.');
  }
}

function checkTypes(reader: VaultReader, tally: Tally): void {
  for (const type of reader.types()) {
    const incomplete = (message: string) => tally.add('incomplete', type.type, null, message);
    const pages = readPages(reader.db, type.session, reader.typeNumber(type.type)).done;
    tally.pages += pages.length;
    if (type.status === 'incomplete') incomplete(`${type.reason ?? 'Something is missing'}.`);
    else if (type.status !== 'completed')
      incomplete('It was not read to its end: the extraction did not finish.');
    else {
      for (const gap of findGaps(pages)) incomplete(`${gap}.`);
      if (type.expectedTotal !== null && type.itemsSeen < type.expectedTotal)
        incomplete(`The source counts ${type.expectedTotal} items, ${type.itemsSeen} came.`);
    }
  }
}
