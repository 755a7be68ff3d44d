// The state of sessions: which one a run resumes, what it has done, and how a type ends.
import type { DatabaseSync } from 'node:sqlite';
import { SqliteError, sqlOn } from '../../platform/sqlite/open-sqlite.ts';
import type {
  ContentType,
  PageRequest,
  PageResult,
  SessionSpec,
  TypeEnd,
  TypeProgress,
  TypeState,
} from '../types.ts';
import { canonicalJson } from './canonical-json.ts';
import { listKey } from '../pipeline/paginator.ts';
import { onFile, openExistingVault, requireSource } from './file.ts';

export interface Resumable {
  readonly number: number;
  readonly id: string;
  /** Nothing of it is left to request. */
  readonly hasEnded: boolean;
  readonly isComplete: boolean;
}

/** The stored definition of the types: with another definition they are other types. */
export const typesText = (types: readonly ContentType[]): string =>
  canonicalJson(types.toSorted((one, other) => (one.name < other.name ? -1 : 1)));

export interface Found {
  readonly resumable: Resumable | undefined;
  /** As `OpenSession.changedTypes`. */
  readonly changedTypes: readonly string[];
}

/**
 * The newest session that has a type in common with the run, if it requests the same: same types with the same
 * definition and scope. An older one must not be resumed: it would mark as deleted what a newer one has seen.
 *
 * Every field of a definition counts, also one that a newer version added: pages parsed without it may lack items, and a
 * resumed session would mark them as deleted.
 */
export function findResumable(db: DatabaseSync, spec: SessionSpec): Found {
  const newest = spec.fresh === true ? undefined : newestSession(db, spec);
  if (!newest) return { resumable: undefined, changedTypes: [] };
  const { types, ...resumable } = newest;
  const { hasEnded, isComplete } = resumable;
  const startsNew = spec.fresh === 'when-finished' && (isComplete || (hasEnded && !spec.retryFailed));
  if (startsNew) return { resumable: undefined, changedTypes: [] };
  if (types === typesText(spec.types)) return { resumable, changedTypes: [] };
  return { resumable: undefined, changedTypes: typesThatChanged(types, spec.types) };
}

function newestSession(
  db: DatabaseSync,
  { types }: SessionSpec,
): (Resumable & { readonly types: string }) | undefined {
  const names = JSON.stringify(types.map(({ name }) => name));
  const newest = sqlOn(db).get`
    SELECT number, id, types,
           (SELECT count(*) FROM checkpoints WHERE session = session.number AND state = 'incomplete') AS incomplete,
           (SELECT count(*) FROM checkpoints WHERE session = session.number AND state IN ('queued', 'running')) AS open
    FROM extraction_sessions AS session
    WHERE EXISTS (SELECT 1 FROM checkpoints JOIN content_types AS type ON type.number = content_type
                  WHERE session = session.number AND type.name IN (SELECT value FROM json_each(${names})))
    ORDER BY number DESC LIMIT 1`;
  if (!newest) return undefined;
  return {
    number: Number(newest['number']),
    id: String(newest['id']),
    types: String(newest['types']),
    hasEnded: newest['open'] === 0,
    isComplete: newest['open'] === 0 && newest['incomplete'] === 0,
  };
}

/** None when the run requests other types, or another part of one. */
function typesThatChanged(stored: string, types: readonly ContentType[]): readonly string[] {
  const before = new Map(parsedTypes(stored).map((type) => [type.name, type]));
  const requestsTheSame =
    before.size === types.length &&
    types.every(({ name, scope }) => before.has(name) && before.get(name)?.scope === scope);
  if (!requestsTheSame) return [];
  return types
    .filter((type) => canonicalJson(type) !== canonicalJson(before.get(type.name)))
    .map(({ name }) => name);
}

