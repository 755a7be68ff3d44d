// The graph in Apache AGE, in the same database as the tables: nodes Entity and Event, edges ACTED_IN, ABOUT and
// POSSIBLY_SAME, in the graph `nur`.
import type { Clock } from '../../../core/index.ts';
import { kindOf, messageOf } from '../../../core/index.ts';
import type {
  Database,
  Queryable,
  Transaction,
  TransactionOptions,
} from '../../../platform/postgres/ports.ts';
import { hasSqlState, sql } from '../../../platform/postgres/sql.ts';
import { KnowledgeError } from '../../errors.ts';
import type { KnowledgeOptions } from '../../options.ts';
import type {
  ExpansionRequest,
  Graph,
  GraphAvailability,
  GraphFailure,
  GraphBatch,
  RebuildResult,
  RelatedEvent,
} from '../graph.ts';
import { assertAvailable } from '../graph.ts';
import type { GraphWriter } from '../write-batch.ts';
import { writeBatch } from '../write-batch.ts';
import type { GraphName } from './age-statements.ts';
import {
  allIds,
  anyEntity,
  checkEdges,
  createGraph,
  dropGraph,
  existingIds,
  expandInAge,
  graphExists,
  ownerOfGraph,
  readProgress,
  removeNodes,
  swapGraphs,
  writeProgress,
  writeStatements,
} from './age-statements.ts';

export interface AgeGraphDeps {
  readonly database: Database;
  readonly clock: Clock;
  readonly options: Pick<KnowledgeOptions, 'graphUpsertTimeoutMs' | 'cooldownSeconds'>;
}

export class AgeGraph implements Graph {
  readonly backend = 'age';
  readonly isSeparateStore = true;
  readonly #deps: AgeGraphDeps;
  readonly #session: AgeSession;
  #probed: { readonly at: number; readonly state: GraphAvailability } | undefined;

  constructor(deps: AgeGraphDeps) {
    this.#deps = deps;
    this.#session = new AgeSession(deps.database);
  }

