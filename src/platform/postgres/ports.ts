// The Database interface. Implemented on PGlite in a worker thread (embedded) and on pg (server); one contract suite runs on
// both.
import type { Shortage } from '../../core/errors.ts';
import type { RawSql, Sql } from './sql.ts';

export interface QueryOptions {
  /**
   * Stops waiting when it aborts. A server cancels the statement; the embedded store finishes it. Inside a transaction
   * the whole transaction is rolled back.
   */
  readonly signal?: AbortSignal;
  /**
   * Prepares the statement: a server parses and plans it once per connection. For frequent statements whose best plan
   * does not depend on the parameters.
   */
  readonly isFrequent?: boolean;
}

export interface QueryResult<Row> {
  readonly rows: readonly Row[];
  /** Rows inserted, updated or deleted. */
  readonly affected: number;
}

/**
 * Column types are the same from both: int8 as number (bigint past 2^53), numeric as string,
 * timestamptz as Date, timestamp, date, time and interval as string, json and jsonb parsed, bytea as Uint8Array.
 */
export interface Queryable {
  /**
   * One statement. Raw SQL without values may have several; rows and counts are combined. Fails with a
   * SqlError when the statement fails, STATE_UNAVAILABLE when the store is unavailable, DEADLINE_EXCEEDED when it was
   * stopped.
   */
  query<Row extends object>(query: Sql | RawSql, options?: QueryOptions): Promise<QueryResult<Row>>;
  /** Several statements without parameters, as in a migration file. Not atomic unless in a transaction. */
  script(text: string, options?: QueryOptions): Promise<void>;
}

/** One transaction. Everything inside uses this object: a query on the database itself would deadlock. */
export interface Transaction extends Queryable {
  /** Sent to listeners when, and only if, the transaction commits. */
  notify(channel: string, payload: string): Promise<void>;
}

export interface TransactionOptions extends QueryOptions {
  /**
   * Rolled back with STATE_LEASE_EXPIRED when it takes longer. The commit may take as long again; then it fails with
   * STATE_UNAVAILABLE, and may have been stored. Default 30 s.
   */
  readonly leaseMs?: number;
}

/** Whether an optional feature is available; if not, why, and how to get it. */
export type Capability =
  | { readonly available: true; readonly version: string }
  | { readonly available: false; readonly reason: string; readonly remedy: string };

export interface DatabaseCapabilities {
  readonly kind: 'embedded' | 'server';
  readonly version: string;
  /** Whether the store stops a statement that takes too long. Embedded: no; bound the work with LIMIT. */
  readonly hasStatementTimeout: boolean;
  /** Whether other processes share the data; notifications then reach them too. */
  readonly isShared: boolean;
  readonly vector: Capability;
  readonly trigram: Capability;
}

export type DatabaseState = 'up' | 'down' | 'closed';

export interface Database extends Queryable {
  readonly capabilities: DatabaseCapabilities;
  /** The schema of our tables, first in the search path. */
  readonly schema: string;
  readonly state: DatabaseState;
  /** The store responds but cannot write, because this is used up; null: it can. Its state is then `down`. */
  readonly shortage: Shortage | null;
  /**
   * Runs `work` in a transaction on its own session; commits when it resolves, rolls back when it rejects. A query on
   * the database inside `work` fails with STATE_NESTED_QUERY instead of deadlocking.
   */
  transaction<T>(work: (transaction: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>;
  notify(channel: string, payload: string): Promise<void>;
  /** Calls back for every notification until the returned function is called; resubscribes after a reconnect. */
  listen(channel: string, onPayload: (payload: string) => void): Promise<() => Promise<void>>;
  /** One round trip. Fails with STATE_UNAVAILABLE when the store is unavailable, or cannot write. */
  ping(signal?: AbortSignal): Promise<void>;
  /** Calls back when the store becomes unavailable or available. */
  onStateChange(listener: (state: DatabaseState) => void): () => void;
  /** Calls back when `shortage` changes. */
  onShortage(listener: (shortage: Shortage | null) => void): () => void;
  /** Waits for running work, rejects new work, closes the store. Safe to call twice. */
  close(): Promise<void>;
}
