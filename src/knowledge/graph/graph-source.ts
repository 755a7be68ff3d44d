import type { Database } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { sql } from '../../platform/postgres/sql.ts';
import { openPairs, pairsOf } from '../entities/pair-store.ts';
import type { EntityNode, EventNode, GraphBatch, RebuildBatch } from './graph.ts';

export interface ChangedSpace {
  readonly spaceId: number;
  readonly chunkIds: readonly number[];
  readonly entityIds: readonly string[];
}

export const emptyBatch = (spaceId: number): GraphBatch => ({
  spaceId,
  entities: [],
  events: [],
  actedIn: [],
  about: [],
  possiblySame: [],
});

// Reads nodes and edges from the tables: unmerged entities, events of latest revisions, their edges, open pairs.

/** Nodes per batch of a rebuild. */
const pageSize = 500;

type ActedIn = GraphBatch['actedIn'][number];
type About = GraphBatch['about'][number];
type PossiblySame = GraphBatch['possiblySame'][number];

export class GraphSource {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * The chunk's unmerged entities and events, the edges between them, and open pairs; null when there is no such chunk.
   * Structured mentions belong to chunk 0.
   */
  async chunkBatch(spaceId: number, chunkId: number): Promise<GraphBatch | null> {
    const { rows } = await this.#database.query<{
      entityIds: readonly string[];
      eventIds: readonly string[];
    }>(sql`
      select
        array(select distinct m.entity_id from entity_mention m
          where m.revision_id = c.revision_id and m.space_id = ${spaceId}
            and (m.chunk_id = c.chunk_id or (m.chunk_id is null and c.position = 0))) as "entityIds",
        array(select event_id from semantic_event e
          where e.chunk_id = c.chunk_id and e.space_id = ${spaceId} and e.superseded_at is null) as "eventIds"
      from chunk c where c.chunk_id = ${chunkId} and c.space_id = ${spaceId}`);
    const [own] = rows;
    return own ? this.#batch(spaceId, own.entityIds, own.eventIds) : null;
  }

  /** Those of these entities that are unmerged, with all their events. */
  async entityBatch(spaceId: number, entityIds: readonly string[]): Promise<GraphBatch> {
    const { rows } = await this.#database.query<{ eventId: string }>(sql`
      select event_id as "eventId" from event_actor
      where entity_id = any(${entityIds}::uuid[]) and space_id = ${spaceId}
      union
      select event_id from event_subject where entity_id = any(${entityIds}::uuid[]) and space_id = ${spaceId}`);
    return this.#batch(
      spaceId,
      entityIds,
      rows.map(({ eventId }) => eventId),
    );
  }

  /** Events of older revisions of these chunks' artifacts that are in the graph, and their chunks. */
  async superseded(
    spaceId: number,
    chunkIds: readonly number[],
  ): Promise<{ readonly chunkIds: readonly number[]; readonly eventIds: readonly string[] }> {
    const { rows } = await this.#database.query<{ chunkId: number; eventId: string | null }>(sql`
      select c.chunk_id as "chunkId", e.event_id as "eventId"
      from chunk c join chunk_step s on s.chunk_id = c.chunk_id and s.step = 'graph' and s.status = 'completed'
        left join semantic_event e on e.chunk_id = c.chunk_id
      where c.artifact_uid in (select artifact_uid from chunk where chunk_id = any(${chunkIds}::bigint[]))
        and c.space_id = ${spaceId}
        and not exists (select from artifact_revision r where r.revision_id = c.revision_id and r.is_latest)`);
    return {
      chunkIds: [...new Set(rows.map(({ chunkId }) => chunkId))],
      eventIds: rows.flatMap(({ eventId }) => (eventId === null ? [] : [eventId])),
    };
  }

  /** Everything in all spaces after a position: entities, then events with their edges, then pairs. */
  async *all(after: string | null): AsyncGenerator<RebuildBatch> {
    const [stage = 'entities', id = ''] = after === null ? [] : after.split(':');
    if (stage === 'entities')
      yield* this.#pages(
        'entities',
        id,
        (behind) =>
          this.#entityNodes(sql`entity_id > ${behind}::uuid`, sql`order by entity_id limit ${pageSize}`),
        ({ entityId }) => entityId,
        async (_spaceId, entities) => ({ entities }),
      );
    if (stage !== 'pairs')
      yield* this.#pages(
        'events',
        stage === 'events' ? id : '',
        (behind) =>
          this.#eventNodes(sql`event_id > ${behind}::uuid`, sql`order by event_id limit ${pageSize}`),
        ({ eventId }) => eventId,
        async (spaceId, events) => {
          const ids = events.map(({ eventId }) => eventId);
          return {
            events,
            actedIn: await this.#actedIn(spaceId, ids),
            about: await this.#about(spaceId, ids),
          };
        },
      );
    yield* this.#pages(
      'pairs',
      stage === 'pairs' ? id : '',
      (behind) =>
        this.#possiblySame(
          sql`select * from entity_pair where pair_id > ${behind}::uuid`,
          sql`order by p.pair_id limit ${pageSize}`,
        ),
      ({ pairId }) => pairId,
      async (_spaceId, possiblySame) => ({ possiblySame }),
    );
  }

  /** Number of nodes. */
  counts(): Promise<GraphCounts> {
    return countGraph(this.#database);
  }

  /** What was added to the graph, merged or split since then, by space. */
  async changedSince(since: Date): Promise<readonly ChangedSpace[]> {
    const { rows } = await this.#database.query<ChangedSpace>(sql`
      select k.space_id as "spaceId",
        (select coalesce(array_agg(s.chunk_id), '{}') from chunk_step s
          where s.space_id = k.space_id and s.step = 'graph' and s.status = 'completed' and s.updated_at >= ${since})
          as "chunkIds",
        (select coalesce(array_agg(distinct id), '{}') from entity_merge m, unnest(array[m.winner_id, m.loser_id]) as id
          where m.space_id = k.space_id and (m.merged_at >= ${since} or m.undone_at >= ${since})) as "entityIds"
      from knowledge_space k order by k.space_id`);
    return rows.filter(({ chunkIds, entityIds }) => chunkIds.length + entityIds.length > 0);
  }

  /** A few events of the space that have actors, for a test expansion. */
  async sampleEvents(spaceId: number, limit: number): Promise<readonly string[]> {
    const { rows } = await this.#database.query<{ id: string }>(sql`
      select e.event_id as id from semantic_event e
      where e.space_id = ${spaceId} and e.superseded_at is null
        and exists (select from event_actor a where a.event_id = e.event_id)
      order by e.event_id desc limit ${limit}`);
    return rows.map(({ id }) => id);
  }

  /** These events with their participants, and these entities. */
  async #batch(
    spaceId: number,
    entityIds: readonly string[],
    eventIds: readonly string[],
  ): Promise<GraphBatch> {
    const actedIn = await this.#actedIn(spaceId, eventIds);
    const about = await this.#about(spaceId, eventIds);
    const possiblySame = await this.#possiblySame(pairsOf(spaceId, entityIds));
    const all = new Set([
      ...entityIds,
      ...[...actedIn, ...about].map(({ entityId }) => entityId),
      ...possiblySame.flatMap(({ entityA, entityB }) => [entityA, entityB]),
    ]);
    return {
      spaceId,
      entities: await this.#entityNodes(
        sql`space_id = ${spaceId} and entity_id = any(${[...all]}::uuid[])`,
        sql``,
      ),
      events: await this.#eventNodes(
        sql`space_id = ${spaceId} and event_id = any(${eventIds}::uuid[])`,
        sql``,
      ),
      actedIn,
      about,
      possiblySame,
    };
  }

  async #entityNodes(condition: Sql, order: Sql): Promise<readonly (EntityNode & OfSpace)[]> {
    const { rows } = await this.#database.query<EntityNode & OfSpace>(sql`
      select entity_id as "entityId", canonical_name as name, entity_type as type, space_id as "spaceId"
      from entity where merged_into is null and ${condition} ${order}`);
    return rows;
  }

  async #eventNodes(condition: Sql, order: Sql): Promise<readonly (EventNode & OfSpace)[]> {
    const { rows } = await this.#database.query<EventNode & OfSpace>(sql`
      select event_id as "eventId", category, narrative, event_time as "eventTime", space_id as "spaceId"
      from semantic_event where superseded_at is null and ${condition} ${order}`);
    return rows;
  }

  async #actedIn(spaceId: number, eventIds: readonly string[]): Promise<readonly ActedIn[]> {
    const { rows } = await this.#database.query<ActedIn>(sql`
      select distinct entity_id as "entityId", event_id as "eventId", role from event_actor
        join semantic_event e using (event_id)
      where event_id = any(${eventIds}::uuid[]) and e.space_id = ${spaceId} and e.superseded_at is null`);
    return rows;
  }

  async #about(spaceId: number, eventIds: readonly string[]): Promise<readonly About[]> {
    const { rows } = await this.#database.query<About>(sql`
      select distinct event_id as "eventId", entity_id as "entityId" from event_subject
        join semantic_event e using (event_id)
      where event_id = any(${eventIds}::uuid[]) and e.space_id = ${spaceId} and e.superseded_at is null`);
    return rows;
  }

  /** Open pairs between unmerged entities. */
  async #possiblySame(chosen: Sql, order: Sql = sql``): Promise<readonly (PossiblySame & PairOfSpace)[]> {
    const { rows } = await this.#database.query<PossiblySame & PairOfSpace>(sql`
      select p.pair_id as "pairId", p.space_id as "spaceId", p.live_a as "entityA", p.live_b as "entityB",
        p.confidence, p.reason
      from (${openPairs(chosen)}) p ${order}`);
    return rows;
  }

  /** Pages of a stage, grouped by space. Only the last batch of a page advances the position. */
  async *#pages<Row extends OfSpace>(
    stage: string,
    from: string,
    read: (after: string) => Promise<readonly Row[]>,
    idOf: (row: Row) => string,
    fill: (spaceId: number, rows: readonly Row[]) => Promise<Partial<GraphBatch>>,
  ): AsyncGenerator<RebuildBatch> {
    for (let after = from; ;) {
      const rows = await read(after === '' ? lowest : after);
      const last = rows.at(-1);
      if (!last) return;
      const spaces = [...Map.groupBy(rows, ({ spaceId }) => spaceId)];
      for (const [index, [spaceId, own]] of spaces.entries()) {
        const isLast = index === spaces.length - 1;
        const part = await fill(spaceId, own);
        yield { ...emptyBatch(spaceId), ...part, position: `${stage}:${isLast ? idOf(last) : after}` };
      }
      after = idOf(last);
    }
  }
}

const lowest = '00000000-0000-0000-0000-000000000000';

interface OfSpace {
  readonly spaceId: number;
}

interface PairOfSpace extends OfSpace {
  readonly pairId: string;
}

export interface GraphCounts {
  readonly entities: number;
  readonly events: number;
}

/** Unmerged entities and current events of all spaces. */
export async function countGraph(database: Database): Promise<GraphCounts> {
  const { rows } = await database.query<GraphCounts>(sql`
    select (select count(*) from entity where merged_into is null) as entities,
      (select count(*) from semantic_event where superseded_at is null) as events`);
  return rows[0] ?? { entities: 0, events: 0 };
}
