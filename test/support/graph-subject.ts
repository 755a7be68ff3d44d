// A graph backed by tables for the contract suite: rows are written as ingest writes them, then upserted.
import { GraphSource } from '../../src/knowledge/graph/graph-source.ts';
import type { Graph, GraphBatch } from '../../src/knowledge/index.ts';
import { sql } from '../../src/platform/postgres/index.ts';
import type { KnowledgeWorld } from './knowledge-world.ts';
import type { GraphSubject, NewEvent } from './knowledge/graph.contract.ts';

export function graphSubject(world: KnowledgeWorld, graph: Graph): GraphSubject {
  const { database, ids } = world;
  const source = new GraphSource(database);
  const { signal } = new AbortController();
  let last: GraphBatch | undefined;

  async function entityId(spaceId: number, name: string): Promise<string> {
    const { rows } = await database.query<{ id: string }>(sql`
      select entity_id as id from entity where space_id = ${spaceId} and canonical_name = ${name}`);
    if (rows[0]) return rows[0].id;
    const id = ids.uuid();
    await database.query(sql`
      insert into entity (entity_id, space_id, entity_type, canonical_name, normalized_name, created_at, updated_at)
      values (${id}, ${spaceId}, 'person', ${name}, ${name}, now(), now())`);
    return id;
  }

  async function writeEvent(
    spaceId: number,
    place: { readonly artifactUid: string; readonly revisionId: string; readonly chunkId: number },
    { actors = [], subjects = [], category = 'Decision' }: NewEvent,
  ): Promise<{ readonly eventId: string; readonly entityIds: readonly string[] }> {
    const eventId = ids.uuid();
    await database.query(sql`
      insert into semantic_event (event_id, space_id, artifact_uid, revision_id, chunk_id, category, narrative, confidence,
        method, created_at)
      values (${eventId}, ${spaceId}, ${place.artifactUid}, ${place.revisionId}, ${place.chunkId}, ${category},
        'It happened.', 0.5, 'rules', now())`);
    const entityIds: string[] = [];
    for (const name of actors) {
      const id = await entityId(spaceId, name);
      entityIds.push(id);
      await database.query(sql`
        insert into event_actor (event_id, entity_id, resolved_id, space_id, role)
        values (${eventId}, ${id}, ${id}, ${spaceId}, 'owner')`);
    }
    for (const name of subjects) {
      const id = await entityId(spaceId, name);
      entityIds.push(id);
      await database.query(sql`
        insert into event_subject (event_id, entity_id, resolved_id, space_id)
        values (${eventId}, ${id}, ${id}, ${spaceId})`);
    }
    return { eventId, entityIds };
  }

  return {
    graph,
    space: async () => (await world.space()).spaceId,
    addEvents: async (spaceId, events) => {
      const space = await world.spaces.get(spaceId);
      if (!space) throw new Error('There is no such space.');
      const { artifactUid, revisionId, stored } = await world.accept(space, { text: 'It happened.' });
      const place = { artifactUid, revisionId, chunkId: stored[0]?.chunkId ?? 0 };
      const written = [];
      for (const event of events) written.push(await writeEvent(spaceId, place, event));
      last = await source.entityBatch(spaceId, [...new Set(written.flatMap(({ entityIds }) => entityIds))]);
      const failures = await graph.upsert(last, signal);
      if (failures.length > 0) throw new Error(`Not everything got in: ${JSON.stringify(failures)}`);
      return written.map(({ eventId }) => eventId);
    },
    lastPart: () => {
      if (!last) throw new Error('Nothing was written yet.');
      return last;
    },
    entityId,
    supersede: async (eventIds) =>
      void (await database.query(
        sql`update semantic_event set superseded_at = now() where event_id = any(${eventIds}::uuid[])`,
      )),
    deleteRows: async (eventIds) =>
      void (await database.query(sql`delete from semantic_event where event_id = any(${eventIds}::uuid[])`)),
    removeSpace: (spaceId) => world.spaces.delete({ spaceId, name: '' }),
    all: (after) => source.all(after),
  };
}
