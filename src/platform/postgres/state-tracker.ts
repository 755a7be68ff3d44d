// Whether the store is up, and who wants to know when that changes.
import type { DatabaseState } from './ports.ts';

export class StateTracker {
  #state: DatabaseState = 'up';
  readonly #listeners = new Set<(state: DatabaseState) => void>();

  get state(): DatabaseState {
    return this.#state;
  }

  /** Closed is for ever. */
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
