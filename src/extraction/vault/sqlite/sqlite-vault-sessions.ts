// The sessions of a vault: which one a run continues, what is known of it, and how it ends.
import type { DatabaseSync } from 'node:sqlite';
import type { Clock, IdSource } from '../../../core/index.ts';
import { immediate } from '../../../platform/sqlite/index.ts';
import type {
  OpenSession,
  PageRequest,
  SessionSpec,
  SessionStatus,
  SessionTotals,
  TypeStatus,
  VaultSessions,
} from '../../ports.ts';
import { finishType } from './finish-type.ts';
import { numberOfSession, numberOfType, numberTypes } from './numbers.ts';
import { forgetFailedPages, readProgress } from './progress.ts';
import { findResumable, typesText } from './resumable.ts';
import { claimFor } from './vault-source.ts';
import { onFile } from './vault-file.ts';
import { inTurn } from './write-turn.ts';

interface Dependencies {
  readonly path: string;
  readonly db: DatabaseSync;
  readonly turn: SharedArrayBuffer;
  readonly clock: Clock;
  readonly ids: IdSource;
}

export class SqliteVaultSessions implements VaultSessions {
  readonly #path: string;
  readonly #db: DatabaseSync;
  readonly #turn: SharedArrayBuffer;
  readonly #clock: Clock;
  readonly #ids: IdSource;

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
      const there = spec.fresh ? undefined : findResumable(this.#db, spec);
      this.#endCrashedSessions(there?.number);
      return there ? this.#resume(there, spec) : this.#begin(spec);
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

  finish(sessionId: string, status: Exclude<SessionStatus, 'running'>, totals: SessionTotals): void {
    const { calls, errors, throughputItemsPerSecond } = totals;
    this.#transaction(() =>
      this.#db
        .prepare(
          `UPDATE extraction_sessions SET status = ?, finished_at = ?, total_calls = total_calls + ?,
             errors = errors + ?, throughput_items_per_second = coalesce(?, throughput_items_per_second),
             total_items = (SELECT sum(items_seen) FROM checkpoints WHERE session = number) WHERE id = ?`,
        )
        .run(status, this.#clock.now(), calls, errors, throughputItemsPerSecond, sessionId),
    );
  }

  #begin(spec: SessionSpec): OpenSession {
    const id = this.#ids.uuid();
    const { source, types, workerCount, config } = spec;
    const { lastInsertRowid: session } = this.#db
      .prepare(
        `INSERT INTO extraction_sessions (id, source, status, started_at, worker_count, types, config)
         VALUES (?, ?, 'running', ?, ?, ?, ?)`,
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
    };
  }

  #resume(there: { readonly number: number; readonly id: string }, spec: SessionSpec): OpenSession {
    const { number, id } = there;
    if (spec.retryFailed) forgetFailedPages(this.#db, number);
    const progress = readProgress(this.#db, number, spec.types);
    const isComplete = progress.every(({ status }) => status === 'completed');
    if (!isComplete)
      this.#db
        .prepare(
          `UPDATE extraction_sessions SET status = 'running', finished_at = NULL, worker_count = ?, config = ?
           WHERE number = ?`,
        )
        .run(spec.workerCount, JSON.stringify(spec.config), number);
    return { id, isResumed: true, isComplete, progress };
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
    return onFile(this.#path, () => inTurn(this.#turn, () => immediate(this.#db, work)));
  }
}
