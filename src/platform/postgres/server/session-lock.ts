// A lock on a Postgres server that one process holds for as long as it lives, or several share: the server frees it when
// the connection ends, also when the process was killed. On a connection of its own, so that no pool is one short.
//
//   held → lost    the connection ended; asked for again every second
//   lost → held    it was still free
//   lost → taken   another process was quicker; asked for again every second
import { Client } from 'pg';
import type { Clock } from '../../../core/clock.ts';
import { clientConfig, describeTarget } from './connection-settings.ts';
import { cutConnection } from './cut-connection.ts';
import { translateConnectError } from './server-errors.ts';

export interface SessionLockOptions {
  readonly url: string;
  /** Whoever asks for the same name on the same database wants the same lock. */
  readonly name: string;
  /** `shared`: any number may hold it at a time, but none beside one that has it alone. */
  readonly mode: 'alone' | 'shared';
  readonly clock: Clock;
  /** Told of every change after it was first had. */
  readonly onChange?: (state: SessionLockState) => void;
}

export type SessionLockState = 'held' | 'lost' | 'taken';

export interface SessionLock {
  readonly state: SessionLockState;
  /** Frees it. Safe to call twice. */
  close(): Promise<void>;
}

const connectTimeoutMs = 5_000;
const askAgainMs = 1_000;

/** Null when another process holds it, in a way that leaves no room for this one. Fails with STATE_UNAVAILABLE or STATE_UNUSABLE. */
export async function takeSessionLock(options: SessionLockOptions): Promise<SessionLock | null> {
  const lock = new HeldSessionLock(options);
  if (await lock.takeFirst()) return lock;
  await lock.close();
  return null;
}

class HeldSessionLock implements SessionLock {
  readonly #options: SessionLockOptions;
  #state: SessionLockState = 'lost';
  #client: Client | null = null;
  #cancelRetry: () => void = () => undefined;
  #taking: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(options: SessionLockOptions) {
    this.#options = options;
  }

  get state(): SessionLockState {
    return this.#state;
  }

  async takeFirst(): Promise<boolean> {
    const isTaken = await this.#take();
    if (isTaken) this.#state = 'held';
    return isTaken;
  }

  async #take(): Promise<boolean> {
    const settings = { ...this.#options, schema: 'public', statementTimeoutMs: 0, connectTimeoutMs };
    const client = new Client({ ...clientConfig(settings), query_timeout: connectTimeoutMs });
    client.on('error', () => this.#lose(client));
    client.on('end', () => this.#lose(client));
    try {
      await client.connect();
      // A machine that vanished without a word is noticed within half a minute, not after two hours.
      await client.query(
        'set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3; ' +
          'set idle_session_timeout = 0',
      );
      const { name, mode } = this.#options;
      const take = mode === 'shared' ? 'pg_try_advisory_lock_shared' : 'pg_try_advisory_lock';
      const { rows } = await client.query<{ taken: boolean }>(
        `select ${take}(hashtextextended($1, 0)) as taken`,
        [name],
      );
      if (rows[0]?.taken === true && !this.#isClosed) {
        this.#client = client;
        return true;
      }
      await client.end();
      return false;
    } catch (error) {
      cutConnection(client);
      throw translateConnectError(error, describeTarget(settings));
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelRetry();
    const client = this.#client;
    this.#client = null;
    await this.#taking;
    await client?.end().catch(() => undefined);
  }

  #lose(client: Client): void {
    if (this.#client !== client) return;
    this.#client = null;
    cutConnection(client);
    this.#change('lost');
    this.#askLater();
  }

  #askLater(): void {
    if (!this.#isClosed)
      this.#cancelRetry = this.#options.clock.after(askAgainMs, () => {
        this.#taking = this.#askAgain();
      });
  }

  async #askAgain(): Promise<void> {
    try {
      const isHeld = await this.#take();
      this.#change(isHeld ? 'held' : 'taken');
      if (isHeld) return;
    } catch {
      // The server is away; it is asked again as long as it is.
    }
    this.#askLater();
  }

  #change(state: SessionLockState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#options.onChange?.(state);
  }
}
