// What a driver provides: sessions that run one command at a time; with the transactions, state, subscriptions and permits
// that both drivers share.
import { onAbort } from '../../core/abort.ts';
import { CoreError } from '../../core/errors.ts';
import type { DatabaseState, QueryOptions, QueryResult, Transaction } from './ports.ts';
import { quoted, type RawSql, sql, Sql, SqlError } from './sql.ts';
import { encodeParameter } from './values.ts';

/** `query` is one statement with parameters; `script` any number of statements without. */
export type Command =
  | {
      readonly kind: 'query';
      readonly text: string;
      readonly values: readonly (string | null)[];
      readonly isFrequent: boolean;
    }
  | { readonly kind: 'script'; readonly text: string };

export const scriptCommand = (text: string): Command => ({ kind: 'script', text });

export interface CommandResult {
  /** Rows of all statements together. */
  readonly rows: readonly object[];
  readonly affected: number;
  /** The last statement's command tag: SELECT, COMMIT, … */
  readonly tag: string;
}

export interface Session {
  /** Fails with a SqlError (the statement failed) or a CoreError (the store is unavailable). */
  run(command: Command): Promise<CommandResult>;
  /** Whether a transaction block is open; false once the session is lost. */
  readonly isInTransaction: boolean;
  /** Why the session can no longer be used; it may be lost right after a reply. */
  readonly lostBy: CoreError | undefined;
  /** Cancels the running command if the store can. Never fails. */
  cancel(): Promise<void>;
  /** Returns the session; `isBroken` when its state is unknown. Never fails. */
  release(isBroken: boolean): Promise<void>;
}

export interface Store {
  /** The number of concurrent sessions. */
  readonly size: number;
  /** Fails with STATE_UNAVAILABLE when the store is unavailable. */
  open(): Promise<Session>;
  /** Fails with STATE_UNUSABLE or STATE_UNAVAILABLE. Called once, before `open`. */
  connect(): Promise<void>;
  /** Runs LISTEN or UNLISTEN where notifications arrive; `run` runs a command as any caller would. */
  listen(command: Command, run: (command: Command) => Promise<unknown>): Promise<unknown>;
  /** Called when every session has been returned. */
  close(): Promise<void>;
}

export class StateTracker {
  #state: DatabaseState = 'up';
  readonly #listeners = new Set<(state: DatabaseState) => void>();

  get state(): DatabaseState {
    return this.#state;
  }

  /** `closed` is final. */
  set(state: DatabaseState): void {
    if (this.#state === state || this.#state === 'closed') return;
    this.#state = state;
    for (const listener of this.#listeners) listener(state);
  }

  onChange(listener: (state: DatabaseState) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

type Listener = (payload: string) => void;
type Run = (command: Command) => Promise<unknown>;

export class Subscriptions {
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #onListenerError: (error: unknown) => void;
  /** Subscribing and unsubscribing run in order, so that the last call wins. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(onListenerError: (error: unknown) => void) {
    this.#onListenerError = onListenerError;
  }

  /** Channels to subscribe to again after the session was lost. */
  get channels(): readonly string[] {
    return [...this.#listeners.keys()];
  }

  deliver(channel: string, payload: string): void {
    for (const listener of this.#listeners.get(channel) ?? []) {
      try {
        listener(payload);
      } catch (error) {
        this.#onListenerError(error);
      }
    }
  }

  /** Resolves when the store is subscribed; the returned function unsubscribes. */
  async add(channel: string, onPayload: Listener, store: Store, run: Run): Promise<() => Promise<void>> {
    // A new function, so that the same callback can listen twice.
    const listener: Listener = (payload) => onPayload(payload);
    await this.#inOrder(async () => {
      const listeners = this.#listeners.get(channel) ?? new Set();
      if (listeners.size === 0) await store.listen(scriptCommand(`listen ${quoted(channel)}`), run);
      this.#listeners.set(channel, listeners.add(listener));
    });
    return () => this.#remove(channel, listener, store, run);
  }

  async #remove(channel: string, listener: Listener, store: Store, run: Run): Promise<void> {
    const listeners = this.#listeners.get(channel);
    if (!listeners?.delete(listener)) return;
    await this.#inOrder(async () => {
      if (listeners.size > 0 || this.#listeners.get(channel) !== listeners) return;
      this.#listeners.delete(channel);
      await store.listen(scriptCommand(`unlisten ${quoted(channel)}`), run);
    });
  }

  #inOrder(work: () => Promise<void>): Promise<void> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

export class Semaphore {
  #free: number;
  readonly #size: number;
  readonly #waiters = new Set<Waiter>();
  #idle: (() => void)[] = [];

  constructor(size: number) {
    this.#size = size;
    this.#free = size;
  }

  /** Waits for a permit; rejects with the signal's reason when it aborts. Call the result to release the permit. */
  async acquire(signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.#free > 0) this.#free--;
    else await this.#wait(signal);
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      this.#release();
    };
  }

  /** Resolves when every permit is free. */
  async onIdle(): Promise<void> {
    if (this.#free === this.#size) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  async #wait(signal: AbortSignal | undefined): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const waiter: Waiter = {
        resolve: () => {
          stopListening();
          resolve();
        },
        reject: (reason) => {
          this.#waiters.delete(waiter);
          reject(reason);
        },
      };
      this.#waiters.add(waiter);
      const stopListening = onAbort(signal, waiter.reject);
    });
  }

  #release(): void {
    const [next] = this.#waiters;
    if (next) {
      this.#waiters.delete(next);
      next.resolve();
      return;
    }
    this.#free++;
    if (this.#free < this.#size) return;
    const idle = this.#idle;
    this.#idle = [];
    for (const resolve of idle) resolve();
  }
}

