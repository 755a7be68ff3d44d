// The graph in Apache AGE, in the same database as the tables: nodes Entity and Event, edges ACTED_IN, ABOUT and
// POSSIBLY_SAME, in the graph `nur`.
import type { Clock } from '../../../core/index.ts';
import { kindOf, messageOf } from '../../../core/index.ts';
import type { Database, Queryable } from '../../../platform/postgres/ports.ts';
import { json, sql } from '../../../platform/postgres/sql.ts';
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
import { isRelatable, maxPerEntity, rankRelated } from '../sql-graph.ts';
import type { GraphWriter } from '../write-batch.ts';
import { writeBatch } from '../write-batch.ts';
import { AgeSession } from './age-session.ts';
import type { GraphName } from './age-statements.ts';
import {
  checkStatements,
  createGraph,
  dropGraph,
  graphExists,
  ownerOfGraph,
  readProgress,
  readStatements,
  removeStatements,
  swapGraphs,
  textOf,
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
    const { rows } = await this.#run((age) => age.query(readStatements.anyNode()), signal);
    return rows.length === 0;
  }

  async missing(spaceId: number, eventIds: readonly string[], signal: AbortSignal): Promise<number> {
    if (eventIds.length === 0) return 0;
    const { rows } = await this.#run(
      (age) => age.query(readStatements.events({ ids: eventIds, space: spaceId })),
      signal,
    );
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
      if (entityIds.length > 0)
        await age.query(removeStatements.entities({ ids: entityIds, space: spaceId }));
      if (eventIds.length > 0) await age.query(removeStatements.events({ ids: eventIds, space: spaceId }));
    }, signal);
  }

  async prune(spaceId: number, signal: AbortSignal): Promise<void> {
    const space = { space: spaceId };
    const { database } = this.#deps;
    const [entities, events] = await this.#run(
      async (age) => [
        (await age.query<{ id: string }>(readStatements.entityIds(space))).rows.map(({ id }) => id),
        (await age.query<{ id: string }>(readStatements.eventIds(space))).rows.map(({ id }) => id),
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
      if (!(await graphExists(age, 'beside')))
        await createGraph(age, 'beside', database.schema, new Date(clock.now()));
      return readProgress(age);
    }, signal);
    const done = { entities: 0, events: 0 };
    for await (const batch of batches(position)) {
      signal.throwIfAborted();
      const failures = await this.#write('beside', batch, signal);
      if (failures.length > 0) {
        await session.run((age) => dropGraph(age, 'beside'), undefined, { isExclusive: true });
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
        const check = what in checkStatements ? checkStatements[what as keyof typeof checkStatements] : null;
        const there = check ? await age.query<{ place: string }>(check(graph, parameters)) : written;
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

// Expansion in Cypher: the participants of the seeds, then their other events. Ranked as in all backends.

async function expandInAge(age: Queryable, request: ExpansionRequest): Promise<readonly RelatedEvent[]> {
  const { spaceId, seedEventIds } = request;
  const seeds = json({ seeds: seedEventIds, space: spaceId });
  const { rows: via } = await age.query<{ id: string; acts: boolean; isSubject: boolean }>(sql`
    select ${textOf(sql`id`)} as id, bool_or(acts) as acts, bool_or(not acts) as "isSubject"
    from (
      select id, true as acts from cypher('nur', $$
        UNWIND $seeds AS seed
        MATCH (s:Event {id: seed, space: $space})<-[:ACTED_IN]-(a:Entity)
        RETURN a.id $$, ${seeds}) as (id agtype)
      union all
      select id, false from cypher('nur', $$
        UNWIND $seeds AS seed
        MATCH (s:Event {id: seed, space: $space})-[:ABOUT]->(a:Entity)
        RETURN a.id $$, ${seeds}) as (id agtype)) as part
    group by 1`);
  if (via.length === 0) return [];
  const parameters = json({ ids: via.map(({ id }) => id) });
  const { rows } = await age.query<RelatedEvent>(sql`
    with found as (
      select distinct ${textOf(sql`entity`)}::uuid as entity_id, ${textOf(sql`event`)}::uuid as event_id, kind
      from (
        select entity, event, 'same_actor:' as kind from cypher('nur', $$
          UNWIND $ids AS one
          MATCH (a:Entity {id: one})-[:ACTED_IN]->(e:Event)
          RETURN a.id, e.id $$, ${parameters}) as (entity agtype, event agtype)
        union all
        select entity, event, 'same_subject:' from cypher('nur', $$
          UNWIND $ids AS one
          MATCH (a:Entity {id: one})<-[:ABOUT]-(e:Event)
          RETURN a.id, e.id $$, ${parameters}) as (entity agtype, event agtype)) as part),
    newest as (
      select f.*, row_number() over (partition by f.entity_id, f.kind order by f.event_id desc) as place
      from found f join semantic_event e using (event_id) where ${isRelatable(request)}),
    near as (
      select n.entity_id, n.event_id, n.kind, case n.kind when 'same_actor:' then v.acts else v.is_subject end as is_same
      from newest n join unnest(${via.map(({ id }) => id)}::uuid[], ${via.map(({ acts }) => acts)}::boolean[],
        ${via.map(({ isSubject }) => isSubject)}::boolean[]) as v (entity_id, acts, is_subject) using (entity_id)
      where n.place <= ${maxPerEntity}),
    ${rankRelated(sql`near`, request)}`);
  return rows;
}
