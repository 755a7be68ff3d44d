// A change feed of one process.
import type { ChangeFeed } from '../../../src/resilience/index.ts';

export class MemoryChangeFeed<Topic extends string> implements ChangeFeed<Topic> {
  readonly isShared = true;
  readonly #watchers = new Set<(topic: Topic | 'everything') => void>();

  notify(topic: Topic | 'everything'): void {
    for (const watcher of this.#watchers) watcher(topic);
  }

  async watch(onChange: (topic: Topic | 'everything') => void): Promise<() => Promise<void>> {
    this.#watchers.add(onChange);
    return async () => void this.#watchers.delete(onChange);
  }
}
