// Changes told by LISTEN and NOTIFY. An embedded store has one process: then there is nobody to listen to.
import type { Database } from '../../platform/postgres/ports.ts';
import type { ChangeFeed, GatewayTopic } from '../state/change-feed.ts';
import { changesChannel } from './changes-channel.ts';

const topics: ReadonlySet<string> = new Set<GatewayTopic>(['models', 'cooldowns', 'keys']);

export class PostgresChangeFeed implements ChangeFeed {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  get isShared(): boolean {
    return this.#database.capabilities.isShared;
  }

  async watch(onChange: (topic: GatewayTopic | 'everything') => void): Promise<() => Promise<void>> {
    const unlisten = this.isShared ? await this.#listen(onChange) : async () => undefined;
    const ignoreState = this.#database.onStateChange((state) => {
      if (state === 'up') onChange('everything');
    });
    return async () => {
      ignoreState();
      await unlisten();
    };
  }

  #listen(onChange: (topic: GatewayTopic) => void): Promise<() => Promise<void>> {
    return this.#database.listen(changesChannel(this.#database.schema), (payload) => {
      // A newer version may tell of things that this one does not know.
      if (topics.has(payload)) onChange(payload as GatewayTopic);
    });
  }
}
