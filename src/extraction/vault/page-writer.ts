// Commits pages: items, versions, dead letters and the page's row in one transaction. One writer per thread.
import { hash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../../core/index.ts';
import { immediate } from '../../platform/sqlite/open-sqlite.ts';
import { firstItemOf } from '../pipeline/paginator.ts';
import type { CommittedPage, ListRef, PageResult, ParsedPage, RawPage } from '../types.ts';
import {
  blockUntilVaultUnlocked,
  withWriteLock,
  mergeLogWhenLong,
  onFile,
  openVaultFile,
  shortBusyMs,
} from './file.ts';
import { ItemWriter } from './item-writer.ts';
import { numberOfSession, numberOfType } from './session-state.ts';

type StoredResult = Omit<PageResult, 'request'>;
type WrittenPage = StoredResult & Pick<CommittedPage, 'written'>;

/** Facts from the headers of a page's response. */
type PageHeader = Pick<RawPage, 'total' | 'nextLink'>;

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
    items.forEach((item, index) => {
      const observation = { session, type, position: start + index, at };
      const { outcome, versions, isDuplicate, isNew } = this.#items.write(item, observation);
      written[isDuplicate ? 'repeated' : outcome] += 1;
      if (isNew) newItems += 1;
      newVersions += versions;
    });
    const { resolve, insertLetter, insertPage, advance, count, countCall } = this.#statements;
    resolve.run(at, session, type, request.key);
    rejected.forEach(({ cause, message, raw }, index) =>
      insertLetter.run(session, type, request.key, index + 1, cause, message, raw, at),
    );
    const rejectedChildren = rejected.filter(({ isChild }) => isChild).length;
    const result: StoredResult = {
      itemCount: items.length,
      rejectedCount: rejected.length,
      ...(rejectedChildren > 0 ? { rejectedChildren } : {}),
      total: page.total ?? header.total,
      next: page.nextCursor ?? header.nextLink,
      children: page.children,
      ...edgesOf(page),
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

/** By id, or by content where nothing on the page has an id. */
function edgesOf({ items, children, rejected }: ParsedPage): Pick<PageResult, 'edgeIds'> {
  const edgeAt = (place: 0 | -1): string | undefined => {
    const raw = rejected.at(place)?.raw;
    const content = raw && contentHash(raw).toString(16);
    return items.at(place)?.id ?? childId(children.at(place)) ?? content;
  };
  const [first, last] = [edgeAt(0), edgeAt(-1)];
  return first === undefined || last === undefined ? {} : { edgeIds: [first, last] };
}

const childId = (list: ListRef | undefined): string | undefined =>
  Object.values(list?.parents.at(-1) ?? {})[0];

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
              status = CASE status WHEN 'pending' THEN 'running' ELSE status END,
              items_seen = items_seen + ?, duplicates = duplicates + ?, page_count = page_count + 1 WHERE ${ofPage}`,
    ),
  };
}

/** First 64 bits of SHA-256, as a signed integer: SQLite has no unsigned ones. */
export function contentHash(bytes: Uint8Array): bigint {
  // Hex digits instead of a buffer per item, whose garbage collection costs more.
  return BigInt.asIntN(64, BigInt(`0x${hash('sha256', bytes, 'hex').slice(0, 16)}`));
}
