// Who listens to which channel in this process. The store is told of the first listener and of the last.
import type { Command, Store } from './store.ts';

type Listener = (payload: string) => void;
type Run = (command: Command) => Promise<unknown>;

export class Subscriptions {
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #onListenerError: (error: unknown) => void;
  /** Subscribing and unsubscribing go one after the other, else the store could end up with the older wish. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(onListenerError: (error: unknown) => void) {
    this.#onListenerError = onListenerError;
  }

  /** Channels that a store which lost its session must be told of again. */
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

  /** Resolves when the store has been told; the returned function ends it. */
  async add(channel: string, onPayload: Listener, store: Store, run: Run): Promise<() => Promise<void>> {
    // A function of our own, so that the same callback can listen twice.
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