/** Empty for a definition that was damaged, or edited by hand. */
export function parsedTypes(stored: string): readonly ContentType[] {
  const types = parsedObject(stored);
  const isType = (type: unknown): boolean =>
    typeof type === 'object' && type !== null && 'name' in type && 'shape' in type && 'endpoints' in type;
  return Array.isArray(types) && types.every(isType) ? (types as readonly ContentType[]) : [];
}

export interface FoundInVault {
  /** Progress of the session that would be resumed; empty without one. */
  readonly progress: readonly TypeProgress[];
  /** As `OpenSession.changedTypes`. */
  readonly changedTypes: readonly string[];
}

const nothing: FoundInVault = { progress: [], changedTypes: [] };

/** What a run would find in a vault, which is not changed. Fails like `openVault`, except for a missing file. */
export function readResumable(path: string, spec: SessionSpec): FoundInVault {
  const existing = spec.fresh === true ? null : openExistingVault(path);
  if (!existing) return nothing;
  const { db } = existing;
  try {
    return onFile(path, () => {
      requireSource(db, path, spec.source);
      const { resumable, changedTypes } = findResumable(db, spec);
      const progress = resumable ? readProgress(db, resumable.number, spec.types) : [];
      return { progress: spec.retryFailed ? progress.map(withoutFailures) : progress, changedTypes };
    });
  } finally {
    db.close();
  }
}

const withoutFailures = (progress: TypeProgress): TypeProgress => ({
  ...progress,
  done: progress.done.filter(({ rejectedCount }) => rejectedCount === 0),
  failed: [],
});

export function readProgress(
  db: DatabaseSync,
  session: number,
  types: readonly ContentType[],
): readonly TypeProgress[] {
  return types.map(({ name }) => {
    const type = numberOfType(db, name);
    const { state, itemsSeen } = checkpointOf(db, session, type);
    return { type: name, state, itemsSeen, ...readPages(db, session, type) };
  });
}

/**
 * The committed and failed pages of a type (by number), in the order of their keys. Rows that cannot be read are passed to
 * `onDamaged`; by default they are an error.
 */
export function readPages(
  db: DatabaseSync,
  session: number,
  type: number,
  onDamaged: (key: string) => void = (key) => {
    throw damagedPage(session, key);
  },
): Pick<TypeProgress, 'done' | 'failed'> {
  const rows = sqlOn(db).iterate`
    SELECT key, state, request, result FROM pages
    WHERE session = ${session} AND content_type = ${type} ORDER BY key`;
  const done: PageResult[] = [];
  const failed: PageRequest[] = [];
  for (const row of rows) {
    const request = parsedRequest(row['request'], String(row['key']));
    const result = row['state'] === 'failed' ? null : parsedResult(row['result']);
    if (!request || result === undefined) onDamaged(String(row['key']));
    else if (result === null) failed.push(request);
    else done.push({ request, ...result });
  }
  return { done, failed };
}

const damagedPage = (session: number, key: string): SqliteError =>
  new SqliteError(
    'SQLITE_UNUSABLE',
    `The page ${key} of session ${session} in the vault is damaged. See "headworks vault verify"; --fresh extracts again.`,
  );

/** Undefined for a row that was damaged, or edited by hand. */
function parsedRequest(stored: unknown, key: string): PageRequest | undefined {
  const request: Partial<PageRequest> | undefined = parsedObject(stored);
  const isRequest =
    request?.key === key &&
    Array.isArray(request.list?.parents) &&
    typeof request.position?.kind === 'string';
  return isRequest ? (request as PageRequest) : undefined;
}

function parsedResult(stored: unknown): Omit<PageResult, 'request'> | undefined {
  const result: Partial<PageResult> | undefined = parsedObject(stored);
  const isResult =
    Array.isArray(result?.elements) && Array.isArray(result.children) && typeof result.itemCount === 'number';
  return isResult ? (result as PageResult) : undefined;
}

