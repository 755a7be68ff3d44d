// Change notifications through LISTEN and NOTIFY.
import { systemClock, systemIds, withTimeout } from '../../core/index.ts';
import type { Database } from './ports.ts';

export class ChangeFeed<Topic extends string> {
  readonly #database: Database;
  readonly #channel: string;
  readonly #topics: ReadonlySet<string>;
  /** False for an embedded store that no other process uses. */
  readonly isShared: boolean;

  /**
   * A channel belongs to the whole database, so its name should include the schema. `isServed`: other processes use the
   * store through this one.
   */
  constructor(database: Database, channel: string, topics: readonly Topic[], isServed = false) {
    this.#database = database;
    this.#channel = channel;
    this.#topics = new Set(topics);
    this.isShared = isServed || database.capabilities.isShared;
  }

  /** Calls back with `everything` when the store is available again after an outage. */
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
      // A newer version may send topics that are unknown here.
      if (this.#topics.has(payload)) onChange(payload as Topic);
    });
  }
}

/** A notification arrives milliseconds after the commit. */
const timeoutMs = 2_000;

export const poolerRemedy =
  'Point DATABASE_URL to the server itself, or to a connection pooler in session mode (PgBouncer: pool_mode = session).';

/** Sends a notification to itself. False behind a pooler in transaction mode. */
export async function checkNotifyRoundTrip(database: Database): Promise<boolean> {
  const channel = `headworks_notify_check_${systemIds.uuid().replaceAll('-', '')}`;
  const { promise: received, resolve } = Promise.withResolvers<boolean>();
  const unlisten = await database.listen(channel, () => resolve(true));
  try {
    await database.notify(channel, '');
    return await withTimeout(received, { clock: systemClock, timeoutMs }).catch(() => false);
  } finally {
    await unlisten();
  }
}
