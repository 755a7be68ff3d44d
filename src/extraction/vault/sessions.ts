// The main thread's side of a vault: opening it, its sessions and their totals.
import type { DatabaseSync } from 'node:sqlite';
import type { Clock, IdSource } from '../../core/index.ts';
import { immediate, sqlOn } from '../../platform/sqlite/open-sqlite.ts';
import type {
  OpenSession,
  PageRequest,
  RunTotals,
  SessionSpec,
  SessionState,
  SessionTotals,
  TypeEnd,
  TypeState,
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
  assignNumber,
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

/**
 * Whether an earlier version wrote the vault. Fails with SQLITE_UNUSABLE (not a vault, or one of 0.1.0) or
 * EXTRACTION_VAULT_OF_OTHER_SOURCE (of another source); a missing file is not older. Writes nothing.
 */
export function isOlderVault(path: string, source: string): boolean {
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
 * EXTRACTION_VAULT_OF_OTHER_SOURCE (it belongs to another source) or a SqliteError; nothing is changed then.
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

type Opened = Omit<OpenSession, 'lost' | 'changedTypes'>;

class SqliteVaultSessions implements VaultSessions {
  readonly #db: DatabaseSync;
  readonly #sql: ReturnType<typeof sqlOn>;
  readonly #path: string;
  readonly #writeLock: SharedArrayBuffer;
  readonly #options: OpenVaultOptions;
  /** Calls of earlier runs by session, as of its opening. */
  readonly #callsBefore = new Map<string, number>();

  constructor(db: DatabaseSync, path: string, writeLock: SharedArrayBuffer, options: OpenVaultOptions) {
    this.#db = db;
    this.#sql = sqlOn(db);
    this.#path = path;
    this.#writeLock = writeLock;
    this.#options = options;
  }

  open(spec: SessionSpec): OpenSession {
    return this.#transaction(() => {
      claimVault(this.#db, this.#path, spec.source);
      closeKilledRuns(this.#db);
      const { resumable, changedTypes } = findResumable(this.#db, spec);
      const lost = typesWithLostRows(this.#db, spec.types, resumable?.number);
      dropRemnants(this.#db, lost);
      const there = lost.length === 0 ? resumable : undefined;
      this.#endCrashedSessions(there?.number);
      const session = there ? this.#resume(there, spec) : this.#begin(spec);
      this.#callsBefore.set(session.id, session.totals.calls);
      return { ...session, lost, changedTypes };
    });
  }

  fail(sessionId: string, request: PageRequest, cause: string, message: string): void {
    this.#transaction(() => {
      const session = numberOfSession(this.#db, sessionId);
      const type = numberOfType(this.#db, request.list.type);
      const { changes } = this.#sql.run`
        INSERT INTO pages (session, content_type, key, state, request)
        VALUES (${session}, ${type}, ${request.key}, 'failed', ${JSON.stringify(request)}) ON CONFLICT DO NOTHING`;
      // A committed page cannot fail, even if its worker died afterwards.
      if (changes === 0) return;
      this.#sql.run`
        INSERT OR REPLACE INTO dead_letters (session, content_type, page_key, item_index, cause, message, created_at)
        VALUES (${session}, ${type}, ${request.key}, 0, ${cause}, ${message}, ${this.#now()})`;
    });
  }

  finishType(sessionId: string, type: string, end: TypeEnd): TypeState {
    return this.#transaction(() =>
      finishType(this.#db, {
        session: numberOfSession(this.#db, sessionId),
        type: numberOfType(this.#db, type),
        end,
        at: this.#now(),
      }),
    );
  }

  finish(sessionId: string, state: Exclude<SessionState, 'running'>, run: RunTotals): SessionTotals {
    return this.#transaction(() => {
      const session = numberOfSession(this.#db, sessionId);
      this.#sql.run`
        UPDATE extraction_sessions SET state = ${state}, finished_at = ${this.#now()} WHERE number = ${session}`;
      addRun(this.#db, session, run, this.#callsBefore.get(sessionId) ?? 0);
      return readTotals(this.#db, session);
    });
  }

  countItems(type: string): number {
    return onFile(this.#path, () => {
      const number = numberOfType(this.#db, type);
      const row = this.#sql.get`
        SELECT count(*) AS items FROM items WHERE content_type = ${number} AND deleted_at IS NULL`;
      return Number(row?.['items']);
    });
  }

  #begin(spec: SessionSpec): Opened {
    const id = this.#options.ids.uuid();
    const { source, types, workerCount, config } = spec;
    const now = this.#now();
    const { lastInsertRowid } = this.#sql.run`
      INSERT INTO extraction_sessions (id, source, state, started_at, active_since, worker_count, types, config)
      VALUES (${id}, ${source}, 'running', ${now}, ${now}, ${workerCount}, ${typesText(types)}, ${JSON.stringify(config)})`;
    const session = Number(lastInsertRowid);
    for (const type of types)
      this.#sql.run`
        INSERT INTO checkpoints (session, content_type, scope, state)
        VALUES (${session}, ${assignNumber(this.#db, type)}, ${type.scope ?? null}, 'queued')`;
    const progress = readProgress(this.#db, session, types);
    return { id, isResumed: false, isComplete: false, progress, totals: readTotals(this.#db, session) };
  }

  #resume(there: Resumable, spec: SessionSpec): Opened {
    const { number, id } = there;
    if (spec.retryFailed) resetFailedPages(this.#db, number);
    const progress = readProgress(this.#db, number, spec.types);
    const isComplete = progress.every(({ state }) => state === 'completed');
    if (isComplete)
      this.#sql.run`UPDATE extraction_sessions SET state = 'completed' WHERE number = ${number}`;
    else
      this.#sql.run`
        UPDATE extraction_sessions SET state = 'running', finished_at = NULL, active_since = ${this.#now()},
          worker_count = ${spec.workerCount}, config = ${JSON.stringify(spec.config)} WHERE number = ${number}`;
    return { id, isResumed: true, isComplete, progress, totals: readTotals(this.#db, number) };
  }

  /** With the vault's lock held, a session in the state "running" belongs to a process that died. */
  #endCrashedSessions(except: number | undefined): void {
    this.#sql.run`
      UPDATE extraction_sessions SET state = 'interrupted' WHERE state = 'running' AND number IS NOT ${except ?? null}`;
  }

  #now(): number {
    return this.#options.clock.now();
  }

  #transaction<T>(work: () => T): T {
    return onFile(this.#path, () =>
      withWriteLock(this.#writeLock, () => immediate(this.#db, work), shortBusyMs),
    );
  }
}

/**
 * Adds a finished run. `callsBefore` are the calls of the previous runs: during the run its pages were counted as calls,
 * in case it is killed. Within a transaction of the caller, like everything here.
 */
function addRun(db: DatabaseSync, session: number, run: RunTotals, callsBefore: number): void {
  const { calls, errors, activeMs } = run;
  sqlOn(db).run`
    UPDATE extraction_sessions SET total_calls = ${callsBefore + calls}, errors = errors + ${errors},
      active_ms = active_ms + ${Math.round(activeMs)}, active_since = NULL WHERE number = ${session}`;
  computeTotals(db, session);
}

/**
 * Closes killed runs: they were active at least until the last item they wrote, and made at least one call per committed
 * page. The vault's lock is held, so that none of them is still running.
 */
function closeKilledRuns(db: DatabaseSync): void {
  const sql = sqlOn(db);
  for (const { number } of sql.all`SELECT number FROM extraction_sessions WHERE active_since IS NOT NULL`) {
    sql.run`
      UPDATE extraction_sessions SET active_since = NULL, active_ms = active_ms + max(0, coalesce(
        (SELECT max(synced_at) FROM items WHERE session = ${Number(number)}), active_since) - active_since)
      WHERE number = ${Number(number)}`;
    computeTotals(db, Number(number));
  }
}

/** Items, and items per second without the time between runs. */
function computeTotals(db: DatabaseSync, session: number): void {
  sqlOn(db).run`
    UPDATE extraction_sessions SET
      total_items = (SELECT coalesce(sum(items_seen), 0) FROM checkpoints WHERE session = number),
      throughput_items_per_second = (SELECT nullif(sum(items_seen), 0) FROM checkpoints WHERE session = number)
                                    * 1000.0 / nullif(active_ms, 0)
    WHERE number = ${session}`;
}

function readTotals(db: DatabaseSync, session: number): SessionTotals {
  const row = sqlOn(db).get`
    SELECT total_items AS items, total_calls AS calls, errors, active_ms AS "activeMs",
           throughput_items_per_second AS "throughputItemsPerSecond"
    FROM extraction_sessions WHERE number = ${session}`;
  return { ...row } as unknown as SessionTotals;
}
