// Work that was not possible at ingest: it is found and done once it is possible. And the graph: rebuild and service.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JobContext, JobView } from '../../src/core/index.ts';
import { CoreError } from '../../src/core/index.ts';
import { countNeedsReview, GraphService } from '../../src/knowledge/graph/graph-service.ts';
import { GraphSource } from '../../src/knowledge/graph/graph-source.ts';
import { graphRebuildHandler, graphRebuildJob } from '../../src/knowledge/graph/graph-sync.ts';
import { offGraph } from '../../src/knowledge/graph/graph.ts';
import type { Graph, Space } from '../../src/knowledge/index.ts';
import { ingestJob } from '../../src/knowledge/ingest/ingest-job.ts';
import { backfillHandler } from '../../src/knowledge/maintenance/backfill.ts';
import { sql } from '../../src/platform/postgres/index.ts';
import type { FaultyKnowledge } from '../support/faulty-knowledge.ts';
import { openFaultyKnowledge } from '../support/faulty-knowledge.ts';
import { bracketReader } from '../support/knowledge-doubles.ts';
import type { KnowledgeWorld } from '../support/knowledge-world.ts';
import { knowledgeWorld } from '../support/knowledge-world.ts';

const { signal } = new AbortController();
const context: JobContext = { id: 'job', attempt: 1, signal, progress: () => undefined };
const skipped = { skipped: expect.any(String) as string };

