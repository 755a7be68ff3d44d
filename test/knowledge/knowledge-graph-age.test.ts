// The Apache AGE backend: the graph contract, workarounds for AGE, rebuilds, and databases without it.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { silentLog } from '../../src/core/index.ts';
import { AgeGraph, AgeSession } from '../../src/knowledge/graph/age/age-graph.ts';
import { writeStatements } from '../../src/knowledge/graph/age/age-statements.ts';
import { GraphSource } from '../../src/knowledge/graph/graph-source.ts';
import { GraphSync } from '../../src/knowledge/graph/graph-sync.ts';
import { graphRepairs } from '../../src/knowledge/maintenance/repairs.ts';
import type { LedgerEntry } from '../../src/ledger/index.ts';
import { sql } from '../../src/platform/postgres/index.ts';
import { entityWorld, eventOf } from '../support/entity-world.ts';
import { graphSubject } from '../support/graph-subject.ts';
import type { KnowledgeWorld } from '../support/knowledge-world.ts';
import { knowledgeWorld } from '../support/knowledge-world.ts';
import type { GraphSubject } from '../support/knowledge/graph.contract.ts';
import { graphContract } from '../support/knowledge/graph.contract.ts';

const { signal } = new AbortController();

describe('Apache AGE', () => {
  let world: KnowledgeWorld;
  let session: AgeSession;
  beforeAll(async () => {
    world = await knowledgeWorld('age');
    session = new AgeSession(world.database);
  });
  afterAll(() => world.dispose());

  const newGraph = () => new AgeGraph(world);
  graphContract('age', () => graphSubject(world, newGraph()));

  const edgesOf = async (spaceId: number) => {
    const { rows } = await session.run((age) =>
      age.query<{ kind: string; from: string; to: string; count: number }>(sql`
        select kind::text, "from"::text, "to"::text, count(*) from cypher('nur', $$
          MATCH (a)-[r]->(b) WHERE a.space = $space RETURN label(r), a.id, b.id
        $$, ${JSON.stringify({ space: spaceId })}) as (kind agtype, "from" agtype, "to" agtype) group by 1, 2, 3`),
    );
    return rows;
  };

  it('stores each edge once with both ends, however often it is written', async () => {
    const subject = graphSubject(world, newGraph());
    const spaceId = await subject.space();
    await subject.addEvents(spaceId, [{ actors: ['Ann', 'Bob'], subjects: ['Atlas'] }]);
    const part = subject.lastPart();
    const [a, b] = part.entities;
    const pair = {
      entityA: a?.entityId ?? '',
      entityB: b?.entityId ?? '',
      confidence: 0.4,
      reason: "it's so",
    };
    const whole = { ...part, actedIn: [...part.actedIn, ...part.actedIn], possiblySame: [pair] };
    for (let turn = 0; turn < 2; turn++) expect(await subject.graph.upsert(whole, signal)).toEqual([]);
    const edges = await edgesOf(spaceId);
    expect(edges.map(({ kind }) => kind).sort()).toEqual(['ABOUT', 'ACTED_IN', 'ACTED_IN', 'POSSIBLY_SAME']);
    expect(edges.every(({ count }) => count === 1)).toBe(true);
  });

  it('connects open pairs to the winner after a merge, and as before when it is undone', async () => {
    const at = entityWorld(world);
    const space = await world.space();
    const { ids } = await at.read(space, ['Robert Chen', 'Robert Chen Jr.'], [eventOf([0, 1])]);
    const { ids: more, place } = await at.read(space, ['R. Chen']);
    const [senior = '', junior = '', short = ''] = [...ids, ...more];
    const graph = newGraph();
    const source = new GraphSource(world.database);
    const graphSync = new GraphSync({ ...world, graph, source, log: silentLog });
    const pairs = async (...changed: string[]) => {
      expect(await graphSync.refresh(space.spaceId, changed, signal)).toBeNull();
      return (await edgesOf(space.spaceId))
        .filter(({ kind }) => kind === 'POSSIBLY_SAME')
        .map(({ from, to, count }) => `${[from, to].sort().join(' ')} ${count}`)
        .sort();
    };
    await graphSync.put(space.spaceId, [place.chunkId ?? 0], signal);
    const two = (...pair: string[]) => `${pair.sort().join(' ')} 1`;
    const before = [two(senior, junior), two(senior, short)].sort();
    expect(await pairs(senior, short)).toEqual(before);
    const merge = await at.service.merge(space, short, senior, 'it is him', 'admin');
    expect(await pairs(senior, short)).toEqual([two(short, junior)]);
    await at.service.unmerge(space, merge.mergeId);
    expect(await pairs(senior, short)).toEqual(before);
  });

  it('returns what could not be written and writes the rest', async () => {
    const subject = graphSubject(world, newGraph());
    const spaceId = await subject.space();
    await subject.addEvents(spaceId, [{ actors: ['Ann'] }]);
    const { actedIn } = subject.lastPart();
    const eventId = actedIn[0]?.eventId ?? '';
    const stray = { entityId: world.ids.uuid(), eventId, role: 'owner' };
    const failures = await subject.graph.upsert(
      {
        ...subject.lastPart(),
        actedIn: [...actedIn, stray, { ...actedIn[0], role: 'reviewer' } as typeof stray],
      },
      signal,
    );
    expect(failures).toEqual([
      { what: 'acted-in', id: `${stray.entityId} owner ${eventId}`, cause: 'NOT_WRITTEN' },
    ]);
    expect(await edgesOf(spaceId)).toMatchObject([{ kind: 'ACTED_IN', count: 2 }]);
  });

  it('continues when a Cypher statement fails, does not mark the step as done, and writes it after the repair', async () => {
    const subject = graphSubject(world, newGraph());
    const spaceId = await subject.space();
    await subject.addEvents(spaceId, [{ actors: ['Ann'] }]);
    const { graph } = subject;
    const [event] = subject.lastPart().events;
    const { rows } = await world.database.query<{ chunkId: number }>(sql`
      select chunk_id as "chunkId" from semantic_event where event_id = ${event?.eventId}::uuid`);
    const chunkId = rows[0]?.chunkId ?? 0;
    await graph.prune(spaceId, signal);
    await graph.remove(
      spaceId,
      {
        entityIds: subject.lastPart().entities.map(({ entityId }) => entityId),
        eventIds: [event?.eventId ?? ''],
      },
      signal,
    );
    const parts = { ...world, graph, source: new GraphSource(world.database), log: silentLog };
    const wrong = vi
      .spyOn(writeStatements, 'event')
      .mockImplementation(() => sql`select * from cypher('nur', $$ MARGE (n:Event) $$) as (place agtype)`);
    try {
      const [mark] = await new GraphSync(parts).put(spaceId, [chunkId], signal);
      expect(mark).toMatchObject({ chunkId, step: 'graph', status: 'failed' });
    } finally {
      wrong.mockRestore();
    }
    const row = world.recorded.find(({ subject: of }) => of === String(chunkId));
    expect(row).toMatchObject({ kind: 'knowledge.graph-failed', details: { space_id: spaceId, failed: 2 } });
    expect(await edgesOf(spaceId)).toEqual([]);
    const repair = graphRepairs(parts).find(({ kind }) => kind === row?.kind);
    expect(await repair?.repair(row as unknown as LedgerEntry, signal)).toEqual({ outcome: 'repaired' });
    expect(await edgesOf(spaceId)).toMatchObject([{ kind: 'ACTED_IN', count: 1 }]);
  });

  it('creates a missing graph and reports it as empty', async () => {
    const subject = graphSubject(world, newGraph());
    const spaceId = await subject.space();
    const [seed = '', other = ''] = await subject.addEvents(spaceId, [
      { actors: ['Ann'] },
      { actors: ['Ann'] },
    ]);
    await session.run((age) => age.query(sql`select drop_graph('nur', true)`));
    const graph = newGraph();
    expect(await graph.availability()).toEqual({ state: 'available' });
    expect(await graph.isEmpty(signal)).toBe(true);
    const rebuilt = await graph.rebuild(
      (after) => subject.all(after),
      () => undefined,
      signal,
    );
    expect(rebuilt.entities).toBeGreaterThan(0);
    expect(await graph.isEmpty(signal)).toBe(false);
    const found = await graph.expand({ spaceId, seedEventIds: [seed], budget: 5 }, signal);
    expect(found).toMatchObject([{ eventId: other }]);
  });

  it('continues an interrupted rebuild and keeps the old graph until it is complete', async () => {
    const subject = graphSubject(world, newGraph());
    const { graph } = subject;
    const spaceId = await subject.space();
    const [seed = '', other = ''] = await subject.addEvents(spaceId, [
      { actors: ['Ann'] },
      { actors: ['Ann'] },
    ]);
    const answer = async () =>
      (await graph.expand({ spaceId, seedEventIds: [seed], budget: 5 }, signal)).map(
        ({ eventId }) => eventId,
      );
    const began: (string | null)[] = [];
    const parts = (after: string | null) => {
      began.push(after);
      return subject.all(after);
    };
    const stop = new AbortController();
    await expect(graph.rebuild(parts, () => stop.abort(new Error('stopped')), stop.signal)).rejects.toThrow(
      'stopped',
    );
    expect(await answer()).toEqual([other]);
    await graph.rebuild(parts, () => undefined, signal);
    expect(began).toEqual([null, expect.stringMatching(/^entities:/)]);
    expect(await answer()).toEqual([other]);
  });

  it('keeps the old graph when the new one is incomplete', async () => {
    const subject: GraphSubject = graphSubject(world, newGraph());
    const spaceId = await subject.space();
    const [seed = ''] = await subject.addEvents(spaceId, [{ actors: ['Ann'] }, { actors: ['Ann'] }]);
    const { graph } = subject;
    async function* broken() {
      const stray = { entityId: world.ids.uuid(), eventId: world.ids.uuid(), role: 'owner' };
      yield { ...subject.lastPart(), actedIn: [stray], position: 'events:x' };
    }
    await expect(graph.rebuild(broken, () => undefined, signal)).rejects.toMatchObject({
      code: 'KNOWLEDGE_GRAPH_UNAVAILABLE',
    });
    expect(await graph.expand({ spaceId, seedEventIds: [seed], budget: 5 }, signal)).toHaveLength(1);
  });

  it('does not touch a graph of another schema', async () => {
    const { database } = world;
    const otherSchema = Object.create(database, { schema: { value: 'another_schema' } }) as typeof database;
    const state = await new AgeGraph({
      ...world,
      database: new Proxy(otherSchema, {
        get: (_, key) => {
          const value: unknown = key === 'schema' ? 'another_schema' : Reflect.get(database, key, database);
          return typeof value === 'function' ? (value.bind(database) as unknown) : value;
        },
      }),
    }).availability();
    expect(state).toMatchObject({
      state: 'unavailable',
      reason: expect.stringContaining(database.schema) as string,
    });
  });

  it('leaves the session unchanged for other queries', async () => {
    await newGraph().isEmpty(signal);
    const { rows } = await world.database.query<{ path: string }>(
      sql`select current_setting('search_path') as path`,
    );
    expect(rows[0]?.path).not.toContain('ag_catalog');
  });
});

