// Commits pages: their items, versions, dead letters and their mark in one transaction. One per thread.
import type { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../../../core/index.ts';
import { immediate } from '../../../platform/sqlite/index.ts';
import type { PageOutcome, PageWriter, ParsedPage } from '../../ports.ts';
import { firstPosition } from '../page-position.ts';
import { ItemWriter } from './item-writer.ts';
import { numberOfSession, numberOfType } from './numbers.ts';
import { onFile, openVaultFile } from './vault-file.ts';
import { inTurn } from './write-turn.ts';

type StoredOutcome = Omit<PageOutcome, 'request'>;

export interface PageWriterOptions {
  readonly clock: Clock;
  /** `Vault.turn`. */
  readonly turn: SharedArrayBuffer;
}

/** The file must have been opened with `openVault`, whose lock covers this process. */
export function openPageWriter(path: string, options: PageWriterOptions): PageWriter {
  return new SqlitePageWriter(path, options);
}

class SqlitePageWriter implements PageWriter {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #turn: SharedArrayBuffer;
  readonly #db: DatabaseSync;
  readonly #items: ItemWriter;
  readonly #statements: ReturnType<typeof prepare>;
  readonly #numbers = new Map<string, number>();

  constructor(path: string, { clock, turn }: PageWriterOptions) {
    this.#path = path;
    this.#clock = clock;
    this.#turn = turn;
    this.#db = openVaultFile(path);
    this.#items = new ItemWriter(this.#db);
    this.#statements = prepare(this.#db);
  }

  write(
    sessionId: string,
    page: ParsedPage,
    header: { readonly total: number | null; readonly nextLink: string | null },
  ): PageOutcome {
    const { request } = page;
    return onFile(this.#path, () => {
      const session = this.#number(`session ${sessionId}`, () => numberOfSession(this.#db, sessionId));
      const type = this.#number(`type ${request.type}`, () => numberOfType(this.#db, request.type));
      const stored = inTurn(this.#turn, () =>
        immediate(
          this.#db,
          () => this.#writtenBefore(session, type, request.key) ?? this.#write(session, type, page, header),
        ),
      );
      return { request, ...stored };
    });
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }

  /** The same page again, after a crash between its commit and the news of it, changes nothing. */
  #writtenBefore(session: number, type: number, key: string): StoredOutcome | undefined {
    const row = this.#statements.outcome.get(session, type, key);
    return typeof row?.['outcome'] === 'string' ? (JSON.parse(row['outcome']) as StoredOutcome) : undefined;
  }

  #write(
    session: number,
    type: number,
    page: ParsedPage,
    header: { readonly total: number | null; readonly nextLink: string | null },
  ): StoredOutcome {
    const { request, items, rejected } = page;
    const at = this.#clock.now();
    const start = firstPosition(request);
    const written = { added: 0, changed: 0, unchanged: 0 };
    let duplicates = 0;
    items.forEach((item, index) => {
      const { fate, isDuplicate } = this.#items.write(item, { session, type, position: start + index, at });
      written[fate] += 1;
      if (isDuplicate) duplicates += 1;
    });
    const { resolve, insertLetter, insertPage, advance } = this.#statements;
    resolve.run(at, session, type, request.key);
    rejected.forEach(({ cause, message, raw }, index) =>
      insertLetter.run(session, type, request.key, index + 1, cause, message, raw, at),
    );
    const outcome: StoredOutcome = {
      itemCount: items.length,
      rejectedCount: rejected.length,
      written,
      total: page.total ?? header.total,
      next: page.nextCursor ?? header.nextLink,
      children: page.children,
    };
    insertPage.run(session, type, request.key, JSON.stringify(request), JSON.stringify(outcome));
    advance.run(at, items.length - duplicates, duplicates, session, type);
    return outcome;
  }

  #number(name: string, find: () => number): number {
    const known = this.#numbers.get(name) ?? find();
    this.#numbers.set(name, known);
    return known;
  }
}

function prepare(db: DatabaseSync) {
  const ofPage = 'session = ? AND content_type = ?';
  return {
    outcome: db.prepare(`SELECT outcome FROM pages WHERE ${ofPage} AND key = ? AND state = 'done'`),
    resolve: db.prepare(
      `UPDATE dead_letters SET resolved_at = ? WHERE ${ofPage} AND page_key = ? AND resolved_at IS NULL`,
    ),
    insertLetter: db.prepare(
      `INSERT OR REPLACE INTO dead_letters (session, content_type, page_key, place, cause, message, raw, at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    insertPage: db.prepare(
      `INSERT OR REPLACE INTO pages (session, content_type, key, state, request, outcome)
       VALUES (?, ?, ?, 'done', ?, ?)`,
    ),
    advance: db.prepare(
      `UPDATE checkpoints SET started_at = coalesce(started_at, ?),
              status = CASE status WHEN 'pending' THEN 'running' ELSE status END,
              items_seen = items_seen + ?, duplicates = duplicates + ? WHERE ${ofPage}`,
    ),
  };
}
