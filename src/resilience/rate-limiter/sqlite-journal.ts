// Keeps a limiter's grants and backoff in a SQLite file: they survive a restart, and processes that open the same file
// share one rate.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { immediate, sqlOn } from '../../platform/sqlite/open-sqlite.ts';
import type { GrantJournal, JournaledGrants, JournaledState } from './policy.ts';
import { initialBackoff } from './backoff.ts';

/**
 * `moved_from_ms`: when the grant of a call that was sent late was given. `largest_limit`: of all sharing processes.
 * `shifted_ms`: by how much stored times were moved so far.
 */
const schema = `
  CREATE TABLE IF NOT EXISTS rate_limit_grants (
    id INTEGER PRIMARY KEY, limiter TEXT NOT NULL, granted_at_ms INTEGER NOT NULL, grants INTEGER NOT NULL,
    moved_from_ms INTEGER
  ) STRICT;
  CREATE INDEX IF NOT EXISTS rate_limit_grants_by_limiter ON rate_limit_grants (limiter, id);
  CREATE TABLE IF NOT EXISTS rate_limit_states (
    limiter TEXT PRIMARY KEY, largest_limit INTEGER NOT NULL, shifted_ms INTEGER NOT NULL DEFAULT 0, state TEXT
  ) STRICT;
`;

/** Obsolete rows are deleted once in this many grants. */
const grantsBetweenPrunings = 1_000;

/**
 * Works in any SQLite file, beside other tables. In WAL mode kill -9 loses no acknowledged grant. Each process and
 * limiter has its own journal and connection.
 */
export class SqliteGrantJournal implements GrantJournal {
  readonly #db: DatabaseSync;
  readonly #sql: ReturnType<typeof sqlOn>;
  readonly #limiter: string;
  readonly #insertGrants: StatementSync;
  readonly #updateState: StatementSync;
  readonly #dataVersion: StatementSync;
  /** What was read of the file: grants up to this row, the state, the shifts, and the data version. */
  #seenId = 0;
  #seenState: string | null = null;
  #seenShiftMs = 0;
  #seenCommits = 0;
  #limit = 1;
  #sincePruning = 0;