function parsedObject(stored: unknown): object | undefined {
  try {
    const value: unknown = JSON.parse(String(stored));
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Before every position of a page. */
const supersededPosition = -1;

/**
 * Makes failed pages requestable again; their dead letters stay until the pages are committed. Pages with rejected items
 * are requested again too: the source may have been corrected.
 */
export function resetFailedPages(db: DatabaseSync, session: number): void {
  const sql = sqlOn(db);
  // The content of a retried page is newer and must win, whatever the item's earlier position.
  sql.run`
    UPDATE items SET position = ${supersededPosition} WHERE session = ${session} AND content_type IN
      (SELECT content_type FROM pages WHERE session = ${session} AND result ->> 'rejectedCount' > 0)`;
  sql.run`
    DELETE FROM pages WHERE session = ${session} AND (state = 'failed' OR result ->> 'rejectedCount' > 0)`;
  sql.run`
    UPDATE checkpoints SET state = 'running', completed_at = NULL, reason = NULL,
      page_count = (SELECT count(*) FROM pages
                    WHERE pages.session = checkpoints.session AND pages.content_type = checkpoints.content_type)
    WHERE session = ${session} AND state = 'incomplete'`;
}

/**
 * The types with fewer items in the file than were counted, or, of `session`, fewer pages or no checkpoint: rows were
 * removed by hand. Compares counts only; "vault verify" checks the rows. 100,000 items take 0.1 s.
 */
export function typesWithLostRows(
  db: DatabaseSync,
  types: readonly ContentType[],
  session: number | undefined,
): readonly string[] {
  const statement = db.prepare(
    `SELECT type.item_count = count(version.number) AS has_all,
            ?2 IS NULL OR (
              checkpoint.items_seen IS count(version.number) FILTER (WHERE head.session = ?2)
              AND checkpoint.page_count IS (SELECT count(*) FROM pages WHERE session = ?2 AND content_type = type.number
                                       AND state = 'committed')) AS has_seen
     FROM content_types AS type
     LEFT JOIN checkpoints AS checkpoint ON checkpoint.content_type = type.number AND checkpoint.session = ?2
     LEFT JOIN items AS head ON head.content_type = type.number
     LEFT JOIN content_versions AS version ON version.content_type = head.content_type AND version.id = head.id
       AND version.number = head.version
     WHERE type.name = ?1 GROUP BY type.number`,
  );
  return types.flatMap(({ name }) => {
    const row = statement.get(name, session ?? null);
    // A type that was never extracted has no row.
    return row === undefined || (row['has_all'] === 1 && row['has_seen'] === 1) ? [] : [name];
  });
}

/** Deletes incomplete items, so that they can be stored again. Within a transaction of the caller. */
export function dropRemnants(db: DatabaseSync, types: readonly string[]): void {
  const sql = sqlOn(db);
  for (const type of types.map((name) => numberOfType(db, name))) {
    sql.run`
      DELETE FROM items WHERE content_type = ${type} AND NOT EXISTS (
        SELECT 1 FROM content_versions AS version WHERE version.content_type = items.content_type
          AND version.id = items.id AND version.number = items.version)`;
    sql.run`
      DELETE FROM content_versions WHERE content_type = ${type} AND NOT EXISTS (
        SELECT 1 FROM items AS head WHERE head.content_type = content_versions.content_type
          AND head.id = content_versions.id)`;
    sql.run`
      UPDATE content_types SET item_count = (SELECT count(*) FROM items WHERE content_type = content_types.number),
        version_count = (SELECT count(*) FROM content_versions WHERE content_type = content_types.number)
      WHERE number = ${type}`;
  }
}

interface Finish {
  readonly session: number;
  readonly type: number;
  readonly end: TypeEnd;
  readonly at: number;
}

/** Ends a type in a transaction of the caller. A completed type stays completed. */
export function finishType(db: DatabaseSync, finish: Finish): TypeState {
  const { session, type, end, at } = finish;
  const before = checkpointOf(db, session, type);
  if (before.state === 'completed') return 'completed';
  const counts = count(db, finish);
  const reason = whatIsMissing(counts, end);
  const state: TypeState = reason === null ? 'completed' : 'incomplete';
  const { expectedTotal, ends } = end;
  const duplicates = counts.received - counts.seen;
  sqlOn(db).run`
    UPDATE checkpoints SET state = ${state}, started_at = coalesce(started_at, ${at}), completed_at = ${at},
      expected_total = ${expectedTotal}, items_seen = ${counts.seen}, duplicates = ${duplicates},
      list_ends = ${JSON.stringify(ends)}, reason = ${reason}
    WHERE session = ${session} AND content_type = ${type}`;
  const isWhole = before.scope === null;
  if (state === 'completed') resolveLetters(db, finish, isWhole);
  if (state === 'completed' && isWhole && !ends['not-found']) markUnseen(db, finish);
  if (end.isRequestedById === true && end.areAllGone !== true) markGone(db, finish);
  return state;
}

interface Counts {
  readonly failed: number;
  readonly rejected: number;
  /** Ids of two items that contradict each other. */
  readonly conflicts: number;
  /** The first conflict, as text. */
  readonly conflict: string | null;
  /** Items on all pages. */
  readonly received: number;
  /** Distinct items: one that moved between pages while they were read was received twice. */
  readonly seen: number;
}

function count(db: DatabaseSync, { session, type }: Finish): Counts {
  return sqlOn(db).get`
    SELECT count(*) FILTER (WHERE state = 'failed') AS failed,
           coalesce(sum(result ->> 'rejectedCount'), 0) AS rejected,
           coalesce(sum(result ->> 'itemCount'), 0) AS received,
           (SELECT count(*) FROM items WHERE content_type = ${type} AND session = ${session}) AS seen,
           (SELECT count(*) FROM dead_letters WHERE content_type = ${type} AND session = ${session}
            AND cause = 'conflicting-id' AND resolved_at IS NULL) AS conflicts,
           (SELECT min(message) FROM dead_letters WHERE content_type = ${type} AND session = ${session}
            AND cause = 'conflicting-id' AND resolved_at IS NULL) AS conflict
    FROM pages WHERE session = ${session} AND content_type = ${type}` as unknown as Counts;
}

/** Why the type is not complete, as text for users; null when it is. */
function whatIsMissing(counts: Counts, { expectedTotal, ends, areAllGone }: TypeEnd): string | null {
  const { failed, rejected, seen, conflicts, conflict } = counts;
  const isShort = expectedTotal !== null && seen + rejected < expectedTotal;
  const unproven = ends.unproven ?? 0;
  const reasons = [
    failed > 0 && `${failed} ${failed === 1 ? 'page' : 'pages'} failed`,
    rejected > 0 && `${rejected} ${rejected === 1 ? 'item was' : 'items were'} rejected`,
    conflicts > 0 &&
      `${conflicts} ${conflicts === 1 ? 'id occurs' : 'ids occur'} twice. ${conflict?.replace(/\.$/, '')}`,
    areAllGone === true && 'the source returned 404 or 410 for all of them; check their path',
    failed === 0 && isShort && `the source counts ${expectedTotal} items, ${seen} were received`,
  ].filter((reason) => reason !== false);
  if (reasons.length > 0) return reasons.join('; ');
  if (unproven === 0) return null;
  return `the end of ${unproven} ${unproven === 1 ? 'list' : 'lists'} is not proven`;
}

interface Checkpoint {
  readonly state: TypeState;
  readonly scope: string | null;
  readonly itemsSeen: number;
}

function checkpointOf(db: DatabaseSync, session: number, type: number): Checkpoint {
  const row = sqlOn(db).get`
    SELECT state, scope, items_seen AS "itemsSeen" FROM checkpoints
    WHERE session = ${session} AND content_type = ${type}`;
  if (!row) throw new RangeError(`Session ${session} does not extract the type ${type}.`);
  return row as unknown as Checkpoint;
}

/**
 * Resolves dead letters without a page of their own: an incomplete parent, a repeated page. A type that was extracted
 * completely also resolves the dead letters of earlier sessions.
 */
function resolveLetters(db: DatabaseSync, { session, type, at }: Finish, isWhole: boolean): void {
  sqlOn(db).run`
    UPDATE dead_letters SET resolved_at = ${at} WHERE content_type = ${type}
      AND session BETWEEN ${isWhole ? 0 : session} AND ${session} AND resolved_at IS NULL`;
}

/**
 * Marks items that were absent from this and from the previous complete session (T2): one alone may have missed them, as a
 * source that is changed while it is read moves items from one page to another. Sessions whose lists ended with 404 do not
 * count.
 */
function markUnseen(db: DatabaseSync, finish: Finish): void {
  const { session, type } = finish;
  const sql = sqlOn(db);
  const previous = sql.get`
    SELECT max(session) AS session FROM checkpoints
    WHERE content_type = ${type} AND session < ${session} AND state = 'completed' AND scope IS NULL
      AND list_ends ->> 'not-found' IS NULL`?.['session'];
  if (typeof previous !== 'number') return;
  const unseen = sql.all`
    SELECT id FROM items WHERE content_type = ${type} AND session < ${previous} AND deleted_at IS NULL`;
  for (const { id } of unseen) markDeleted(db, finish, String(id));
}

/** Marks items that were requested by their id and do not exist any more (T2). A list that was not found proves nothing. */
function markGone(db: DatabaseSync, finish: Finish): void {
  const { session, type } = finish;
  const sql = sqlOn(db);
  const gone = sql.all`
    SELECT request FROM pages WHERE session = ${session} AND content_type = ${type} AND result ->> 'isNotFound'`;
  for (const { request } of gone) {
    const { list, position } = JSON.parse(String(request)) as PageRequest;
    const items =
      position.kind === 'single'
        ? sql.all`
            SELECT id FROM items WHERE content_type = ${type} AND list = ${listKey(list)} AND session <> ${session}
              AND deleted_at IS NULL`
        : [];
    // The response was one item before.
    if (items.length === 1) markDeleted(db, finish, String(items[0]?.['id']));
  }
}

/** A version without data records when the item was found missing. */
function markDeleted(db: DatabaseSync, { session, type, at }: Finish, id: string): void {
  const sql = sqlOn(db);
  sql.run`
    INSERT INTO content_versions (content_type, id, number, session, first_seen_at)
    SELECT content_type, id, version + 1, ${session}, ${at} FROM items WHERE content_type = ${type} AND id = ${id}`;
  sql.run`UPDATE content_types SET version_count = version_count + 1 WHERE number = ${type}`;
  sql.run`UPDATE items SET deleted_at = ${at} WHERE content_type = ${type} AND id = ${id}`;
}

/** Fails when the vault has no such session: a bug of the caller. */
export function numberOfSession(db: DatabaseSync, id: string): number {
  const row = sqlOn(db).get`SELECT number FROM extraction_sessions WHERE id = ${id}`;
  if (!row) throw new RangeError(`The vault has no session ${id}.`);
  return Number(row['number']);
}

/** Fails when the vault has no such type: a bug of the caller. */
export function numberOfType(db: DatabaseSync, name: string): number {
  const row = sqlOn(db).get`SELECT number FROM content_types WHERE name = ${name}`;
  if (!row) throw new RangeError(`The vault has no type ${name}.`);
  return Number(row['number']);
}

/** Types of sources other than Looker are numbered from here. */
const firstFreeNumber = 101;

/** The permanent number of a type, assigned if it has none. Within a transaction of the caller. */
export function assignNumber(db: DatabaseSync, { name, number }: ContentType): number {
  sqlOn(db).run`
    INSERT INTO content_types (number, name)
    VALUES (coalesce(${number}, (SELECT max(coalesce(max(number), 0) + 1, ${firstFreeNumber}) FROM content_types)), ${name})
    ON CONFLICT (name) DO NOTHING`;
  return numberOfType(db, name);
}
