// Keeps a limiter's grants and backoff in a SQLite file: a restarted process is not over the limit, and processes that
// open the same file share one rate.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { immediate } from '../../../platform/sqlite/immediate.ts';
import { initialBackoff } from '../adaptation.ts';
import type { GrantJournal, JournaledGrants, JournaledState } from '../ports.ts';

/** `instead_of_ms`: when a grant that left late was given. `kept`: the largest limit of all who share it. `shifted_ms`: by how much stored times were moved so far. */
const schema = `
  CREATE TABLE IF NOT EXISTS rate_limiter_grants (
    id INTEGER PRIMARY KEY, limiter TEXT NOT NULL, granted_at_ms INTEGER NOT NULL, grants INTEGER NOT NULL,
    instead_of_ms INTEGER
  ) STRICT;
  CREATE INDEX IF NOT EXISTS rate_limiter_grants_by_limiter ON rate_limiter_grants (limiter, id);
  CREATE TABLE IF NOT EXISTS rate_limiters (
    limiter TEXT PRIMARY KEY, kept INTEGER NOT NULL, shifted_ms INTEGER NOT NULL DEFAULT 0, state TEXT
  ) STRICT;
`;

/** Rows that can no longer matter are deleted once in this many grants. */
const grantsBetweenPrunings = 1_000;

/**
 * Works in any SQLite file, beside other tables. In WAL mode a kill -9 at any moment loses no grant that was
 * acknowledged. Each process (or limiter) has a journal and a connection of its own.
 */
export class SqliteGrantJournal implements GrantJournal {
  readonly #db: DatabaseSync;
  readonly #limiter: string;
  readonly #insertGrants: StatementSync;
  readonly #updateState: StatementSync;
  readonly #foreignWrites: StatementSync;
  /** What of the file is known here: others' grants up to this row, the state, the shifts, and others' commits. */
  #seenId = 0;
  #seenState: string | null = null;
  #seenShiftMs = 0;
  #seenCommits = 0;
  #limit = 1;
  #sincePruning = 0;

