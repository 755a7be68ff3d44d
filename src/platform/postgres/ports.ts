// The port to Postgres. Adapters: embedded (PGlite in a worker thread) and server (pg). One contract suite runs on both.
import type { RawSql, Sql } from './sql.ts';

export interface QueryOptions {
  /**
   * Gives up waiting when it aborts. A server is told to cancel; the embedded store finishes the statement.
   * Inside a transaction the whole transaction is rolled back.
   */
  readonly signal?: AbortSignal;
  /**
   * The very same text comes again and again, with other parameters: a server then parses and plans it once for each
   * connection. For statements whose best plan does not depend on the parameters. Scripts are never kept.
   */
  readonly isFrequent?: boolean;
}

export interface QueryResult<Row> {
  readonly rows: readonly Row[];
  /** Rows inserted, updated or deleted. */
  readonly affected: number;
}

/**
 * Column types arrive alike from both adapters: int8 as number (bigint past 2^53), numeric as string,
 * timestamptz as Date, timestamp, date, time and interval as string, json and jsonb parsed, bytea as Uint8Array.
 */
export interface Queryable {
  /**
   * One statement. Raw SQL without values may hold several: rows and counts of all come together. Fails with a
   * SqlError when the statement is wrong, STATE_UNAVAILABLE when the store is away, DEADLINE_EXCEEDED when it was stopped.
   */
  query<Row extends object>(query: Sql | RawSql, options?: QueryOptions): Promise<QueryResult<Row>>;
  /** Several statements without parameters, as in a migration file. Not atomic unless in a transaction. */
  script(text: string, options?: QueryOptions): Promise<void>;
}

/** One transaction. Everything inside uses this object: the root database would wait for itself. */
export interface Transaction extends Queryable {
  /** Sent to listeners when, and only if, the transaction commits. */
  notify(channel: string, payload: string): Promise<void>;
}

export interface TransactionOptions extends QueryOptions {
  /**
   * Rolled back with STATE_LEASE_EXPIRED when it takes longer. Its commit is waited for as long once more; then it fails
   * with STATE_UNAVAILABLE, and may have been kept. Default 30 s.
   */
  readonly leaseMs?: number;
}

/** Whether an optional part is there; if not, why, and what would help. */
export type Capability =
  | { readonly available: true; readonly version: string }
  | { readonly available: false; readonly reason: string; readonly remedy: string };

export interface DatabaseCapabilities {
  readonly kind: 'embedded' | 'server';
  readonly version: string;
  /** Does the store itself stop a statement that takes too long? Embedded: no; bound the work with LIMIT. */
  readonly statementTimeout: boolean;
  /** Can other processes reach the same data? Then notifications reach them too. */
  readonly isShared: boolean;
  readonly vector: Capability;
  readonly trigram: Capability;
}

export type DatabaseState = 'up' | 'down' | 'closed';

export interface Database extends Queryable {
  readonly capabilities: DatabaseCapabilities;
  /** The schema that holds our tables; it is first in the search path. */
  readonly schema: string;
  readonly state: DatabaseState;
  /**
   * Runs `work` in a transaction that nothing else can interleave with; commits when it resolves, rolls back when
   * it rejects. A query on the root database inside `work` fails with STATE_NESTED_QUERY instead of deadlocking.
   */
  transaction<T>(work: (transaction: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>;
  notify(channel: string, payload: string): Promise<void>;
  /** Calls back for every notification until the returned function is called; subscribes again after a reconnect. */
  listen(channel: string, onPayload: (payload: string) => void): Promise<() => Promise<void>>;
  /** One round trip. Fails with STATE_UNAVAILABLE when the store is away. */
  ping(signal?: AbortSignal): Promise<void>;
  /** Calls back when the store goes away or comes back. */
  onStateChange(listener: (state: DatabaseState) => void): () => void;
  /** Finishes what runs, refuses what comes, lets go of the store. Safe to call twice. */
  close(): Promise<void>;
}
