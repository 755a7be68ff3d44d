// Verifies a vault: every row against the others, and every type against the source's own count.
import type { DatabaseSync } from 'node:sqlite';
import { HeadworksError, messageOf } from '../../core/index.ts';
import { sqlOn } from '../../platform/sqlite/open-sqlite.ts';
import { FieldReader } from '../parsing/json-reader.ts';
import { listKey } from '../pipeline/paginator.ts';
import { readItem } from '../parsing/parse-page.ts';
import type { ItemShape, ParsedItem, PageResult } from '../types.ts';
import { parseJson } from './canonical-json.ts';
import { onFile } from './file.ts';
import { contentHash } from './page-writer.ts';
import type { TypeRecord, VaultReader } from './reader.ts';
import { parsedTypes, readPages } from './session-state.ts';

type Row = Readonly<Record<string, unknown>>;

/** Reads the whole file; `signal` stops it between two rows. */
export function verifyVault(reader: VaultReader, signal?: AbortSignal): VerifyReport {
  const tally = new Tally();
  for (const check of [checkFile, checkVersions, checkHeads, checkCheckpoints, checkTypes])
    try {
      onFile(reader.path, () => check(reader, tally, signal));
    } catch (error) {
      signal?.throwIfAborted();
      // A file that is too damaged to read is a finding; a busy one is an error.
      if (error instanceof HeadworksError && error.code !== 'SQLITE_UNUSABLE') throw error;
      tally.add('damaged', `The file cannot be read further: ${messageOf(error)}`);
    }
  return tally.report();
}

function checkFile({ db }: VaultReader, tally: Tally): void {
  for (const row of db.prepare('PRAGMA integrity_check').all())
    if (row['integrity_check'] !== 'ok') tally.add('damaged', String(row['integrity_check']));
  for (const { table, parent } of db.prepare('PRAGMA foreign_key_check').all())
    tally.add('damaged', `A row of ${String(table)} refers to nothing in ${String(parent)}.`);
}

/** Every version has the data of its hash and belongs to an item, whose fields match its newest data. */
function checkVersions({ db }: VaultReader, tally: Tally, signal: AbortSignal | undefined): void {
  const statement = db.prepare(
    `SELECT type.name AS type, version.id, version.number, version.session AS version_session, version.size,
            version.hash, CAST(version.data AS BLOB) AS data, head.id IS NULL AS is_orphan,
            head.version IS version.number AS is_newest, head.session, head.name, owner, folder,
            created_at AS createdAt, updated_at AS updatedAt
     FROM content_versions AS version
     LEFT JOIN content_types AS type ON type.number = version.content_type
     LEFT JOIN items AS head ON head.content_type = version.content_type AND head.id = version.id`,
  );
  statement.setReadBigInts(true);
  const fieldProblemOf = createFieldCheck(db);
  for (const row of statement.iterate()) {
    signal?.throwIfAborted();
    tally.versions += 1;
    const damaged = (message: string) => tally.add('damaged', message, row['type'], row['id']);
    try {
      const problem = versionProblem(row);
      if (problem) damaged(`Version ${String(row['number'])} ${problem}`);
      else if (row['is_orphan'] === 1n) damaged(`Version ${String(row['number'])} belongs to no item.`);
      else if (row['is_newest'] === 1n && row['data'] instanceof Uint8Array) {
        const wrong = fieldProblemOf(row, row['data']);
        if (wrong !== undefined) damaged(wrong);
      }
    } catch (error) {
      damaged(`Version ${String(row['number'])} cannot be read: ${messageOf(error)}.`);
    }
  }
}

function versionProblem({ data, size, hash }: Row): string | undefined {
  if (data === null) return hash === null && size === null ? undefined : 'has lost its data.';
  if (!(data instanceof Uint8Array)) return 'has data that is not text.';
  if (BigInt(data.byteLength) !== size) return `has ${data.byteLength} bytes instead of ${String(size)}.`;
  if (typeof hash !== 'bigint') return 'has no hash.';
  if (contentHash(data) !== hash)
    return `does not have the hash ${BigInt.asUintN(64, hash).toString(16).padStart(16, '0')}.`;
  try {
    parseJson(Buffer.from(data).toString('utf8'));
    return undefined;
  } catch {
    return 'is not JSON.';
  }
}

/**
 * Each item refers to the version with its data; a deleted one, and no other, ends with a deletion. Pruning removes only
 * the beginning of a history, so that the rest has no gap.
 */