describe('backfill', () => {
  let world: KnowledgeWorld;
  let knowledge: FaultyKnowledge;
  let space: Space;
  beforeAll(async () => {
    world = await knowledgeWorld();
    await world.jobs.define([graphRebuildJob]);
  });
  afterAll(() => world.dispose());
  beforeEach(async () => {
    // The backfill covers all spaces.
    await world.database.query(sql`delete from knowledge_space`);
    knowledge = await openFaultyKnowledge(world);
    space = await world.space();
  });

  it('is skipped when everything is done', async () => {
    await knowledge.ingest(space, ['[Ann] decided.']);
    expect(await knowledge.backfill()).toMatchObject(skipped);
    expect(await knowledge.rows()).toEqual([]);
  });

  it('reads with a model configured later what rules read, once, and updates the graph', async () => {
    const { revisionId } = await knowledge.ingest(space, ['[Ann] decided.', '[Bob] decided.']);
    expect(await knowledge.backfill()).toMatchObject(skipped);
    knowledge.faults.reader = 'none';
    expect(await knowledge.backfill()).toMatchObject({ result: { revisions: 1 } });
    expect(await knowledge.backfill()).toMatchObject(skipped);
    expect(await knowledge.steps(revisionId)).toEqual([
      'graph completed',
      'graph completed',
      'read completed model',
      'read completed model',
    ]);
    const events = await world.events.list({ spaceId: space.spaceId, limit: 9 });
    expect(events.map(({ method }) => method)).toEqual(['model', 'model']);
    expect([...knowledge.graph.events]).toEqual(expect.arrayContaining(events.map(({ eventId }) => eventId)));
    expect(await knowledge.rows()).toEqual([]);
  });

  it('records a degradation when the model configured later fails, and leaves it to the repair', async () => {
    const { revisionId } = await knowledge.ingest(space, ['[Ann] decided.']);
    knowledge.faults.reader = 'fail';
    expect(await knowledge.backfill()).toMatchObject({ result: { revisions: 1 } });
    expect(await knowledge.rows()).toEqual(['knowledge.chunk-read-by-rules TypeError']);
    expect(await knowledge.backfill()).toMatchObject(skipped);
    knowledge.faults.reader = 'none';
    expect(await knowledge.repair()).toMatchObject({ repaired: 1 });
    expect(await knowledge.steps(revisionId)).toEqual(['graph completed', 'read completed model']);
  });

  it('processes chunks whose job ended before it read them', async () => {
    const { revisionId } = await world.accept(space, { text: '[Ann] decided.' });
    expect(await knowledge.backfill()).toMatchObject({ result: { revisions: 1 } });
    expect(await knowledge.steps(revisionId)).toEqual(['graph completed', 'read completed rules']);
    const revision = await world.artifacts.revision(space.spaceId, revisionId);
    expect(revision?.jobId).toEqual(expect.any(String));
  });

  it('does not enqueue a revision whose job is queued or running', async () => {
    const { revisionId } = await world.accept(space, { text: '[Ann] decided.' });
    const handle = backfillHandler({
      artifacts: world.artifacts,
      readers: { rules: bracketReader('rules'), model: () => null },
      entities: { confirmOpenPairs: async () => 0 },
      graph: offGraph,
      source: new GraphSource(world.database),
      jobs: world.jobs,
      clock: world.clock,
      ingestJob: ingestJob(1),
      options: world.options,
    });
    expect(await handle({}, context)).toMatchObject({ result: { revisions: 1 } });
    const first = await world.artifacts.revision(space.spaceId, revisionId);
    expect(await handle({}, context)).toMatchObject(skipped);
    expect((await world.artifacts.revision(space.spaceId, revisionId))?.jobId).toBe(first?.jobId);
  });

  it('runs a job that always fails again after delays that double up to six hours', async () => {
    await world.accept(space, { text: '[Ann] decided.' });
    const { clock, artifacts } = world;
    const ingestedAtMs = clock.now();
    let failed: JobView | null = null;
    const enqueuedAtMinutes: number[] = [];
    const handle = backfillHandler({
      artifacts,
      readers: { rules: bracketReader('rules'), model: () => null },
      entities: { confirmOpenPairs: async () => 0 },
      graph: offGraph,
      source: new GraphSource(world.database),
      jobs: {
        enqueue: async () => {
          enqueuedAtMinutes.push((clock.now() - ingestedAtMs) / 60_000);
          // All attempts of a job take eight minutes.
          const finishedAt = new Date(clock.now() + 8 * 60_000);
          failed = { id: 'job', state: 'failed', finishedAt } as JobView;
          return world.ids.uuid();
        },
        get: async () => failed,
      },
      clock,
      ingestJob: ingestJob(1),
      options: world.options,
    });
    for (let minutes = 0; minutes < 24 * 60; minutes += 5) {
      await handle({}, context);
      await clock.advance(5 * 60_000);
    }
    expect(enqueuedAtMinutes).toEqual([0, 20, 60, 140, 300, 620, 990, 1360]);
  });

  it('calls a model configured later for open pairs that no model was called for', async () => {
    await knowledge.ingest(space, ['[Alice Chen] decided.']);
    await knowledge.ingest(space, ['[A. Chen] decided.']);
    expect(await knowledge.backfill()).toMatchObject(skipped);
    knowledge.faults.model = 'fail';
    expect(await knowledge.backfill()).toMatchObject(skipped);
    knowledge.faults.model = 'none';
    expect(await knowledge.backfill()).toMatchObject({ result: { pairs: 1 } });
    expect(await knowledge.entities.list({ spaceId: space.spaceId, limit: 9 })).toHaveLength(1);
    expect(await knowledge.rows()).toEqual([]);
  });

  it('changes nothing that was ingested before the model when the option is off', async () => {
    knowledge = await openFaultyKnowledge(world, { backfill: false });
    const { revisionId } = await knowledge.ingest(space, ['[Alice Chen] decided.']);
    await knowledge.ingest(space, ['[A. Chen] decided.']);
    knowledge.faults.reader = 'none';
    knowledge.faults.model = 'none';
    expect(await knowledge.backfill()).toMatchObject(skipped);
    expect(await knowledge.steps(revisionId)).toEqual(['graph completed', 'read completed rules']);
    expect(await knowledge.entities.list({ spaceId: space.spaceId, limit: 9 })).toHaveLength(2);
  });

  it('repairs a failed model reading even when the option is off', async () => {
    knowledge = await openFaultyKnowledge(world, { backfill: false });
    knowledge.faults.reader = 'fail';
    const { revisionId } = await knowledge.ingest(space, ['[Ann] decided.']);
    expect(await knowledge.rows()).toHaveLength(1);
    knowledge.faults.reader = 'none';
    expect(await knowledge.repair()).toMatchObject({ repaired: 1 });
    expect(await knowledge.steps(revisionId)).toEqual(['graph completed', 'read completed model']);
  });

  it('adds to a graph what was ingested while it was off, and rebuilds an empty one', async () => {
    const off = await openFaultyKnowledge(world, {}, 'off');
    const { revisionId } = await off.ingest(space, ['[Ann] decided.']);
    expect(await knowledge.backfill()).toMatchObject({ result: { rebuilds: 1, revisions: 0 } });
    expect(await knowledge.backfill()).toMatchObject(skipped);
    knowledge.graph.entities.set('x', 'Anybody');
    expect(await knowledge.backfill()).toMatchObject({ result: { revisions: 1 } });
    expect(await knowledge.steps(revisionId)).toContain('graph completed');
    expect([...knowledge.graph.entities.values()]).toContain('Ann');
  });

  describe('graph rebuild', () => {
    const rebuild = (graph: Graph) =>
      graphRebuildHandler({
        graph,
        source: new GraphSource(world.database),
        sync: knowledge.graphSync,
        artifacts: world.artifacts,
        spaces: world.spaces,
      })({}, context);

    it('is skipped when the tables are the graph, the graph is off, or it is unavailable', async () => {
      expect(await rebuild(offGraph)).toMatchObject({ skipped: expect.stringContaining('off') as string });
      expect(await rebuild({ ...offGraph, backend: 'sql' })).toMatchObject({
        skipped: expect.stringContaining('tables') as string,
      });
      knowledge.faults.graph = 'unavailable';
      expect(await rebuild(knowledge.graph)).toMatchObject({
        skipped: expect.stringContaining('AGE') as string,
      });
    });

    it('repeats what was written to the old graph meanwhile, and prunes what was deleted', async () => {
      await knowledge.ingest(space, ['[Ann] decided.']);
      const rebuilt: string[] = [];
      const pruned: number[] = [];
      const graph: Graph = {
        ...offGraph,
        backend: 'age',
        isSeparateStore: true,
        availability: async () => ({ state: 'available' }),
        prune: async (spaceId) => void pruned.push(spaceId),
        rebuild: async (batches, progress) => {
          for await (const batch of batches(null)) rebuilt.push(...batch.entities.map(({ name }) => name));
          progress({ entities: 1, events: 1 });
          await knowledge.ingest(space, ['[Bob] decided.']);
          knowledge.graph.entities.clear();
          return { entities: 1, events: 1, since: new Date(world.clock.now() - 1) };
        },
      };
      expect(await rebuild(graph)).toMatchObject({ result: { entities: 1, events: 1 } });
      expect(rebuilt).toEqual(['Ann']);
      expect([...knowledge.graph.entities.values()]).toContain('Bob');
      expect(pruned).toEqual([space.spaceId]);
    });
  });

  describe('GraphService', () => {
    const service = () =>
      new GraphService({ graph: knowledge.graph, database: world.database, jobs: world.jobs });

    it('returns the state of the graph and its reason', async () => {
      expect(await service().status()).toEqual({ backend: 'age', state: 'available', detail: null });
      knowledge.faults.graph = 'unavailable';
      expect(await service().status()).toMatchObject({
        state: 'unavailable',
        detail: 'AGE extension not loaded. Load it.',
      });
    });

    it('rejects requests when the graph is off, and a rebuild of an unavailable one, with the remedy', async () => {
      knowledge.faults.graph = 'unavailable';
      await expect(service().requestRebuild()).rejects.toMatchObject({
        code: 'KNOWLEDGE_GRAPH_UNAVAILABLE',
        message: 'AGE extension not loaded. Load it.',
      });
      knowledge.faults.graph = 'off';
      const refusal = { code: 'CONFLICT', message: expect.stringContaining('Set GRAPH_BACKEND') as string };
      await expect(service().requestRebuild()).rejects.toMatchObject(refusal);
      await expect(service().around(space, world.ids.uuid(), 5)).rejects.toMatchObject(refusal);
    });

    it('returns an entity with its events and their participants, and nothing of another space', async () => {
      await knowledge.ingest(space, ['[Ann] decided. [Bob] decided.']);
      const [ann] = (await knowledge.entities.list({ spaceId: space.spaceId, limit: 9, name: 'Ann' })).map(
        ({ entityId }) => entityId,
      );
      const { nodes, edges } = await service().around(space, ann ?? '', 10);
      expect(nodes.map(({ label }) => label)).toEqual(['Ann', 'Ann decided.']);
      expect(edges).toMatchObject([{ from: ann, kind: 'ACTED_IN', role: 'owner' }]);
      const elsewhere = await world.space();
      for (const id of [ann ?? '', 'nonsense'])
        await expect(service().around(elsewhere, id, 10)).rejects.toBeInstanceOf(CoreError);
    });

    it('resolves a merged entity to its winner', async () => {
      await knowledge.ingest(space, ['[Ann] decided.', '[Bob] decided.']);
      const found = await knowledge.entities.list({ spaceId: space.spaceId, limit: 9 });
      const idOf = (name: string) => found.find((each) => each.canonicalName === name)?.entityId ?? '';
      await knowledge.entities.merge(space, idOf('Ann'), idOf('Bob'), 'the same', 'admin');
      const { nodes } = await service().around(space, idOf('Bob'), 10);
      expect(nodes.map(({ label }) => label).sort()).toEqual(['Ann', 'Ann decided.', 'Bob decided.']);
    });
  });

  it('counts entities that need review', async () => {
    knowledge.faults.embedding = 'fail';
    await knowledge.ingest(space, ['[Ann] decided.']);
    expect(await countNeedsReview(world.database)).toBe(1);
  });
});
