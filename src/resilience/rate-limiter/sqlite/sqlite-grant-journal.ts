// Keeps a limiter's grants and backoff in a SQLite file, so that a killed and restarted process is not over the limit.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { immediate } from '../../../platform/sqlite/immediate.ts';
import { initialBackoff } from '../adaptation.ts';
import type { GrantJournal, JournaledState } from '../ports.ts';

const schema = `
  CREATE TABLE IF NOT EXISTS rate_limiter_grants (
    id INTEGER PRIMARY KEY, limiter TEXT NOT NULL, granted_at_ms INTEGER NOT NULL, grants INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS rate_limiter_grants_by_limiter ON rate_limiter_grants (limiter, id);
  CREATE TABLE IF NOT EXISTS rate_limiter_states (limiter TEXT PRIMARY KEY, state TEXT NOT NULL) STRICT;
`;

/** Rows that can no longer matter are deleted once in this many grants. */
const grantsBetweenPrunings = 1_000;

/**
 * Works in any SQLite file, beside other tables. One statement per write: in WAL mode a kill -9 at any moment loses
 * none that was acknowledged.
 */
export class SqliteGrantJournal implements GrantJournal {
  readonly #db: DatabaseSync;
  readonly #limiter: string;
  readonly #insertGrants: StatementSync;
  readonly #upsertState: StatementSync;
  #kept = 1;
  #sincePruning = 0;

  /** `limiter` names it within the file (see `limiterKey`). The connection stays the caller's to close. */
  constructor(db: DatabaseSync, limiter: string) {
    this.#db = db;
    this.#limiter = limiter;
    db.exec(schema);
    this.#insertGrants = db.prepare(
      'INSERT INTO rate_limiter_grants (limiter, granted_at_ms, grants) VALUES (?, ?, ?)',
    );
    this.#upsertState = db.prepare(
      'INSERT INTO rate_limiter_states (limiter, state) VALUES (?, ?) ON CONFLICT DO UPDATE SET state = excluded.state',
    );
  }

  load(limit: number): { grants: readonly number[]; state: JournaledState | undefined } {
    this.#kept = limit;
    this.#prune();
    const newestFirst: number[] = [];
    const rows = this.#db
      .prepare('SELECT granted_at_ms, grants FROM rate_limiter_grants WHERE limiter = ? ORDER BY id DESC')
      .iterate(this.#limiter);
    for (const row of rows) {
      for (let left = Number(row['grants']); left > 0 && newestFirst.length < limit; left--)
        newestFirst.push(Number(row['granted_at_ms']));
      if (newestFirst.length >= limit) break;
    }
    return { grants: newestFirst.toReversed(), state: this.#state() };
  }

  append(grantedAt: number, count: number): void {
    this.#insertGrants.run(this.#limiter, grantedAt, count);
    this.#sincePruning += count;
    if (this.#sincePruning >= Math.max(this.#kept, grantsBetweenPrunings)) this.#prune();
  }

  save(state: JournaledState): void {
    this.#upsertState.run(this.#limiter, JSON.stringify(state));
  }

  shift(byMs: number): void {
    immediate(this.#db, () => {
      this.#db
        .prepare('UPDATE rate_limiter_grants SET granted_at_ms = granted_at_ms + ? WHERE limiter = ?')
        .run(byMs, this.#limiter);
      const state = this.#state();
      if (!state) return;
      const { pausedUntil, last429At, savedAt } = state;
      const moved = (at: number) => (at === 0 ? 0 : at + byMs);
      this.save({
        ...state,
        pausedUntil: moved(pausedUntil),
        last429At: moved(last429At),
        savedAt: moved(savedAt),
      });
    });
  }

  /** Each row holds at least one grant: the newest `kept` rows are always enough. */
  #prune(): void {
    this.#sincePruning = 0;
    this.#db
      .prepare(
        `DELETE FROM rate_limiter_grants WHERE limiter = ?1 AND id < (
           SELECT id FROM rate_limiter_grants WHERE limiter = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`,
      )
      .run(this.#limiter, this.#kept - 1);
  }

  #state(): JournaledState | undefined {
    const row = this.#db
      .prepare('SELECT state FROM rate_limiter_states WHERE limiter = ?')
      .get(this.#limiter);
    const text = row?.['state'];
    if (typeof text !== 'string') return undefined;
    return {
      ...initialBackoff,
      pausedUntil: 0,
      savedAt: 0,
      ...(JSON.parse(text) as Partial<JournaledState>),
    };
  }
}
