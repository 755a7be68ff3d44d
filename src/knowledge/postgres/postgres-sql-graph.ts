// The graph without a graph: events and entities are rows already, and their edges are event_actor and event_subject.
import type { Database } from '../../platform/postgres/ports.ts';
import { sql } from '../../platform/postgres/sql.ts';
import { countGraph } from './postgres-graph-source.ts';
import type { ExpansionRequest, Graph, RebuildResult, RelatedEvent } from '../ports.ts';
import { isRelatable, mostPerEntity, rankRelated } from './related-events.ts';

export class PostgresSqlGraph implements Graph {
  readonly backend = 'sql';
  readonly isApart = false;
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async availability(): ReturnType<Graph['availability']> {
    return { state: 'available' };
  }

  async isEmpty(): Promise<boolean> {
    return false;
  }

  /** The rows are there before anybody could put them in. */
  async upsert(): Promise<readonly []> {
    return [];
  }

  async remove(): Promise<void> {}

  async prune(): Promise<void> {}

  async expand(request: ExpansionRequest, signal: AbortSignal): Promise<readonly RelatedEvent[]> {
    const { spaceId, seedEventIds, budget } = request;
    if (seedEventIds.length === 0 || budget === 0) return [];
    const seeds = sql`${seedEventIds}::uuid[]`;
    const { rows } = await this.#database.query<RelatedEvent>(
      sql`
      with via as materialized (
        select entity_id, bool_or(acts) as acts, bool_or(not acts) as is_subject
        from (
          select entity_id, true as acts from event_actor where event_id = any(${seeds}) and space_id = ${spaceId}
          union all
          select entity_id, false from event_subject where event_id = any(${seeds}) and space_id = ${spaceId}) as part
        group by entity_id),
      near as materialized (
        select v.entity_id, near.event_id, 'same_actor:' as kind, v.acts as is_same
        from via v cross join lateral (
          select distinct a.event_id from event_actor a join semantic_event e using (event_id)
          where a.entity_id = v.entity_id and ${isRelatable(request)}
          order by a.event_id desc limit ${mostPerEntity}) as near
        union all
        select v.entity_id, near.event_id, 'same_subject:', v.is_subject
        from via v cross join lateral (
          select s.event_id from event_subject s join semantic_event e using (event_id)
          where s.entity_id = v.entity_id and ${isRelatable(request)}
          order by s.event_id desc limit ${mostPerEntity}) as near),
      ${rankRelated(sql`near`, request)}`,
      { signal },
    );
    return rows;
  }

  /** There is nothing to rebuild. */
  async rebuild(
    _parts: Parameters<Graph['rebuild']>[0],
    progress: Parameters<Graph['rebuild']>[1],
  ): Promise<RebuildResult> {
    const counts = await countGraph(this.#database);
    progress(counts);
    return { ...counts, since: null };
  }
}
