// Commits pages: items, versions, dead letters and the page's row in one transaction. One writer per thread.
import { hash } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Clock } from '../../core/index.ts';
import { immediate } from '../../platform/sqlite/open-sqlite.ts';
import { firstItemOf, listKey } from '../pipeline/paginator.ts';
import type { CommittedPage, PageResult, ParsedItem, ParsedPage, RawPage, RejectedItem } from '../types.ts';
import { isSameJson } from './canonical-json.ts';
import {
  blockUntilVaultUnlocked,
  mergeLogWhenLong,
  onFile,
  openVaultFile,
  shortBusyMs,
  withWriteLock,
} from './file.ts';
import { numberOfSession, numberOfType } from './session-state.ts';

type StoredResult = Omit<PageResult, 'request'>;
type WrittenPage = StoredResult & Pick<CommittedPage, 'written'>;

/** What is known of a page besides its body. */
type PageHeader = Pick<RawPage, 'total' | 'nextLink' | 'isNotFound'>;

/** A worker thread's side of the vault: its own connection. */
export class PageWriter {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #writeLock: SharedArrayBuffer;
  readonly #db: DatabaseSync;
  readonly #items: ItemWriter;
  readonly #statements: ReturnType<typeof prepare>;
  readonly #numbers = new Map<string, number>();

  /** The file must have been opened with `openVault`, whose lock covers this process and has the `writeLock`. */
  constructor(
    path: string,
    { clock, writeLock }: { readonly clock: Clock; readonly writeLock: SharedArrayBuffer },
  ) {
    this.#path = path;
    this.#clock = clock;
    this.#writeLock = writeLock;
    this.#db = openVaultFile(path, shortBusyMs);
    this.#items = new ItemWriter(this.#db);
    this.#statements = prepare(this.#db);
  }

  /** Commits items, versions and the page's row in one transaction. */
  write(sessionId: string, page: ParsedPage, header: PageHeader): CommittedPage {
    const { request } = page;
    return onFile(this.#path, () => {
      const session = this.#number(`session ${sessionId}`, () => numberOfSession(this.#db, sessionId));
      const type = this.#number(`type ${request.list.type}`, () => numberOfType(this.#db, request.list.type));
      const write = () =>
        this.#writtenBefore(session, type, request.key) ?? this.#write(session, type, page, header);
      const written = blockUntilVaultUnlocked(
        () => withWriteLock(this.#writeLock, () => immediate(this.#db, write)),
        this.#clock,
      );
      mergeLogWhenLong(this.#db, this.#writeLock, bytesOf(page));
      return { request, ...written };
    });
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }

  /** Idempotent: the same page again, after a crash right after its commit, changes nothing. */
  #writtenBefore(session: number, type: number, key: string): WrittenPage | undefined {
    const row = this.#statements.result.get(session, type, key);
    if (typeof row?.['result'] !== 'string') return undefined;
    const stored = JSON.parse(row['result']) as StoredResult;
    return { ...stored, written: { added: 0, changed: 0, unchanged: 0, repeated: stored.itemCount } };
  }