  /** `limiter` names it within the file (see `limiterKey`). The connection stays the caller's to close. Fails with a SqliteError. */
  constructor(db: DatabaseSync, limiter: string) {
    this.#db = db;
    this.#limiter = limiter;
    this.exclusively(() => db.exec(schema));
    this.#insertGrants = db.prepare(
      'INSERT INTO rate_limiter_grants (limiter, granted_at_ms, grants, instead_of_ms) VALUES (?, ?, ?, ?)',
    );
    this.#updateState = db.prepare('UPDATE rate_limiters SET state = ? WHERE limiter = ?');
    this.#foreignWrites = db.prepare('PRAGMA data_version');
  }

  load(limit: number): { grants: readonly number[]; state: JournaledState | undefined } {
    this.#limit = limit;
    return this.exclusively(() => {
      this.#db
        .prepare(
          `INSERT INTO rate_limiters (limiter, kept) VALUES (?, ?)
           ON CONFLICT DO UPDATE SET kept = max(kept, excluded.kept)`,
        )
        .run(this.#limiter, limit);
      this.#prune();
      this.#seenCommits = this.#commits();
      const { state, shiftedMs } = this.#row();
      [this.#seenState, this.#seenShiftMs] = [state, shiftedMs];
      this.#seenId = this.#firstNeeded(limit);
      return { grants: timesOf(this.#newGrants()).slice(-limit), state: stateIn(state) };
    });
  }

  exclusively<T>(work: () => T): T {
    return immediate(this.#db, work);
  }

  news(): { grants: readonly JournaledGrants[]; state: JournaledState | undefined } {
    const commits = this.#commits();
    if (commits === this.#seenCommits) return { grants: [], state: undefined };
    this.#seenCommits = commits;
    const { state } = this.#row();
    const isNew = state !== this.#seenState;
    this.#seenState = state;
    return { grants: this.#newGrants(), state: isNew ? stateIn(state) : undefined };
  }

  /** Since the last look, oldest first. */
  #newGrants(): readonly JournaledGrants[] {
    const rows = this.#db
      .prepare(
        `SELECT id, granted_at_ms, grants, instead_of_ms FROM rate_limiter_grants
         WHERE limiter = ? AND id > ? ORDER BY id`,
      )
      .all(this.#limiter, this.#seenId);
    this.#seenId = Number(rows.at(-1)?.['id'] ?? this.#seenId);
    return rows.map(({ granted_at_ms: at, grants: count, instead_of_ms: insteadOf }) => ({
      at: Number(at),
      count: Number(count),
      insteadOf: insteadOf === null ? null : Number(insteadOf),
    }));
  }

  append(grantedAt: number, count: number): void {
    this.#insert(grantedAt, count, null);
    this.#sincePruning += count;
    if (this.#sincePruning >= Math.max(this.#limit, grantsBetweenPrunings)) this.#prune();
  }

  /** Rows are only added: others see in the same order what was given and what left late. */
  move(from: number, to: number): void {
    this.#insert(to, 1, from);
  }

  #insert(grantedAt: number, count: number, insteadOf: number | null): void {
    const { lastInsertRowid } = this.#insertGrants.run(this.#limiter, grantedAt, count, insteadOf);
    this.#seenId = Number(lastInsertRowid);
  }

  save(state: JournaledState): void {
    this.#seenState = JSON.stringify(state);
    this.#updateState.run(this.#seenState, this.#limiter);
  }

  /** Each process that shares the file notices that the clock was set; only what no other has done yet is done. */
  shift(byMs: number): void {
    const { state, shiftedMs } = this.#row();
    const leftMs = byMs - (shiftedMs - this.#seenShiftMs);
    this.#seenShiftMs = shiftedMs + leftMs;
    if (leftMs === 0) return;
    this.#db
      .prepare('UPDATE rate_limiter_grants SET granted_at_ms = granted_at_ms + ? WHERE limiter = ?')
      .run(leftMs, this.#limiter);
    this.#db
      .prepare('UPDATE rate_limiters SET shifted_ms = ? WHERE limiter = ?')
      .run(this.#seenShiftMs, this.#limiter);
    const stored = stateIn(state);
    if (!stored) return;
    const { pausedUntil, last429At, savedAt } = stored;
    const moved = (at: number) => (at === 0 ? 0 : at + leftMs);
    this.save({
      ...stored,
      pausedUntil: moved(pausedUntil),
      last429At: moved(last429At),
      savedAt: moved(savedAt),
    });
  }

  #prune(): void {
    this.#sincePruning = 0;
    this.#db
      .prepare('DELETE FROM rate_limiter_grants WHERE limiter = ? AND id <= ?')
      .run(this.#limiter, this.#firstNeeded(this.#row().kept));
  }

  /** The row after which the newest `limit` grants are: each has a row at most, and one more if it left late. */
  #firstNeeded(limit: number): number {
    const row = this.#db
      .prepare('SELECT id FROM rate_limiter_grants WHERE limiter = ? ORDER BY id DESC LIMIT 1 OFFSET ?')
      .get(this.#limiter, 2 * limit);
    return Number(row?.['id'] ?? 0);
  }

  /** Changes when another connection has written to the file. */
  #commits(): number {
    return Number(this.#foreignWrites.get()?.['data_version']);
  }

  #row(): { state: string | null; kept: number; shiftedMs: number } {
    const row = this.#db
      .prepare('SELECT state, kept, shifted_ms FROM rate_limiters WHERE limiter = ?')
      .get(this.#limiter);
    const text = row?.['state'];
    return {
      state: typeof text === 'string' ? text : null,
      kept: Number(row?.['kept'] ?? 1),
      shiftedMs: Number(row?.['shifted_ms'] ?? 0),
    };
  }
}

function timesOf(rows: readonly JournaledGrants[]): readonly number[] {
  const times: number[] = [];
  for (const { at, count, insteadOf } of rows) {
    const given = insteadOf === null ? -1 : times.lastIndexOf(insteadOf);
    if (given >= 0) times.splice(given, 1);
    for (let left = count; left > 0; left--) times.push(at);
  }
  return times;
}

function stateIn(text: string | null): JournaledState | undefined {
  if (text === null) return undefined;
  const stored = JSON.parse(text) as Partial<JournaledState>;
  return { ...initialBackoff, pausedUntil: 0, savedAt: 0, ...stored };
}
