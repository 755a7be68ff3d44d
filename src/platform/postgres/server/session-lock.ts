// A lock on a PostgreSQL server that one process holds while it lives, or several share: the server frees it when the
// connection ends, also when the process was killed. On a connection of its own, so that the pool keeps its size.
//
//   held → lost    the connection ended; requested again every second
//   lost → held    it was still free
//   lost → taken   another process has it; requested again every second
import { Client } from 'pg';
import type { Clock } from '../../../core/clock.ts';
import { clientConfig, destroyConnection, describeTarget } from './connection.ts';
import { translateConnectError } from './server-errors.ts';

export interface SessionLockOptions {
  readonly url: string;
  /** The same name on the same database is the same lock. */
  readonly name: string;
  /** `shared`: any number of holders, but none beside an exclusive one. */
  readonly mode: 'exclusive' | 'shared';
  readonly clock: Clock;
  /** Called for every change after the lock was first acquired. */
  readonly onChange?: (state: SessionLockState) => void;
}

export type SessionLockState = 'held' | 'lost' | 'taken';

const connectTimeoutMs = 5_000;
const retryMs = 1_000;

/** Null when another process holds it in a conflicting mode. Fails with STATE_UNAVAILABLE or STATE_UNUSABLE. */
export async function acquireSessionLock(options: SessionLockOptions): Promise<SessionLock | null> {
  const lock = new SessionLock(options);
  if (await lock.acquireFirst()) return lock;
  await lock.close();
  return null;
}

class SessionLock {
  readonly #options: SessionLockOptions;
  #state: SessionLockState = 'lost';
  #client: Client | null = null;
  #cancelRetry: () => void = () => undefined;
  #acquiring: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(options: SessionLockOptions) {
    this.#options = options;
  }

  get state(): SessionLockState {
    return this.#state;
  }

  async acquireFirst(): Promise<boolean> {
    const isAcquired = await this.#acquire();
    if (isAcquired) this.#state = 'held';
    return isAcquired;
  }

  async #acquire(): Promise<boolean> {
    const settings = { ...this.#options, schema: 'public', statementTimeoutMs: 0, connectTimeoutMs };
    const client = new Client({ ...clientConfig(settings), query_timeout: connectTimeoutMs });
    client.on('error', () => this.#markLost(client));
    client.on('end', () => this.#markLost(client));
    try {
      await client.connect();
      // A machine that disappeared is detected within half a minute instead of two hours.
      await client.query(
        'set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3; ' +
          'set idle_session_timeout = 0',
      );
      const { name, mode } = this.#options;
      const acquire = mode === 'shared' ? 'pg_try_advisory_lock_shared' : 'pg_try_advisory_lock';
      const { rows } = await client.query<{ taken: boolean }>(
        `select ${acquire}(hashtextextended($1, 0)) as taken`,
        [name],
      );
      if (rows[0]?.taken === true && !this.#isClosed) {
        this.#client = client;
        return true;
      }
      await client.end();
      return false;
    } catch (error) {
      destroyConnection(client);
      throw translateConnectError(error, describeTarget(settings));
    }
  }

  /** Frees it. Safe to call twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelRetry();
    const client = this.#client;
    this.#client = null;
    await this.#acquiring;
    await client?.end().catch(() => undefined);
  }

  #markLost(client: Client): void {
    if (this.#client !== client) return;
    this.#client = null;
    destroyConnection(client);
    this.#change('lost');
    this.#retryLater();
  }

  #retryLater(): void {
    if (!this.#isClosed)
      this.#cancelRetry = this.#options.clock.after(retryMs, () => {
        this.#acquiring = this.#retry();
      });
  }

  async #retry(): Promise<void> {
    try {
      const isHeld = await this.#acquire();
      this.#change(isHeld ? 'held' : 'taken');
      if (isHeld) return;
    } catch {
      // The server is unavailable; the retry continues.
    }
    this.#retryLater();
  }

  #change(state: SessionLockState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#options.onChange?.(state);
  }
}

/** Held exclusively by a server that counts slots in memory, shared by the others. */
export const serverLockName = (schema: string): string => `headworks.admission.${schema}`;

/** Held shared by every worker. A lock of its own: a server without Redis holds the other one exclusively. */
export const workerLockName = (schema: string): string => `headworks.worker.${schema}`;