  async availability(): Promise<GraphAvailability> {
    const { clock, options } = this.#deps;
    const now = clock.monotonic();
    if (this.#probed && now - this.#probed.at < options.cooldownSeconds * 1_000) return this.#probed.state;
    const state = await this.#probe();
    this.#probed = { at: now, state };
    return state;
  }

  resetCooldown(): void {
    this.#probed = undefined;
  }

  async isEmpty(signal: AbortSignal): Promise<boolean> {
    const { rows } = await this.#run((age) => age.query(anyEntity()), signal);
    return rows.length === 0;
  }

  async missing(spaceId: number, eventIds: readonly string[], signal: AbortSignal): Promise<number> {
    if (eventIds.length === 0) return 0;
    const { rows } = await this.#run((age) => age.query(existingIds(sql`Event`, eventIds, spaceId)), signal);
    return eventIds.length - rows.length;
  }

  async upsert(part: GraphBatch, signal: AbortSignal): Promise<readonly GraphFailure[]> {
    assertAvailable(await this.availability());
    return this.#write('live', part, signal);
  }

  async remove(
    spaceId: number,
    { entityIds, eventIds }: { readonly entityIds: readonly string[]; readonly eventIds: readonly string[] },
    signal: AbortSignal,
  ): Promise<void> {
    await this.#run(async (age) => {
      if (entityIds.length > 0) await age.query(removeNodes(sql`Entity`, entityIds, spaceId));
      if (eventIds.length > 0) await age.query(removeNodes(sql`Event`, eventIds, spaceId));
    }, signal);
  }

  async prune(spaceId: number, signal: AbortSignal): Promise<void> {
    const { database } = this.#deps;
    const [entities, events] = await this.#run(
      async (age) => [
        (await age.query<{ id: string }>(allIds(sql`Entity`, spaceId))).rows.map(({ id }) => id),
        (await age.query<{ id: string }>(allIds(sql`Event`, spaceId))).rows.map(({ id }) => id),
      ],
      signal,
    );
    const kept = await database.query<{ id: string }>(sql`
      select entity_id as id from entity
      where entity_id = any(${entities}::uuid[]) and space_id = ${spaceId} and merged_into is null
      union all
      select event_id from semantic_event
      where event_id = any(${events}::uuid[]) and space_id = ${spaceId} and superseded_at is null`);
    const isKept = new Set(kept.rows.map(({ id }) => id));
    const goneOf = (ids: readonly string[] = []) => ids.filter((id) => !isKept.has(id));
    await this.remove(spaceId, { entityIds: goneOf(entities), eventIds: goneOf(events) }, signal);
  }

  async expand(request: ExpansionRequest, signal: AbortSignal): Promise<readonly RelatedEvent[]> {
    if (request.seedEventIds.length === 0 || request.budget === 0) return [];
    return this.#run((age) => expandInAge(age, request), signal);
  }

  /**
   * Builds a second graph batch by batch and swaps at the end. Fails and keeps the old graph when anything could not be
   * written: an incomplete graph is worse than an old one.
   */
  async rebuild(...[batches, progress, signal]: Parameters<Graph['rebuild']>): Promise<RebuildResult> {
    assertAvailable(await this.availability());
    const { database, clock } = this.#deps;
    const session = this.#session;
    const { since, position } = await session.run(async (age) => {
      if (!(await graphExists(age, 'rebuild')))
        await createGraph(age, 'rebuild', database.schema, new Date(clock.now()));
      return readProgress(age);
    }, signal);
    const done = { entities: 0, events: 0 };
    for await (const batch of batches(position)) {
      signal.throwIfAborted();
      const failures = await this.#write('rebuild', batch, signal);
      if (failures.length > 0) {
        await session.run((age) => dropGraph(age, 'rebuild'), undefined, { isExclusive: true });
        throw incomplete(failures);
      }
      await session.run((age) => writeProgress(age, batch.position), signal);
      done.entities += batch.entities.length;
      done.events += batch.events.length;
      progress({ ...done });
    }
    await session.run((age) => swapGraphs(age), signal, { leaseMs: maxSwapMs, isExclusive: true });
    return { ...done, since };
  }

  #write(graph: GraphName, part: GraphBatch, signal: AbortSignal): Promise<readonly GraphFailure[]> {
    const { clock, options } = this.#deps;
    const limits = { clock, timeoutMs: options.graphUpsertTimeoutMs };
    return writeBatch(this.#writerOf(graph), part, limits, signal);
  }

  #writerOf(graph: GraphName): GraphWriter {
    return (what, space, items, signal) =>
      this.#session.run(async (age) => {
        const parameters = { space, items: items.map((item, place) => ({ ...plain(item), place })) };
        const written = await age.query<{ place: string }>(writeStatements[what](graph, parameters));
        const isNode = what === 'entity' || what === 'event';
        const there = isNode
          ? written
          : await age.query<{ place: string }>(checkEdges(what, graph, parameters));
        const places = new Set(there.rows.map(({ place }) => Number(place)));
        return items.flatMap((_, place) => (places.has(place) ? [] : [place]));
      }, signal);
  }

  async #probe(): Promise<GraphAvailability> {
    try {
      const state = await this.#session.prepare();
      return state.state === 'available' ? await this.#ensureGraph() : state;
    } catch (error) {
      if (kindOf(error).startsWith('STATE_')) throw error;
      return {
        state: 'unavailable',
        reason: `Apache AGE cannot be used: ${messageOf(error)}.`,
        remedy: 'See the log of Postgres, or set GRAPH_BACKEND=sql.',
      };
    }
  }

  async #ensureGraph(): Promise<GraphAvailability> {
    const { database, clock } = this.#deps;
    const { schema } = database;
    const owner = await this.#session.run(async (age) => {
      // Two servers that start together create it once.
      await age.query(sql`select pg_advisory_xact_lock(hashtext('headworks graph nur'))`);
      if (!(await graphExists(age, 'live'))) await createGraph(age, 'live', schema, new Date(clock.now()));
      return ownerOfGraph(age);
    });
    if (owner === schema) return { state: 'available' };
    return {
      state: 'unavailable',
      reason: `The graph "nur" of this database belongs to ${owner === null ? 'another application' : `the schema ${owner}`}.`,
      remedy: 'Use a database of its own with GRAPH_BACKEND=age, or set GRAPH_BACKEND=sql.',
    };
  }

  /** An error may mean that the graph is gone: availability is checked again before the next use. */
  async #run<T>(work: (age: Queryable) => Promise<T>, signal: AbortSignal): Promise<T> {
    assertAvailable(await this.availability());
    try {
      return await this.#session.run(work, signal);
    } catch (error) {
      if (!signal.aborted) this.#probed = undefined;
      throw error;
    }
  }
}

/** AGE has no date type. */
function plain(item: object): object {
  const { eventTime, ...rest } = item as { readonly eventTime?: Date | null };
  return eventTime === undefined ? rest : { ...rest, time: eventTime?.toISOString() ?? null };
}

/** Dropping a large graph takes a while. */
const maxSwapMs = 600_000;

function incomplete(failures: readonly GraphFailure[]): KnowledgeError {
  const [first] = failures;
  return new KnowledgeError(
    'KNOWLEDGE_GRAPH_UNAVAILABLE',
    `The graph was not rebuilt: ${failures.length} nodes or edges could not be written, the first a ${first?.what} (${first?.cause}). The previous graph is still in use.`,
    { isRetryable: true, details: { failures: failures.length } },
  );
}

// A transaction that can run Cypher. AGE needs its library loaded and its schema on the search path; both end with the
// transaction or are harmless, because connections are shared.

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