  /** `limiter` identifies it within the file (see `limiterKey`). The caller closes the connection. Fails with a SqliteError. */
  constructor(db: DatabaseSync, limiter: string) {
    this.#db = db;
    this.#sql = sqlOn(db);
    this.#limiter = limiter;
    this.transaction(() => db.exec(schema));
    this.#insertGrants = db.prepare(
      'INSERT INTO rate_limit_grants (limiter, granted_at_ms, grants, moved_from_ms) VALUES (?, ?, ?, ?)',
    );
    this.#updateState = db.prepare('UPDATE rate_limit_states SET state = ? WHERE limiter = ?');
    this.#dataVersion = db.prepare('PRAGMA data_version');
  }

  load(limit: number): { grants: readonly number[]; state: JournaledState | undefined } {
    this.#limit = limit;
    return this.transaction(() => {
      this.#sql.run`
        INSERT INTO rate_limit_states (limiter, largest_limit) VALUES (${this.#limiter}, ${limit})
        ON CONFLICT DO UPDATE SET largest_limit = max(largest_limit, excluded.largest_limit)`;
      this.#prune();
      this.#seenCommits = this.#commits();
      const { state, shiftedMs } = this.#row();
      [this.#seenState, this.#seenShiftMs] = [state, shiftedMs];
      this.#seenId = this.#firstNeeded(limit);
      return { grants: timesOf(this.#newGrants()).slice(-limit), state: stateIn(state) };
    });
  }

  transaction<T>(work: () => T): T {
    return immediate(this.#db, work);
  }

  readChanges(): { grants: readonly JournaledGrants[]; state: JournaledState | undefined } {
    const commits = this.#commits();
    if (commits === this.#seenCommits) return { grants: [], state: undefined };
    this.#seenCommits = commits;
    const { state } = this.#row();
    const isNew = state !== this.#seenState;
    this.#seenState = state;
    return { grants: this.#newGrants(), state: isNew ? stateIn(state) : undefined };
  }

  /** Grants of other processes since the last call, oldest first. */
  #newGrants(): readonly JournaledGrants[] {
    const rows = this.#sql.all`
      SELECT id, granted_at_ms, grants, moved_from_ms FROM rate_limit_grants
      WHERE limiter = ${this.#limiter} AND id > ${this.#seenId} ORDER BY id`;
    this.#seenId = Number(rows.at(-1)?.['id'] ?? this.#seenId);
    return rows.map(({ granted_at_ms: at, grants: count, moved_from_ms: movedFrom }) => ({
      at: Number(at),
      count: Number(count),
      movedFrom: movedFrom === null ? null : Number(movedFrom),
    }));
  }

  append(grantedAt: number, count: number): void {
    this.#insert(grantedAt, count, null);
    this.#sincePruning += count;
    if (this.#sincePruning >= Math.max(this.#limit, grantsBetweenPrunings)) this.#prune();
  }

  /** Rows are only added, so that every process reads grants and moves in the same order. */
  move(from: number, to: number): void {
    this.#insert(to, 1, from);
  }

  #insert(grantedAt: number, count: number, movedFrom: number | null): void {
    const { lastInsertRowid } = this.#insertGrants.run(this.#limiter, grantedAt, count, movedFrom);
    this.#seenId = Number(lastInsertRowid);
  }

  save(state: JournaledState): void {
    this.#seenState = JSON.stringify(state);
    this.#updateState.run(this.#seenState, this.#limiter);
  }

  /** Every process that shares the file detects that the clock was set; each applies only what no other has applied. */
  shift(byMs: number): void {
    const { state, shiftedMs } = this.#row();
    const leftMs = byMs - (shiftedMs - this.#seenShiftMs);
    this.#seenShiftMs = shiftedMs + leftMs;
    if (leftMs === 0) return;
    const limiter = this.#limiter;
    this.#sql
      .run`UPDATE rate_limit_grants SET granted_at_ms = granted_at_ms + ${leftMs} WHERE limiter = ${limiter}`;
    this.#sql.run`UPDATE rate_limit_states SET shifted_ms = ${this.#seenShiftMs} WHERE limiter = ${limiter}`;
    const stored = stateIn(state);
    if (!stored) return;
    const { pausedUntil, last429At, changedAt, raisedAt, burstAt, savedAt } = stored;
    const moved = (at: number) => (at === 0 ? 0 : at + leftMs);
    this.save({
      ...stored,
      pausedUntil: moved(pausedUntil),
      last429At: moved(last429At),
      changedAt: moved(changedAt),
      raisedAt: moved(raisedAt),
      burstAt: moved(burstAt),
      savedAt: moved(savedAt),
    });
  }

  #prune(): void {
    this.#sincePruning = 0;
    const lastObsolete = this.#firstNeeded(this.#row().maxWindowLimit);
    this.#sql.run`DELETE FROM rate_limit_grants WHERE limiter = ${this.#limiter} AND id <= ${lastObsolete}`;
  }

  /** The row before the newest `limit` grants: each has at most one row, and up to two more if its call was sent late. */
  #firstNeeded(limit: number): number {
    const row = this.#sql.get`
      SELECT id FROM rate_limit_grants WHERE limiter = ${this.#limiter} ORDER BY id DESC LIMIT 1 OFFSET ${3 * limit}`;
    return Number(row?.['id'] ?? 0);
  }

  /** Changes when another connection wrote to the file. */
  #commits(): number {
    return Number(this.#dataVersion.get()?.['data_version']);
  }

  #row(): { state: string | null; maxWindowLimit: number; shiftedMs: number } {
    const row = this.#sql.get`
      SELECT state, largest_limit AS "maxWindowLimit", shifted_ms AS "shiftedMs"
      FROM rate_limit_states WHERE limiter = ${this.#limiter}`;
    return { state: null, maxWindowLimit: 1, shiftedMs: 0, ...row };
  }
}

function timesOf(rows: readonly JournaledGrants[]): readonly number[] {
  const times: number[] = [];
  for (const { at, count, movedFrom } of rows) {
    const given = movedFrom === null ? -1 : times.lastIndexOf(movedFrom);
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
