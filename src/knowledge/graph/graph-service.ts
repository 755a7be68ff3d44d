// Graph status, rebuild requests, and the neighborhood of an entity.
import type { JobQueue } from '../../core/index.ts';
import { CoreError, isUuid } from '../../core/index.ts';
import type { Database } from '../../platform/postgres/ports.ts';
import { sql } from '../../platform/postgres/sql.ts';
import type { GraphService } from '../types.ts';
import { openPairs, pairsOf } from '../entities/pair-store.ts';
import { KnowledgeError } from '../errors.ts';
import { graphRebuildJob, graphRebuildKey } from './graph-sync.ts';
import type { Graph } from './graph.ts';

export interface GraphServiceDeps {
  readonly graph: Graph;
  readonly view: GraphView;
  readonly jobs: Pick<JobQueue, 'enqueue'>;
}

export function openGraphService({ graph, view, jobs }: GraphServiceDeps): GraphService {
  return {
    requestRebuild: async () => {
      assertNotOff(graph);
      const state = await graph.availability(new AbortController().signal);
      if (state.state === 'unavailable')
        throw new KnowledgeError('KNOWLEDGE_GRAPH_UNAVAILABLE', `${state.reason} ${state.remedy}`);
      return jobs.enqueue(graphRebuildJob, {}, { key: graphRebuildKey });
    },
    status: async () => {
      const state = await graph.availability(new AbortController().signal);
      const detail = state.state === 'unavailable' ? `${state.reason} ${state.remedy}` : null;
      return { backend: graph.backend, state: state.state, detail };
    },
    around: async ({ spaceId }, entityId, limit) => {
      assertNotOff(graph);
      return view.around(spaceId, entityId, limit);
    },
  };
}

function assertNotOff({ backend }: Graph): void {
  if (backend === 'off')
    throw new CoreError(
      'CONFLICT',
      'The graph is switched off (GRAPH_BACKEND=off). Set GRAPH_BACKEND to sql or age, start the server again, and repeat this.',
    );
}

// The neighborhood of an entity from the tables, whatever the backend.

type Surroundings = Awaited<ReturnType<GraphService['around']>>;

export class GraphView {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The entity (or its winner), its events, newest first, and their other participants. Fails with NOT_FOUND. */
  async around(spaceId: number, entityId: string, limit: number): Promise<Surroundings> {
    const center = isUuid(entityId) ? await this.#live(spaceId, entityId) : undefined;
    if (center === undefined) throw new CoreError('NOT_FOUND', `There is no entity ${entityId}.`);
    const { rows: events } = await this.#database.query<Surroundings['nodes'][number]>(sql`
      select event_id as id, 'event' as kind, narrative as label, category as type from semantic_event e
      where e.space_id = ${spaceId} and e.superseded_at is null and event_id in (
        select event_id from event_actor where entity_id = ${center}::uuid
        union select event_id from event_subject where entity_id = ${center}::uuid)
      order by event_id desc limit ${limit}`);
    const eventIds = events.map(({ id }) => id);
    const { rows: edges } = await this.#database.query<Surroundings['edges'][number]>(sql`
      select entity_id as "from", event_id as "to", 'ACTED_IN' as kind, role from event_actor
      where event_id = any(${eventIds}::uuid[]) and space_id = ${spaceId}
      union
      select event_id, entity_id, 'ABOUT', null from event_subject
      where event_id = any(${eventIds}::uuid[]) and space_id = ${spaceId}
      union all
      select live_a, live_b, 'POSSIBLY_SAME', null from (${openPairs(pairsOf(spaceId, [center]))}) p`);
    const ends = [...new Set([center, ...edges.flatMap(({ from, to }) => [from, to])])];
    const { rows: entities } = await this.#database.query<Surroundings['nodes'][number]>(sql`
      select entity_id as id, 'entity' as kind, canonical_name as label, entity_type as type from entity
      where entity_id = any(${ends}::uuid[]) and space_id = ${spaceId} and merged_into is null
      order by entity_id = ${center}::uuid desc, canonical_name, entity_id`);
    const known = new Set([...entities, ...events].map(({ id }) => id));
    return {
      nodes: [...entities, ...events],
      edges: edges.filter(({ from, to }) => known.has(from) && known.has(to)),
    };
  }

  async #live(spaceId: number, entityId: string): Promise<string | undefined> {
    const { rows } = await this.#database.query<{ id: string }>(sql`
      select e.entity_id as id from knowledge_family(array[${entityId}::uuid]) f
        join entity e on e.entity_id = f.root and e.space_id = ${spaceId} limit 1`);
    return rows[0]?.id;
  }
}

/** Unmerged entities of all spaces that need review. */
export async function countNeedsReview(database: Database): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    sql`select count(*) from entity where needs_review and merged_into is null`,
  );
  return rows[0]?.count ?? 0;
}