/** The hold of one transaction on a session: commands in order, and a way to stop it early. */
export class TransactionLease implements Transaction {
  readonly #session: Session;
  readonly #stopped = Promise.withResolvers<never>();
  #stop: { readonly reason: unknown } | undefined;
  /** No more commands are accepted; accepted ones still run. */
  #hasEnded = false;
  #firstFailure: unknown;
  #last: Promise<unknown> = Promise.resolve();

  constructor(session: Session) {
    this.#session = session;
    this.#stopped.promise.catch(() => undefined);
  }

  async query<Row extends object>(query: Sql | RawSql, options?: QueryOptions): Promise<QueryResult<Row>> {
    const { rows, affected } = await this.#run(queryCommand(query, options), options?.signal);
    return { rows: rows as readonly Row[], affected };
  }

  async script(text: string, options?: QueryOptions): Promise<void> {
    await this.#run(scriptCommand(text), options?.signal);
  }

  async notify(channel: string, payload: string): Promise<void> {
    await this.query(sql`select pg_notify(${channel}, ${payload})`);
  }

  /** Waits for `work` until the lease is stopped. */
  whileHeld<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#stopped.promise]);
  }

  /** Ends it early: pending and later commands of the holder fail with `reason`. */
  stop(reason: unknown): void {
    if (this.#stop || this.#hasEnded) return;
    this.#stop = { reason };
    this.#stopped.reject(reason);
    void this.#session.cancel();
  }

  /** For a commit without a reply: it cannot be undone, only waited for no longer. */
  giveUpCommit(reason: unknown): void {
    this.#stop ??= { reason };
    this.#stopped.reject(reason);
    void this.#session.cancel();
  }

  get isStopped(): boolean {
    return this.#stop !== undefined;
  }

  /** Commits after commands that were not awaited. Postgres replies ROLLBACK if one of them failed. */
  async commit(): Promise<void> {
    await this.whileHeld(this.settled());
    const committing = this.#session.run(scriptCommand('commit'));
    this.#last = committing.catch(() => undefined);
    const { tag } = await this.whileHeld(committing);
    if (tag === 'COMMIT') return;
    throw new SqlError(
      {
        message: 'A statement in the transaction failed, so the transaction was rolled back.',
        sqlState: '25P02',
      },
      this.#firstFailure,
    );
  }

  /** Accepts no more commands; resolves when none is running. */
  async settled(): Promise<void> {
    this.#hasEnded = true;
    await this.#last;
  }

  async #run(command: Command, signal: AbortSignal | undefined): Promise<CommandResult> {
    if (this.#hasEnded && !this.#stop) throw usedAfterEnd();
    const stopListening = onAbort(signal, (reason) => this.stop(reason));
    const result = this.#last.then(async () => {
      if (this.#stop) throw this.#stop.reason;
      const reply = await this.#session.run(command);
      if (!this.#session.isInTransaction) throw this.#session.lostBy ?? endedByScript();
      return reply;
    });
    this.#last = result.catch((error: unknown) => (this.#firstFailure ??= error));
    try {
      return await this.whileHeld(result);
    } finally {
      stopListening();
    }
  }
}

function usedAfterEnd(): CoreError {
  return new CoreError(
    'INTERNAL',
    'A query was made in a transaction that has ended. Await every query before the transaction returns.',
  );
}

function endedByScript(): CoreError {
  return new CoreError(
    'INTERNAL',
    'A script ended the transaction that it ran in. Do not use BEGIN, COMMIT and ROLLBACK in it.',
  );
}

/** Raw SQL without parameters may have several statements, as pg-boss sends them: it runs as a script. */
export function queryCommand(query: Sql | RawSql, { isFrequent = false }: QueryOptions = {}): Command {
  const { text, values } = query instanceof Sql ? query.compile() : query;
  if (!(query instanceof Sql) && values.length === 0) return scriptCommand(text);
  return { kind: 'query', text, values: values.map(encodeParameter), isFrequent };
}