  #write(session: number, type: number, page: ParsedPage, header: PageHeader): WrittenPage {
    const { request, items, rejected } = page;
    const at = this.#clock.now();
    const start = firstItemOf(request);
    const written = { added: 0, changed: 0, unchanged: 0, repeated: 0 };
    let [newItems, newVersions] = [0, 0];
    const conflicts: RejectedItem[] = [];
    const list = listKey(request.list);
    const onPage = new Map<string, { readonly item: ParsedItem; readonly position: number }>();
    items.forEach((item, index) => {
      const position = start + index;
      const observation = { session, type, list, position, at };
      const first = onPage.get(item.id);
      // On one page nothing moved or changed between the two. Compared here, not with the vault: pages come in any order.
      if (!first) onPage.set(item.id, { item, position });
      else if (first.item.idKinds === item.idKinds && !isSameContent(first.item, item))
        conflicts.push(conflictOf(item, { list, position: first.position }, observation, false));
      const { outcome, versions, isDuplicate, isNew, conflict } = this.#items.write(item, observation);
      if (conflict) conflicts.push(conflict);
      written[isDuplicate ? 'repeated' : outcome] += 1;
      if (isNew) newItems += 1;
      newVersions += versions;
    });
    const { resolve, insertLetter, insertPage, advance, count, countCall } = this.#statements;
    resolve.run(at, session, type, request.key);
    [...rejected, ...conflicts].forEach(({ cause, message, raw }, index) =>
      insertLetter.run(session, type, request.key, index + 1, cause, message, raw, at),
    );
    const result: StoredResult = {
      itemCount: items.length,
      rejectedCount: rejected.length,
      total: page.total ?? header.total,
      next: page.nextCursor ?? header.nextLink,
      children: page.children,
      elements: page.elements,
      ...(header.isNotFound && { isNotFound: true }),
      ...(page.hasNoList && { hasNoList: true }),
    };
    insertPage.run(session, type, request.key, JSON.stringify(request), JSON.stringify(result));
    advance.run(at, items.length - written.repeated, written.repeated, session, type);
    if (newItems > 0 || newVersions !== 0) count.run(newItems, newVersions, type);
    countCall.run(session);
    return { ...result, written };
  }

  #number(name: string, find: () => number): number {
    const known = this.#numbers.get(name) ?? find();
    this.#numbers.set(name, known);
    return known;
  }
}

const bytesOf = ({ items }: ParsedPage): number => items.reduce((sum, { raw }) => sum + raw.byteLength, 0);