describe('a Postgres server without Apache AGE', () => {
  let world: KnowledgeWorld;
  beforeAll(async () => {
    world = await knowledgeWorld('server');
  });
  afterAll(() => world.dispose());

  it('is unavailable with a reason and a remedy, and is checked again after a while', async () => {
    let queries = 0;
    const { database } = world;
    const counted = new Proxy(database, {
      get: (_, key) => {
        const value: unknown = Reflect.get(database, key, database);
        if (key === 'query') queries += 1;
        return typeof value === 'function' ? (value.bind(database) as unknown) : value;
      },
    });
    const graph = new AgeGraph({ ...world, database: counted });
    const state = await graph.availability();
    expect(state).toMatchObject({
      state: 'unavailable',
      reason: 'The Postgres server does not have the extension age.',
      remedy: expect.stringContaining('GRAPH_BACKEND=sql') as string,
    });
    await expect(
      graph.expand({ spaceId: 1, seedEventIds: [world.ids.uuid()], budget: 5 }, signal),
    ).rejects.toMatchObject({ code: 'KNOWLEDGE_GRAPH_UNAVAILABLE' });
    expect(queries).toBe(1);
    await world.clock.advance(world.options.cooldownSeconds * 1_000);
    await graph.availability();
    expect(queries).toBe(2);
    graph.resetCooldown();
    await graph.availability();
    expect(queries).toBe(3);
  });
});
