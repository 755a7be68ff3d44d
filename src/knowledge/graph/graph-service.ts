// Graph status, rebuild requests, and the neighborhood of an entity.
import type { JobQueue } from '../../core/index.ts';
import { CoreError, isUuid } from '../../core/index.ts';
import type { Database } from '../../platform/postgres/ports.ts';
import { sql } from '../../platform/postgres/sql.ts';
import { openPairs, pairsOf } from '../entities/pair-store.ts';
import type { Space } from '../spaces/spaces.ts';
import { graphRebuildJob, graphRebuildKey } from './graph-sync.ts';
import type { Graph, GraphAvailability, GraphBackend } from './graph.ts';
import { assertAvailable } from './graph.ts';

export interface GraphServiceDeps {
  readonly graph: Graph;
  readonly database: Database;
  readonly jobs: Pick<JobQueue, 'enqueue'>;
}

export interface GraphNeighborhood {
  readonly nodes: readonly {
    readonly id: string;
    readonly kind: 'entity' | 'event';
    readonly label: string;
    readonly type: string;
  }[];
  readonly edges: readonly {
    readonly from: string;
    readonly to: string;
    readonly kind: 'ACTED_IN' | 'ABOUT' | 'POSSIBLY_SAME';
    readonly role: string | null;
  }[];
}

export class GraphService {
  readonly #deps: GraphServiceDeps;

  constructor(deps: GraphServiceDeps) {
    this.#deps = deps;
  }

  /** The job; null when one is queued or running. Fails with CONFLICT when it is off, or KNOWLEDGE_GRAPH_UNAVAILABLE. */
  async requestRebuild(): Promise<string | null> {
    const { graph, jobs } = this.#deps;
    assertNotOff(graph);
    assertAvailable(await graph.availability(new AbortController().signal));
    return jobs.enqueue(graphRebuildJob, {}, { key: graphRebuildKey });
  }

  async status(): Promise<{
    readonly backend: GraphBackend;
    readonly state: GraphAvailability['state'];
    readonly detail: string | null;
  }> {
    const { graph } = this.#deps;
    const state = await graph.availability(new AbortController().signal);
    const detail = state.state === 'unavailable' ? `${state.reason} ${state.remedy}` : null;
    return { backend: graph.backend, state: state.state, detail };
  }

  /**
   * The entity (or its winner), its events, newest first, and their other participants, whatever the backend. Fails with
   * NOT_FOUND, or CONFLICT when the graph is off.
   */
  async around(
    { spaceId }: Pick<Space, 'spaceId'>,
    entityId: string,
    limit: number,
  ): Promise<GraphNeighborhood> {
    const { graph, database } = this.#deps;
    assertNotOff(graph);
    const center = isUuid(entityId) ? await this.#live(spaceId, entityId) : undefined;
    if (center === undefined) throw new CoreError('NOT_FOUND', `There is no entity ${entityId}.`);
    const { rows: events } = await database.query<GraphNeighborhood['nodes'][number]>(sql`
      select event_id as id, 'event' as kind, narrative as label, category as type from semantic_event e
      where e.space_id = ${spaceId} and e.superseded_at is null and event_id in (
        select event_id from event_actor where entity_id = ${center}::uuid
        union select event_id from event_subject where entity_id = ${center}::uuid)
      order by event_id desc limit ${limit}`);
    const eventIds = events.map(({ id }) => id);
    const { rows: edges } = await database.query<GraphNeighborhood['edges'][number]>(sql`
      select entity_id as "from", event_id as "to", 'ACTED_IN' as kind, role from event_actor
      where event_id = any(${eventIds}::uuid[]) and space_id = ${spaceId}
      union
      select event_id, entity_id, 'ABOUT', null from event_subject
      where event_id = any(${eventIds}::uuid[]) and space_id = ${spaceId}
      union all
      select live_a, live_b, 'POSSIBLY_SAME', null from (${openPairs(pairsOf(spaceId, [center]))}) p`);
    const ends = [...new Set([center, ...edges.flatMap(({ from, to }) => [from, to])])];
    const { rows: entities } = await database.query<GraphNeighborhood['nodes'][number]>(sql`
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
    const { rows } = await this.#deps.database.query<{ id: string }>(sql`
      select e.entity_id as id from knowledge_family(array[${entityId}::uuid]) f
        join entity e on e.entity_id = f.root and e.space_id = ${spaceId} limit 1`);
    return rows[0]?.id;
  }
}

function assertNotOff({ backend }: Graph): void {
  if (backend === 'off')
    throw new CoreError(
      'CONFLICT',
      'The graph is switched off (GRAPH_BACKEND=off). Set GRAPH_BACKEND to sql or age, start the server again, and repeat this.',
    );
}

/** Unmerged entities of all spaces that need review. */
export async function countNeedsReview(database: Database): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    sql`select count(*) from entity where needs_review and merged_into is null`,
  );
  return rows[0]?.count ?? 0;
}
