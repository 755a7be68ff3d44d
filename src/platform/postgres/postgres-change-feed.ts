// Changes told by LISTEN and NOTIFY. An embedded store has one process: then there is nobody to listen to.
import type { Database } from './ports.ts';

export class PostgresChangeFeed<Topic extends string> {
  readonly #database: Database;
  readonly #channel: string;
  readonly #topics: ReadonlySet<string>;

  /** Channels belong to the whole database: name it after the schema. */
  constructor(database: Database, channel: string, topics: readonly Topic[]) {
    this.#database = database;
    this.#channel = channel;
    this.#topics = new Set(topics);
  }

  get isShared(): boolean {
    return this.#database.capabilities.isShared;
  }

  /** Calls back with `everything`, too, when the store is back after it was away. */
  async watch(onChange: (topic: Topic | 'everything') => void): Promise<() => Promise<void>> {
    const unlisten = this.isShared ? await this.#listen(onChange) : async () => undefined;
    const ignoreState = this.#database.onStateChange((state) => {
      if (state === 'up') onChange('everything');
    });
    return async () => {
      ignoreState();
      await unlisten();
    };
  }

  #listen(onChange: (topic: Topic) => void): Promise<() => Promise<void>> {
    return this.#database.listen(this.#channel, (payload) => {
      // A newer version may tell of things that this one does not know.
      if (this.#topics.has(payload)) onChange(payload as Topic);
    });
  }
}
