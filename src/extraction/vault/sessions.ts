// The main thread's side of a vault: opening it, its sessions and their totals.
import type { DatabaseSync } from 'node:sqlite';
import type { Clock, IdSource } from '../../core/index.ts';
import { immediate } from '../../platform/sqlite/open-sqlite.ts';
import type {
  OpenSession,
  PageRequest,
  RunTotals,
  SessionSpec,
  SessionStatus,
  SessionTotals,
  TypeEnd,
  TypeStatus,
  VaultSessions,
} from '../types.ts';
import {
  claimVault,
  withWriteLock,
  lockVault,
  createWriteLock,
  onFile,
  openVaultFile,
  openExistingVault,
  requireSource,
  shortBusyMs,
} from './file.ts';
import type { PruneReport, PruneRule } from './prune.ts';
import { pruneVersions } from './prune.ts';
import type { Resumable } from './session-state.ts';
import {
  dropRemnants,
  findResumable,
  finishType,
  resetFailedPages,
  readProgress,
  typesText,
  typesWithLostRows,
  numberOfSession,
  numberOfType,
  numberTypes,
} from './session-state.ts';

export interface OpenVaultOptions {
  /** As `Source.name`. */
  readonly source: string;
  readonly clock: Clock;
  readonly ids: IdSource;
}

/** A vault that this process writes to. Worker threads open the same path with `PageWriter`. */
export interface Vault {
  readonly path: string;
  /** It was of an older version and has been migrated. */
  readonly wasOlder: boolean;
  readonly sessions: VaultSessions;
  /** For `PageWriter` in every thread. */
  readonly writeLock: SharedArrayBuffer;
  /** Deletes old versions; page writers must be closed before. */
  prune(rule: PruneRule, signal: AbortSignal): Promise<PruneReport>;
  /** Releases the file. Idempotent; page writers must be closed before. */
  close(): void;
}

/** Fails with EXTRACTION_VAULT_FOREIGN: the vault of another source is not migrated either. */
function isOlderVault(path: string, source: string): boolean {
  const existing = openExistingVault(path);
  if (!existing) return false;
  try {
    requireSource(existing.db, path, source);
    return existing.isOlder;
  } finally {
    existing.db.close();
  }
}

/**
 * Creates the vault if it does not exist. Fails with EXTRACTION_BUSY (another process writes to it),
 * EXTRACTION_VAULT_FOREIGN (it belongs to another source) or a SqliteError; nothing is changed then.
 */
export function openVault(path: string, options: OpenVaultOptions): Vault {
  openExistingVault(path)?.db.close();
  const lock = lockVault(path);
  try {
    const wasOlder = isOlderVault(path, options.source);
    const db = openVaultFile(path, shortBusyMs);
    const writeLock = createWriteLock();
    return {
      path,
      wasOlder,
      writeLock,
      sessions: new SqliteVaultSessions(db, path, writeLock, options),
      prune: (rule, signal) => pruneVersions(path, db, rule, { clock: options.clock, signal }),
      close: () => {
        if (db.isOpen) db.close();
        if (lock.isOpen) lock.close();
      },
    };
  } catch (error) {
    lock.close();
    throw error;
  }
}

type Opened = Omit<OpenSession, 'lost' | 'redefined'>;

class SqliteVaultSessions implements VaultSessions {
  readonly #db: DatabaseSync;
  readonly #path: string;
  readonly #writeLock: SharedArrayBuffer;
  readonly #options: OpenVaultOptions;
  /** By session, as it was opened. */
  readonly #callsBefore = new Map<string, number>();

  constructor(db: DatabaseSync, path: string, writeLock: SharedArrayBuffer, options: OpenVaultOptions) {
    this.#db = db;
    this.#path = path;
    this.#writeLock = writeLock;
    this.#options = options;
  }