function checkHeads({ db }: VaultReader, tally: Tally, signal: AbortSignal | undefined): void {
  const rows = sqlOn(db).iterate`
    SELECT type.name AS type, head.id, CASE
      WHEN version.data IS NULL THEN 'The item has no data.'
      WHEN head.size IS NOT version.size OR head.hash IS NOT version.hash
        THEN 'The item and its newest version do not agree.'
      WHEN (deleted_at IS NOT NULL) <> (SELECT max(number) > head.version FROM content_versions AS other
                                        WHERE other.content_type = head.content_type AND other.id = head.id)
        THEN 'The item is deleted in one table and not in the other.'
      WHEN (SELECT count(*) <> max(number) - min(number) + 1 FROM content_versions AS other
            WHERE other.content_type = head.content_type AND other.id = head.id)
        THEN 'A version between its first and its last is missing.'
      WHEN NOT EXISTS (SELECT 1 FROM extraction_sessions WHERE number = head.session)
        THEN 'The session that saw it last is missing.'
      WHEN iif(raw_check IS NULL, raw_hash <> head.hash, raw_check <> ~raw_hash)
        THEN 'The hash of the last received data was changed.'
      END AS problem
    FROM items AS head
    LEFT JOIN content_types AS type ON type.number = head.content_type
    LEFT JOIN content_versions AS version ON version.content_type = head.content_type AND version.id = head.id
      AND version.number = head.version`;
  for (const { type, id, problem } of rows) {
    signal?.throwIfAborted();
    tally.items += 1;
    if (problem !== null) tally.add('damaged', String(problem), type, id);
  }
}

/** Every session has a checkpoint for each of its types. */
function checkCheckpoints({ db }: VaultReader, tally: Tally): void {
  const sql = sqlOn(db);
  for (const { number, types } of sql.all`SELECT number, types FROM extraction_sessions`) {
    const session = Number(number);
    const stored = parsedTypes(String(types));
    if (stored.length === 0 && types !== '[]')
      tally.add('damaged', `The definition of the types of session ${session} cannot be read.`);
    const present = sql.all`
      SELECT type.name FROM checkpoints JOIN content_types AS type ON type.number = content_type
      WHERE session = ${session}`.map(({ name }) => name);
    for (const { name } of stored)
      if (!present.includes(name))
        tally.add('damaged', `The checkpoint of session ${session} is missing.`, name);
  }
}

function checkTypes(reader: VaultReader, tally: Tally): void {
  for (const type of reader.types()) {
    checkCounts(reader, type, tally);
    const incomplete = (message: string) => tally.add('incomplete', message, type.type);
    const { done: pages } = readPages(reader.db, type.session, reader.typeNumber(type.type), (key) =>
      tally.add('damaged', `The page ${key} of session ${type.session} cannot be read.`, type.type),
    );
    tally.pages += pages.length;
    if (type.state === 'incomplete') incomplete(`${type.reason ?? 'Something is missing'}.`);
    else if (type.state !== 'completed')
      incomplete('It was not extracted to the end: the extraction did not finish.');
    else {
      for (const gap of findGaps(pages)) incomplete(`${gap}.`);
      if (type.expectedTotal !== null && type.itemsSeen < type.expectedTotal)
        incomplete(`The source counts ${type.expectedTotal} items, ${type.itemsSeen} were received.`);
    }
  }
}

/** Rows that were removed by hand show only in the counts. */
function checkCounts({ db }: VaultReader, { type, session, itemsSeen }: TypeRecord, tally: Tally): void {
  const counts = sqlOn(db).get`
    SELECT item_count AS kept, (SELECT count(*) FROM items WHERE content_type = type.number) AS present,
           version_count AS added, (SELECT count(*) FROM content_versions WHERE content_type = type.number) AS there,
           (SELECT count(*) FROM items WHERE content_type = type.number AND session = ${session}) AS seen,
           (SELECT page_count FROM checkpoints WHERE content_type = type.number AND session = ${session}) AS read,
           (SELECT count(*) FROM pages
            WHERE content_type = type.number AND session = ${session} AND state = 'committed') AS marked
    FROM content_types AS type WHERE name = ${type}`;
  const count = (name: string): number => Number(counts?.[name]);
  const damaged = (message: string) => tally.add('damaged', message, type);
  if (count('kept') !== count('present'))
    damaged(`${count('kept')} items were written, ${count('present')} are in the file.`);
  else if (count('seen') !== itemsSeen)
    damaged(`Session ${session} saw ${itemsSeen} items, the file has ${count('seen')} of them.`);
  // Pruning lowers the count, so that only rows removed otherwise are missing.
  if (count('added') !== count('there'))
    damaged(`${count('added')} versions of items should be in the file, ${count('there')} are.`);
  if (count('read') !== count('marked'))
    damaged(`${count('read')} pages were read, ${count('marked')} are in the file.`);
}

export interface VaultProblem {
  /** `damaged`: the file does not have what was written. `incomplete`: not everything was extracted. */
  readonly kind: 'damaged' | 'incomplete';
  readonly type: string | null;
  readonly id: string | null;
  readonly message: string;
}

export interface VerifyReport {
  readonly isSound: boolean;
  readonly isComplete: boolean;
  readonly checked: { readonly items: number; readonly versions: number; readonly pages: number };
  /** The first `maxProblems` of them. */
  readonly problems: readonly VaultProblem[];
  readonly problemCount: number;
}

export const maxProblems = 100;