function prepare(db: DatabaseSync) {
  const ofPage = 'session = ? AND content_type = ?';
  return {
    result: db.prepare(`SELECT result FROM pages WHERE ${ofPage} AND key = ? AND state = 'committed'`),
    resolve: db.prepare(
      `UPDATE dead_letters SET resolved_at = ? WHERE ${ofPage} AND page_key = ? AND resolved_at IS NULL`,
    ),
    insertLetter: db.prepare(
      `INSERT OR REPLACE INTO dead_letters (session, content_type, page_key, item_index, cause, message, raw, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    insertPage: db.prepare(
      `INSERT OR REPLACE INTO pages (session, content_type, key, state, request, result)
       VALUES (?, ?, ?, 'committed', ?, ?)`,
    ),
    count: db.prepare(
      'UPDATE content_types SET item_count = item_count + ?, version_count = version_count + ? WHERE number = ?',
    ),
    // A killed run cannot report its calls: one per page is certain.
    countCall: db.prepare('UPDATE extraction_sessions SET total_calls = total_calls + 1 WHERE number = ?'),
    advance: db.prepare(
      `UPDATE checkpoints SET started_at = coalesce(started_at, ?),
              state = CASE state WHEN 'queued' THEN 'running' ELSE state END,
              items_seen = items_seen + ?, duplicates = duplicates + ?, page_count = page_count + 1 WHERE ${ofPage}`,
    ),
  };
}

/** First 64 bits of SHA-256, as a signed integer: SQLite has no unsigned ones. */
export function contentHash(bytes: Uint8Array): bigint {
  // Hex digits instead of a buffer per item, whose garbage collection costs more.
  return BigInt.asIntN(64, BigInt(`0x${hash('sha256', bytes, 'hex').slice(0, 16)}`));
}

interface Observation {
  /** Numbers of the session and the type. */
  readonly session: number;
  readonly type: number;
  /** As `listKey`. */
  readonly list: string;
  /** In the source's order. */
  readonly position: number;
  readonly at: number;
}

type WriteOutcome = 'added' | 'changed' | 'unchanged';

interface Change {
  readonly outcome: WriteOutcome;
  /** How many rows of content_versions were added. */
  readonly versions: number;
}

interface Written extends Change {
  /** The session had seen it before. */
  readonly isDuplicate: boolean;
  readonly isNew: boolean;
  /** Set when the session has seen another item with this id. */
  readonly conflict?: RejectedItem | undefined;
}

interface LatestVersion {
  readonly session: number;
  readonly list: string;
  readonly position: number;
  readonly idKinds: number;
  readonly rawHash: bigint;
  readonly isDeleted: boolean;
}

const added: Change = { outcome: 'added', versions: 1 };
const changed: Change = { outcome: 'changed', versions: 1 };
const unchanged: Change = { outcome: 'unchanged', versions: 0 };

/**
 * Writes one item: new, changed, unchanged, or seen before in this session.
 *
 * The state after a session does not depend on the order in which its pages were written. Of an item that is received
 * twice, the one at the later position in the source's order is stored (at the same position: the one with the greater
 * hash), and a session adds at most one version to it.
 */
class ItemWriter {
  readonly #statements: ReturnType<typeof prepareForItems>;

  constructor(db: DatabaseSync) {
    this.#statements = prepareForItems(db);
  }

  /** Within a transaction of the caller. `isNew`: the vault had no such item. */
  write(item: ParsedItem, observation: Observation): Written {
    const latest = this.#latest(item.id, observation.type);
    if (!latest) return { ...this.#add(item, observation, 1), isDuplicate: false, isNew: true };
    const isDuplicate = latest.session === observation.session;
    const conflict = isDuplicate ? this.#conflict(latest, item, observation) : undefined;
    return { ...this.#update(latest, item, observation, isDuplicate), isDuplicate, isNew: false, conflict };
  }

  /**
   * Other content in another list, or an id of another kind. Other content on another page of the same list is an item that
   * changed, or moved to a later page, while the list was read.
   */
  #conflict(latest: LatestVersion, item: ParsedItem, observation: Observation): RejectedItem | undefined {
    const { idKinds, id, raw, rawHash } = item;
    const isOtherKind = latest.idKinds !== idKinds;
    if (!isOtherKind && (latest.list === observation.list || latest.rawHash === rawHash)) return undefined;
    const stored = this.#statements.newestData.get(observation.type, id)?.['data'] as Uint8Array | undefined;
    if (!isOtherKind && stored && isSameJson(stored, raw)) return undefined;
    return conflictOf(item, latest, observation, isOtherKind);
  }

  #update(latest: LatestVersion, item: ParsedItem, observation: Observation, isDuplicate: boolean): Change {
    const { type, session, position, at } = observation;
    if (isDuplicate && !supersedes(item, observation, latest)) return unchanged;
    if (!latest.isDeleted && latest.rawHash === item.rawHash) {
      this.#statements.touch.run(session, observation.list, item.idKinds, position, at, type, item.id);
      return unchanged;
    }
    // What this session wrote of the item is replaced, as if it was received for the first time.
    const deleted = isDuplicate ? this.#statements.deleteVersion.run(type, item.id, session).changes : 0;
    const { outcome, versions } = this.#addTo(item, observation);
    return { outcome, versions: versions - Number(deleted) };
  }

  /** Adds a version to those of earlier sessions, unless the newest has the same content. */
  #addTo(item: ParsedItem, observation: Observation): Change {
    const { type } = observation;
    const newest = this.#statements.newestVersion.get(type, item.id);
    if (!newest) return this.#add(item, observation, 1);
    const number = Number(newest['number']);
    // After a deletion.
    if (newest['hash'] === null) return this.#add(item, observation, number + 1);
    const data = this.#statements.data.get(type, item.id, number)?.['data'] as Uint8Array;
    if (isSameJson(data, item.raw)) {
      this.#putHead({ ...item, raw: data }, observation, number, newest['hash'] as bigint);
      return unchanged;
    }
    this.#add(item, observation, number + 1);
    return changed;
  }

  #add(item: ParsedItem, observation: Observation, version: number): Change {
    const { id, raw, rawHash } = item;
    const { type, session, at } = observation;
    this.#statements.insertVersion.run(type, id, version, session, at, raw.byteLength, rawHash, raw);
    this.#putHead(item, observation, version);
    return added;
  }

  #latest(id: string, type: number): LatestVersion | undefined {
    const row = this.#statements.latest.get(type, id);
    if (!row) return undefined;
    return {
      session: Number(row['session']),
      list: String(row['list']),
      position: Number(row['position']),
      idKinds: Number(row['id_kinds']),
      rawHash: row['raw_hash'] as bigint,
      isDeleted: row['deleted_at'] !== null,
    };
  }

  #putHead(item: ParsedItem, observation: Observation, version: number, hash = item.rawHash): void {
    const { id, name, owner, folder, createdAt, updatedAt, raw, rawHash } = item;
    const { type, session, list, position, at } = observation;
    const facts = [name, owner, folder, createdAt, updatedAt] as const;
    const rawCheck = hash === rawHash ? null : ~rawHash;
    const state = [
      at,
      session,
      list,
      item.idKinds,
      position,
      raw.byteLength,
      hash,
      rawHash,
      rawCheck,
      version,
    ] as const;
    this.#statements.putHead.run(type, id, ...facts, ...state);
  }
}

/** Only the beginning of a conflicting item is stored again. */
const keptBytes = 4_096;

function conflictOf({ id, raw }: ParsedItem, one: Place, other: Place, isOtherKind: boolean): RejectedItem {
  const what = isOtherKind ? 'once as a number and once as text' : 'with different content';
  const remedy =
    isOtherKind || one.list === other.list
      ? ''
      : ' If ids are unique within their parent only, add "{parent}" to "id" of the resource.';
  const places = `${placeText(one)} and ${placeText(other)}`;
  const message = `The id ${id} occurs twice, ${what}: ${places}. Only one of the two is stored.${remedy}`;
  return { cause: 'conflicting-id', message, raw: raw.subarray(0, keptBytes) };
}

const isSameContent = (one: ParsedItem, other: ParsedItem): boolean =>
  one.rawHash === other.rawHash || isSameJson(one.raw, other.raw);

type Place = Pick<Observation, 'list' | 'position'>;

const placeText = ({ list, position }: Place): string =>
  `in ${list === '' ? 'its list' : `the list ${list.slice(0, -1)}`} at position ${position}`;

function supersedes(item: ParsedItem, { position }: Observation, latest: LatestVersion): boolean {
  return position === latest.position ? item.rawHash > latest.rawHash : position > latest.position;
}

function prepareForItems(db: DatabaseSync) {
  const ofItem = 'WHERE content_type = ? AND id = ?';
  const withBigInts = (statement: StatementSync): StatementSync => {
    statement.setReadBigInts(true);
    return statement;
  };
  return {
    latest: withBigInts(
      db.prepare(`SELECT session, list, position, id_kinds, raw_hash, deleted_at FROM items ${ofItem}`),
    ),
    touch: db.prepare(
      `UPDATE items SET session = ?, list = ?, id_kinds = ?, position = ?, synced_at = ? ${ofItem}`,
    ),
    putHead: db.prepare(
      `INSERT OR REPLACE INTO items
         (content_type, id, name, owner, folder, created_at, updated_at, synced_at, session, list, id_kinds, position, size,
          hash, raw_hash, raw_check, version)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    // The bytes are JSON in UTF-8: a cast makes them text without passing through a JavaScript string.
    insertVersion: db.prepare(
      `INSERT INTO content_versions (content_type, id, number, session, first_seen_at, size, hash, data)
       VALUES (?, ?, ?, ?, ?, ?, ?, CAST(? AS TEXT))`,
    ),
    deleteVersion: db.prepare(`DELETE FROM content_versions ${ofItem} AND session = ?`),
    newestVersion: withBigInts(
      db.prepare(`SELECT number, hash FROM content_versions ${ofItem} ORDER BY number DESC LIMIT 1`),
    ),
    newestData: db.prepare(
      `SELECT CAST(data AS BLOB) AS data FROM content_versions ${ofItem} ORDER BY number DESC LIMIT 1`,
    ),
    data: db.prepare(`SELECT CAST(data AS BLOB) AS data FROM content_versions ${ofItem} AND number = ?`),
  };
}
