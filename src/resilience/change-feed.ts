// How processes that share a store tell each other that something changed.

export interface ChangeFeed<Topic extends string> {
  /** Can other processes change the same data? If not, there is nothing to look at now and then. */
  readonly isShared: boolean;
  /**
   * Calls back with a topic when some process (this one too) changed it, and with `everything` when the store is
   * back after it was away: nobody knows what was missed. The returned function ends it. Fails with
   * STATE_UNAVAILABLE.
   */
  watch(onChange: (topic: Topic | 'everything') => void): Promise<() => Promise<void>>;
}

/** For stores in memory. */
export class MemoryChangeFeed<Topic extends string> implements ChangeFeed<Topic> {
  readonly isShared = true;
  readonly #watchers = new Set<(topic: Topic | 'everything') => void>();

  tell(topic: Topic | 'everything'): void {
    for (const watcher of this.#watchers) watcher(topic);
  }

  async watch(onChange: (topic: Topic | 'everything') => void): Promise<() => Promise<void>> {
    this.#watchers.add(onChange);
    return async () => void this.#watchers.delete(onChange);
  }
}