  open(spec: SessionSpec): OpenSession {
    return this.#transaction(() => {
      claimVault(this.#db, this.#path, spec.source);
      closeKilledRuns(this.#db);
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
      const type = numberOfType(this.#db, request.list.type);
      const { changes } = this.#db
        .prepare(
          `INSERT INTO pages (session, content_type, key, state, request) VALUES (?, ?, ?, 'failed', ?)
           ON CONFLICT DO NOTHING`,
        )
        .run(session, type, request.key, JSON.stringify(request));
      // A committed page cannot fail, even if its worker died afterwards.
      if (changes === 0) return;
      this.#db
        .prepare(
          `INSERT OR REPLACE INTO dead_letters (session, content_type, page_key, item_index, cause, message, created_at)
           VALUES (?, ?, ?, 0, ?, ?, ?)`,
        )
        .run(session, type, request.key, cause, message, this.#options.clock.now());
    });
  }

  finishType(sessionId: string, type: string, end: TypeEnd): TypeStatus {
    return this.#transaction(() =>
      finishType(this.#db, {
        session: numberOfSession(this.#db, sessionId),
        type: numberOfType(this.#db, type),
        end,
        at: this.#options.clock.now(),
      }),
    );
  }

  finish(sessionId: string, status: Exclude<SessionStatus, 'running'>, run: RunTotals): SessionTotals {
    return this.#transaction(() => {
      const session = numberOfSession(this.#db, sessionId);
      this.#db
        .prepare('UPDATE extraction_sessions SET status = ?, finished_at = ? WHERE number = ?')
        .run(status, this.#options.clock.now(), session);
      addRun(this.#db, session, run, this.#callsBefore.get(sessionId) ?? 0);
      return readTotals(this.#db, session);
    });
  }

  countItems(type: string): number {
    return onFile(this.#path, () => {
      const number = numberOfType(this.#db, type);
      const row = this.#db
        .prepare('SELECT count(*) AS items FROM items WHERE content_type = ? AND deleted_at IS NULL')
        .get(number);
      return Number(row?.['items']);
    });
  }

  #begin(spec: SessionSpec): Opened {
    const id = this.#options.ids.uuid();
    const { source, types, workerCount, config } = spec;
    const { lastInsertRowid: session } = this.#db
      .prepare(
        `INSERT INTO extraction_sessions (id, source, status, started_at, active_since, worker_count, types, config)
         VALUES (?1, ?2, 'running', ?3, ?3, ?4, ?5, ?6)`,
      )
      .run(id, source, this.#options.clock.now(), workerCount, typesText(types), JSON.stringify(config));
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
    if (spec.retryFailed) resetFailedPages(this.#db, number);
    const progress = readProgress(this.#db, number, spec.types);
    const isComplete = progress.every(({ status }) => status === 'completed');
    if (!isComplete)
      this.#db
        .prepare(
          `UPDATE extraction_sessions
           SET status = 'running', finished_at = NULL, active_since = ?, worker_count = ?, config = ?
           WHERE number = ?`,
        )
        .run(this.#options.clock.now(), spec.workerCount, JSON.stringify(spec.config), number);
    else this.#db.prepare(`UPDATE extraction_sessions SET status = 'completed' WHERE number = ?`).run(number);
    return { id, isResumed: true, isComplete, progress, totals: readTotals(this.#db, number) };
  }

  /** With the vault's lock held, a session in the state "running" belongs to a process that died. */
  #endCrashedSessions(except: number | undefined): void {
    this.#db
      .prepare(
        `UPDATE extraction_sessions SET status = 'interrupted' WHERE status = 'running' AND number IS NOT ?`,
      )
      .run(except ?? null);
  }

  #transaction<T>(work: () => T): T {
    return onFile(this.#path, () =>
      withWriteLock(this.#writeLock, () => immediate(this.#db, work), shortBusyMs),
    );
  }
}

/** Without the time between runs. */
const computed = `
  total_items = (SELECT coalesce(sum(items_seen), 0) FROM checkpoints WHERE session = number),
  throughput_items_per_second =
    (SELECT nullif(sum(items_seen), 0) FROM checkpoints WHERE session = number) * 1000.0 / nullif(active_ms, 0)`;

/**
 * Adds a finished run. `callsBefore` are the calls of the previous runs: during the run its pages were counted as calls,
 * in case it is killed. Within a transaction of the caller, like everything here.
 */
function addRun(db: DatabaseSync, session: number, run: RunTotals, callsBefore: number): void {
  const { calls, errors, activeMs } = run;
  db.prepare(
    `UPDATE extraction_sessions SET total_calls = ?, errors = errors + ?, active_ms = active_ms + ?,
       active_since = NULL WHERE number = ?`,
  ).run(callsBefore + calls, errors, Math.round(activeMs), session);
  db.prepare(`UPDATE extraction_sessions SET ${computed} WHERE number = ?`).run(session);
}

/**
 * Closes killed runs: they were active at least until the last item they wrote, and made at least one call per committed
 * page. The vault's lock is held, so that none of them is still running.
 */
function closeKilledRuns(db: DatabaseSync): void {
  const killed = db.prepare('SELECT number FROM extraction_sessions WHERE active_since IS NOT NULL').all();
  for (const { number } of killed) {
    db.prepare(
      `UPDATE extraction_sessions SET active_since = NULL, active_ms = active_ms + max(0, coalesce(
         (SELECT max(synced_at) FROM items WHERE session = ?1), active_since) - active_since)
       WHERE number = ?1`,
    ).run(Number(number));
    db.prepare(`UPDATE extraction_sessions SET ${computed} WHERE number = ?`).run(Number(number));
  }
}

function readTotals(db: DatabaseSync, session: number): SessionTotals {
  const row = db
    .prepare(
      `SELECT total_items AS items, total_calls AS calls, errors, active_ms AS activeMs,
              throughput_items_per_second AS throughputItemsPerSecond
       FROM extraction_sessions WHERE number = ?`,
    )
    .get(session);
  return { ...row } as unknown as SessionTotals;
}