class Tally {
  items = 0;
  versions = 0;
  pages = 0;
  readonly #counts = { damaged: 0, incomplete: 0 };
  readonly #problems: VaultProblem[] = [];

  add(kind: VaultProblem['kind'], message: string, type: unknown = null, id: unknown = null): void {
    this.#counts[kind] += 1;
    const problem = { kind, type: type as string | null, id: id as string | null, message };
    if (this.#problems.length < maxProblems) this.#problems.push(problem);
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

const facts = ['name', 'owner', 'folder', 'createdAt', 'updatedAt'] as const;

/**
 * A check of the item in a row, which returns its problem. Its fields were read with the type's definition of the session
 * that wrote the version or of the one that saw the item last, in the shape of any of its endpoints.
 */
function createFieldCheck(db: DatabaseSync): (row: Row, data: Uint8Array) => string | undefined {
  const types = db.prepare('SELECT types FROM extraction_sessions WHERE number = ?');
  const readers = new Map<string, readonly ShapeReader[]>();
  const readersOf = (session: number, type: string): readonly ShapeReader[] => {
    const key = `${session} ${type}`;
    const known = readers.get(key);
    if (known) return known;
    const stored = parsedTypes(String(types.get(session)?.['types'] ?? '[]'));
    const shapes = stored
      .filter(({ name }) => name === type)
      .flatMap(({ shape, endpoints }) => [shape, ...endpoints.flatMap((endpoint) => endpoint.shape ?? [])]);
    const found = shapes.map((shape) => ({ shape, fields: new FieldReader(shape, []) }));
    readers.set(key, found);
    return found;
  };
  return (row, data) => {
    const sessions = [...new Set([Number(row['session']), Number(row['version_session'])])];
    const problems = sessions
      .flatMap((session) => readersOf(session, String(row['type'])))
      .map((reader) => fieldProblem(row, reader, data));
    // Without a stored definition there is nothing to compare; that it is missing is found elsewhere.
    return problems.includes(undefined) ? undefined : problems[0];
  };
}

interface ShapeReader {
  readonly shape: ItemShape;
  readonly fields: FieldReader;
}

function fieldProblem(row: Row, { shape, fields }: ShapeReader, data: Uint8Array): string | undefined {
  const read = readItem(fields.read(data, 0).fields, shape, null);
  if ('rejected' in read) return `Its data is not an item: ${read.rejected.message}`;
  if (!isIdOf(String(row['id']), read.item, shape)) return `Its data is that of the item ${read.item.id}.`;
  const stored = (fact: string) => (typeof row[fact] === 'bigint' ? Number(row[fact]) : row[fact]);
  const wrong = facts.filter((fact) => read.item[fact] !== stored(fact));
  return wrong.length === 0 ? undefined : `Its columns differ from its data: ${wrong.join(', ')}.`;
}

/** The parent's id is not in the item's data; as part of a composite id the item's own may be quoted. */
const isIdOf = (id: string, item: ParsedItem, { isIdWithinParent }: ItemShape): boolean =>
  id === item.id ||
  (isIdWithinParent === true && (id.endsWith(`::${item.id}`) || id.endsWith(`::${JSON.stringify(item.id)}`)));

interface Range {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

/** A sentence per gap; empty when the pages of every list follow each other from the start. */
export function findGaps(pages: readonly PageResult[]): readonly string[] {
  const lists = Map.groupBy(pages, ({ request }) => listKey(request.list));
  return [...lists].flatMap(([list, ofList]) =>
    [...gapsBetween(ofList.flatMap(rangeOf)), ...unfinishedChain(ofList)].map((gap) =>
      list === '' ? gap : `${list.slice(0, -1)}: ${gap}`,
    ),
  );
}

function rangeOf({ request: { position } }: PageResult): readonly Range[] {
  if (position.kind === 'offset') return [{ from: position.offset, to: position.offset + position.limit }];
  if (position.kind !== 'page') return [];
  return [{ from: position.page * position.limit, to: (position.page + 1) * position.limit }];
}

/** Pages may overlap: the batch size may have changed between runs. */
function gapsBetween(ranges: readonly Range[]): readonly string[] {
  const gaps: string[] = [];
  let covered = 0;
  for (const { from, to } of ranges.toSorted((one, other) => one.from - other.from)) {
    if (from > covered) gaps.push(`items ${covered} to ${from - 1} were never requested`);
    covered = Math.max(covered, to);
  }
  return gaps;
}

/** Where each page names the next, all must be there, and the last must name none. */
function unfinishedChain(pages: readonly PageResult[]): readonly string[] {
  const chain = pages.flatMap(({ request: { position }, next }) =>
    position.kind === 'cursor' ? [{ index: position.index, next }] : [],
  );
  if (chain.length === 0) return [];
  const sorted = chain.toSorted((one, other) => one.index - other.index);
  const missing = sorted.findIndex(({ index }, place) => index !== place);
  if (missing !== -1) return [`page ${missing} of the chain is missing`];
  return sorted.at(-1)?.next === null ? [] : ['the last page names another that was never requested'];
}
