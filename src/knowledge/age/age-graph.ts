// The graph in Apache AGE, in the same database as the tables: nodes Entity and Event, edges ACTED_IN, ABOUT and
// POSSIBLY_SAME, in the graph `nur`.
import type { Clock } from '../../core/index.ts';
import { kindOf, messageOf } from '../../core/index.ts';
import type { Database, Queryable } from '../../platform/postgres/ports.ts';
import { sql } from '../../platform/postgres/sql.ts';
import { KnowledgeError } from '../errors.ts';
import type { GraphWriter } from '../graph/write-part.ts';
import { writePart } from '../graph/write-part.ts';
import type { KnowledgeOptions } from '../options.ts';
import type {
  ExpansionRequest,
  Graph,
  GraphAvailability,
  GraphFailure,
  GraphPart,
  RelatedEvent,
} from '../ports.ts';
import { expandInAge } from './age-expansion.ts';
import { rebuildInAge } from './age-rebuild.ts';
import { createGraph, graphExists, ownerOfGraph } from './age-schema.ts';
import { AgeSession } from './age-session.ts';
import type { GraphName } from './age-statements.ts';
import { checkStatements, readStatements, removeStatements, writeStatements } from './age-statements.ts';

export interface AgeGraphParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly options: Pick<KnowledgeOptions, 'graphUpsertTimeoutMs' | 'cooldownSeconds'>;
}

export class AgeGraph implements Graph {
  readonly backend = 'age';
  readonly isApart = true;
  readonly #parts: AgeGraphParts;
  readonly #session: AgeSession;
  #seen: { readonly at: number; readonly state: GraphAvailability } | undefined;

  constructor(parts: AgeGraphParts) {
    this.#parts = parts;
    this.#session = new AgeSession(parts.database);
  }

  async availability(): Promise<GraphAvailability> {
    const { clock, options } = this.#parts;
    const now = clock.monotonic();
    if (this.#seen && now - this.#seen.at < options.cooldownSeconds * 1_000) return this.#seen.state;
    const state = await this.#look();
    this.#seen = { at: now, state };
    return state;
  }

  askAgain(): void {
    this.#seen = undefined;
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

  async upsert(part: GraphPart, signal: AbortSignal): Promise<readonly GraphFailure[]> {
    await this.#mustBeThere();
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
    const { database } = this.#parts;
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

  async rebuild(...[parts, progress, signal]: Parameters<Graph['rebuild']>): ReturnType<Graph['rebuild']> {
    await this.#mustBeThere();
    const { database, clock } = this.#parts;
    return rebuildInAge(
      {
        session: this.#session,
        owner: database.schema,
        now: () => new Date(clock.now()),
        write: (part) => this.#write('beside', part, signal),
      },
      parts,
      progress,
      signal,
    );
  }

  #write(graph: GraphName, part: GraphPart, signal: AbortSignal): Promise<readonly GraphFailure[]> {
    const { clock, options } = this.#parts;
    const limits = { clock, timeoutMs: options.graphUpsertTimeoutMs };
    return writePart(this.#writerOf(graph), part, limits, signal);
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

  async #look(): Promise<GraphAvailability> {
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
    const { database, clock } = this.#parts;
    const { schema } = database;
    const owner = await this.#session.run(async (age) => {
      // Two servers that start together make it once.
      await age.query(sql`select pg_advisory_xact_lock(hashtext('headworks graph nur'))`);
      if (!(await graphExists(age, 'live'))) await createGraph(age, 'live', schema, new Date(clock.now()));
      return ownerOfGraph(age);
    });
    if (owner === schema) return { state: 'available' };
    return {
      state: 'unavailable',
      reason: `The graph "nur" of this database belongs to ${owner === null ? 'somebody else' : `the schema ${owner}`}.`,
      remedy: 'Use a database of its own with GRAPH_BACKEND=age, or set GRAPH_BACKEND=sql.',
    };
  }

  async #mustBeThere(): Promise<void> {
    const state = await this.availability();
    if (state.state === 'unavailable')
      throw new KnowledgeError('KNOWLEDGE_GRAPH_UNAVAILABLE', `${state.reason} ${state.remedy}`);
  }

  /** A failure may mean that the graph has gone: it is looked at again before the next use. */
  async #run<T>(work: (age: Queryable) => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#mustBeThere();
    try {
      return await this.#session.run(work, signal);
    } catch (error) {
      if (!signal.aborted) this.#seen = undefined;
      throw error;
    }
  }
}

/** As a parameter: AGE has no dates. */
function plain(item: object): object {
  const { eventTime, ...rest } = item as { readonly eventTime?: Date | null };
  return eventTime === undefined ? rest : { ...rest, time: eventTime?.toISOString() ?? null };
}
