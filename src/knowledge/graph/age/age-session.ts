// A transaction that can run Cypher. AGE needs its library loaded and its schema on the search path; both end with the
// transaction or are harmless, because connections are shared.
import { messageOf } from '../../../core/index.ts';
import type { Database, Transaction, TransactionOptions } from '../../../platform/postgres/ports.ts';
import { hasSqlState, sql } from '../../../platform/postgres/sql.ts';
import type { GraphAvailability } from '../graph.ts';

export class AgeSession {
  readonly #database: Database;
  /** A role without the right to LOAD does not need it where the server preloads the library. */
  #mustLoad = true;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * AGE (1.6 on PostgreSQL 15) crashes the whole server when a graph is dropped while another session looks up its
   * labels. Therefore dropping and renaming is exclusive (`isExclusive`); everything else is shared.
   */
  run<T>(
    work: (transaction: Transaction) => Promise<T>,
    signal?: AbortSignal,
    {
      isExclusive = false,
      ...options
    }: Pick<TransactionOptions, 'leaseMs'> & { readonly isExclusive?: boolean } = {},
  ): Promise<T> {
    return this.#database.transaction(
      async (transaction) => {
        await transaction.query(
          isExclusive
            ? sql`select pg_advisory_xact_lock(hashtext('headworks graph nur in use'))`
            : sql`select pg_advisory_xact_lock_shared(hashtext('headworks graph nur in use'))`,
        );
        if (this.#mustLoad) await transaction.script(`load 'age'`);
        // Reading the table of graphs also makes this session process invalidations of graphs dropped while it waited.
        await transaction.query(sql`
          select set_config('search_path', current_setting('search_path') || ', ag_catalog', true),
            (select count(*) from ag_catalog.ag_graph)`);
        return work(transaction);
      },
      signal === undefined ? options : { ...options, signal },
    );
  }

  /** Creates the extension if permitted and finds out how it is loaded. Fails only when the state store is down. */
  async prepare(): Promise<GraphAvailability> {
    const missing = await this.#ensureExtension();
    if (missing) return missing;
    for (const mustLoad of [true, false]) {
      this.#mustLoad = mustLoad;
      try {
        await this.run((transaction) => transaction.query(sql`select count(*) from ag_catalog.ag_graph`));
        return { state: 'available' };
      } catch (error) {
        if (!hasSqlState(error, '42501') || !mustLoad) throw error;
      }
    }
    return { state: 'available' };
  }

  async #ensureExtension(): Promise<GraphAvailability | null> {
    const { rows } = await this.#database.query<{ installed: boolean; offered: boolean }>(sql`
      select exists (select from pg_extension where extname = 'age') as installed,
        exists (select from pg_available_extensions where name = 'age') as offered`);
    if (rows[0]?.installed) return null;
    if (!rows[0]?.offered) return this.#notOffered();
    try {
      await this.#database.query(sql`create extension if not exists age`);
      return null;
    } catch (error) {
      const why = hasSqlState(error, '42501') ? 'this role may not create it' : messageOf(error);
      return {
        state: 'unavailable',
        reason: `The extension age is not installed in this database, and ${why}.`,
        remedy: 'As a superuser: CREATE EXTENSION age; or set GRAPH_BACKEND=sql.',
      };
    }
  }

  #notOffered(): GraphAvailability {
    const isEmbedded = this.#database.capabilities.kind === 'embedded';
    return {
      state: 'unavailable',
      reason: isEmbedded
        ? 'The embedded store was opened without Apache AGE.'
        : 'The Postgres server does not have the extension age.',
      remedy: isEmbedded
        ? 'Install the package @electric-sql/pglite-age and start again, or set GRAPH_BACKEND=sql.'
        : 'Install Apache AGE on the server, or set GRAPH_BACKEND=sql, which needs no extension.',
    };
  }
}
