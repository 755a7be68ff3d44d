// What a driver provides: sessions that run one command at a time. Everything above is shared by both drivers.
import type { DatabaseState } from './ports.ts';

/** `query` is one statement with parameters; `script` any number of statements without. */
export type Command =
  | {
      readonly kind: 'query';
      readonly text: string;
      readonly values: readonly (string | null)[];
      readonly isFrequent: boolean;
    }
  | { readonly kind: 'script'; readonly text: string };

export interface CommandResult {
  /** Of all statements together. */
  readonly rows: readonly object[];
  readonly affected: number;
  /** The last statement's command tag: SELECT, COMMIT, … */
  readonly tag: string;
}

export interface Session {
  /** Fails with a SqlError (the statement failed) or a CoreError (the store is unavailable). */
  run(command: Command): Promise<CommandResult>;
  /** Whether a transaction block is open. Undefined once the session is lost. */
  readonly inTransaction: boolean;
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
  /** Starts notifications of the channel; `run` runs a command as any caller would. */
  subscribe(channel: string, run: (command: Command) => Promise<unknown>): Promise<void>;
  unsubscribe(channel: string, run: (command: Command) => Promise<unknown>): Promise<void>;
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
      if (listeners.size === 0) await store.subscribe(channel, run);
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
      await store.unsubscribe(channel, run);
    });
  }

  #inOrder(work: () => Promise<void>): Promise<void> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
