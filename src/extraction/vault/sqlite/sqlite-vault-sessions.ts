// The sessions of a vault: which one a run continues, what is known of it, and how it ends.
import type { DatabaseSync } from 'node:sqlite';
import type { Clock, IdSource } from '../../../core/index.ts';
import { immediate } from '../../../platform/sqlite/index.ts';
import type {
  OpenSession,
  PageRequest,
  RunTotals,
  SessionSpec,
  SessionStatus,
  SessionTotals,
  TypeStatus,
  VaultSessions,
} from '../../ports.ts';
import { finishType } from './finish-type.ts';
import { dropRemnants, typesWithLostRows } from './lost-rows.ts';
import { numberOfSession, numberOfType, numberTypes } from './numbers.ts';
import { forgetFailedPages, readProgress } from './progress.ts';
import { findResumable, typesText, type Resumable } from './resumable.ts';
import { addRun, readTotals, settleKilledRuns } from './session-totals.ts';
import { claimFor } from './vault-source.ts';
import { onFile, shortBusyMs } from './vault-file.ts';
import { inTurn } from './write-turn.ts';

interface Dependencies {
  readonly path: string;
  readonly db: DatabaseSync;
  readonly turn: SharedArrayBuffer;
  readonly clock: Clock;
  readonly ids: IdSource;
}

type Opened = Omit<OpenSession, 'lost' | 'redefined'>;

export class SqliteVaultSessions implements VaultSessions {
  readonly #path: string;
  readonly #db: DatabaseSync;
  readonly #turn: SharedArrayBuffer;
  readonly #clock: Clock;
  readonly #ids: IdSource;
  /** By session, as it was opened. */
  readonly #callsBefore = new Map<string, number>();

  constructor({ path, db, turn, clock, ids }: Dependencies) {
    this.#path = path;
    this.#db = db;
    this.#turn = turn;
    this.#clock = clock;
    this.#ids = ids;
  }

  open(spec: SessionSpec): OpenSession {
    return this.#transaction(() => {
      claimFor(this.#db, this.#path, spec.source);
      settleKilledRuns(this.#db);
      const { resumable, redefined } = findResumable(this.#db, spec);
      const lost = typesWithLostRows(this.#db, spec.types, resumable?.number);
      dropRemnants(this.#db, lost);
      const there = lost.length === 0 ? resumable : undefined;
      this.#endCrashedSessions(there?.number);
      const session = there ? this.#resume(there, spec) : this.#begin(spec);
      this.#callsBefore.set(session.id, session.totals.calls);
      return { ...session, lost, redefined };
    });
  }

  fail(sessionId: string, request: PageRequest, cause: string, message: string): void {
    this.#transaction(() => {
      const session = numberOfSession(this.#db, sessionId);
      const type = numberOfType(this.#db, request.type);
      const { changes } = this.#db
        .prepare(
          `INSERT INTO pages (session, content_type, key, state, request) VALUES (?, ?, ?, 'failed', ?)
           ON CONFLICT DO NOTHING`,
        )
        .run(session, type, request.key, JSON.stringify(request));
      // A page that is committed did not fail, whatever its worker died of afterwards.
      if (changes === 0) return;
      this.#db
        .prepare(
          `INSERT OR REPLACE INTO dead_letters (session, content_type, page_key, place, cause, message, at)
           VALUES (?, ?, ?, 0, ?, ?, ?)`,
        )
        .run(session, type, request.key, cause, message, this.#clock.now());
    });
  }

  finishType(sessionId: string, type: string, expectedTotal: number | null): TypeStatus {
    return this.#transaction(() =>
      finishType(this.#db, {
        session: numberOfSession(this.#db, sessionId),
        type: numberOfType(this.#db, type),
        expectedTotal,
        at: this.#clock.now(),
      }),
    );
  }

  finish(sessionId: string, status: Exclude<SessionStatus, 'running'>, run: RunTotals): SessionTotals {
    return this.#transaction(() => {
      const session = numberOfSession(this.#db, sessionId);
      this.#db
        .prepare('UPDATE extraction_sessions SET status = ?, finished_at = ? WHERE number = ?')
        .run(status, this.#clock.now(), session);
      addRun(this.#db, session, run, this.#callsBefore.get(sessionId) ?? 0);
      return readTotals(this.#db, session);
    });
  }

  held(type: string): number {
    return onFile(this.#path, () => {
      const number = numberOfType(this.#db, type);
      const row = this.#db
        .prepare('SELECT count(*) AS held FROM item_heads WHERE content_type = ? AND deleted_at IS NULL')
        .get(number);
      return Number(row?.['held']);
    });
  }

  #begin(spec: SessionSpec): Opened {
    const id = this.#ids.uuid();
    const { source, types, workerCount, config } = spec;
    const { lastInsertRowid: session } = this.#db
      .prepare(
        `INSERT INTO extraction_sessions (id, source, status, started_at, active_since, worker_count, types, config)
         VALUES (?1, ?2, 'running', ?3, ?3, ?4, ?5, ?6)`,
      )
      .run(id, source, this.#clock.now(), workerCount, typesText(types), JSON.stringify(config));
    const checkpoint = this.#db.prepare(
      `INSERT INTO checkpoints (session, content_type, scope, status) VALUES (?, ?, ?, 'pending')`,
    );
    const numbers = numberTypes(this.#db, types);
    for (const { name, scope } of types) checkpoint.run(session, numbers.get(name) ?? null, scope ?? null);
    return {
      id,
      isResumed: false,
      isComplete: false,
      progress: readProgress(this.#db, Number(session), types),
      totals: readTotals(this.#db, Number(session)),
    };
  }

  #resume(there: Resumable, spec: SessionSpec): Opened {
    const { number, id } = there;
    if (spec.retryFailed) forgetFailedPages(this.#db, number);
    const progress = readProgress(this.#db, number, spec.types);
    const isComplete = progress.every(({ status }) => status === 'completed');
    if (!isComplete)
      this.#db
        .prepare(
          `UPDATE extraction_sessions
           SET status = 'running', finished_at = NULL, active_since = ?, worker_count = ?, config = ?
           WHERE number = ?`,
        )
        .run(this.#clock.now(), spec.workerCount, JSON.stringify(spec.config), number);
    else this.#db.prepare(`UPDATE extraction_sessions SET status = 'completed' WHERE number = ?`).run(number);
    return { id, isResumed: true, isComplete, progress, totals: readTotals(this.#db, number) };
  }

  /** We hold the vault's lock: a session that still says "running" belonged to a process that died. */
  #endCrashedSessions(except: number | undefined): void {
    this.#db
      .prepare(
        `UPDATE extraction_sessions SET status = 'interrupted' WHERE status = 'running' AND number IS NOT ?`,
      )
      .run(except ?? null);
  }

  #transaction<T>(work: () => T): T {
    return onFile(this.#path, () => inTurn(this.#turn, () => immediate(this.#db, work), shortBusyMs));
  }
}
