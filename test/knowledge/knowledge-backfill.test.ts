// Work that nothing failed at, because it was not possible then: it is found when it is, and done by repairs and jobs.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JobContext, JobView } from '../../src/core/index.ts';
import { CoreError } from '../../src/core/index.ts';
import { countNeedsReview, openGraphService, GraphView } from '../../src/knowledge/graph/graph-service.ts';
import { GraphSource } from '../../src/knowledge/graph/graph-source.ts';
import { graphRebuildHandler, graphRebuildJob } from '../../src/knowledge/graph/graph-sync.ts';
import { offGraph } from '../../src/knowledge/graph/graph.ts';
import type { Graph, Space } from '../../src/knowledge/index.ts';
import type { BackfillDeps } from '../../src/knowledge/maintenance/backfill.ts';
import { backfillHandler } from '../../src/knowledge/maintenance/backfill.ts';
import { sql } from '../../src/platform/postgres/index.ts';
import type { FaultyKnowledge } from '../support/faulty-knowledge.ts';
import { openFaultyKnowledge } from '../support/faulty-knowledge.ts';
import { bracketReader } from '../support/knowledge-doubles.ts';
import type { KnowledgeWorld } from '../support/knowledge-world.ts';
import { knowledgeWorld } from '../support/knowledge-world.ts';

const { signal } = new AbortController();
const context: JobContext = { id: 'job', attempt: 1, signal, progress: () => undefined };

describe('looking again', () => {
  let world: KnowledgeWorld;
  let house: FaultyKnowledge;
  let space: Space;
  beforeAll(async () => {
    world = await knowledgeWorld();
    await world.jobs.define([graphRebuildJob]);
  });
  afterAll(() => world.dispose());
  beforeEach(async () => {
    // Looks go over all spaces.
    await world.database.query(sql`delete from knowledge_space`);
    house = await openFaultyKnowledge(world);
    space = await world.space();
  });

  const look = (change: Partial<BackfillDeps> = {}) =>
    backfillHandler({
      artifacts: world.artifacts,
      readers: {
        rules: bracketReader('rules'),
        model: () => (house.faults.reader === 'none' ? bracketReader('model') : null),
      },
      graph: house.graph,
      source: new GraphSource(world.database),
      graphSync: house.keeper,
      jobs: world.jobs,
      ledger: house.ledger,
      isRecorded: async (kind, subject) =>
        (await house.entries()).some((entry) => entry.kind === kind && entry.subject === subject),
      pairs: house.pairs,
      canUseModel: () => house.faults.model !== 'not-configured',
      options: world.options,
      ...change,
    })({}, context);

  it('finds nothing when all is done', async () => {
    await house.ingest(space, ['[Ann] decided.']);
    expect(await look()).toMatchObject({ skipped: expect.any(String) as string });
    expect(await house.rows()).toEqual([]);
  });

  it('lets a model that came later read what rules read, once', async () => {
    const { revisionId } = await house.ingest(space, ['[Ann] decided.', '[Bob] decided.']);
    expect(await look()).toMatchObject({ skipped: expect.any(String) as string });
    house.faults.reader = 'none';
    expect(await look()).toMatchObject({ result: { byRules: 2, notRead: 0 } });
    await look();
    expect((await house.entries()).map(({ count }) => count)).toEqual([1, 1]);
    expect(await house.repair()).toMatchObject({ repaired: 2 });
    expect(await house.steps(revisionId)).toEqual([
      'graph done',
      'graph done',
      'read done model',
      'read done model',
    ]);
  });

  it('finds chunks whose job ended before it read them, and leaves alone those whose job goes on', async () => {
    const { stored, revisionId } = await world.accept(space, { text: '[Ann] decided.' });
    await world.database.query(
      sql`update artifact_revision set job_id = ${world.ids.uuid()} where revision_id = ${revisionId}`,
    );
    const jobOf = (state: JobView['state']): BackfillDeps['jobs'] => ({
      enqueue: () => Promise.reject(new Error('Nothing is to be enqueued.')),
      get: async () => ({ state }) as JobView,
    });
    expect(await look({ jobs: jobOf('running') })).toMatchObject({ skipped: expect.any(String) as string });
    expect(await look({ jobs: jobOf('failed') })).toMatchObject({ result: { notRead: 1, put: 0 } });
    expect(await house.rows()).toEqual(['knowledge.chunk-not-read NOT_TRIED']);
    expect(await house.repair()).toMatchObject({ repaired: 1 });
    expect(await house.steps(stored[0]?.revisionId ?? '')).toEqual(['graph done', 'read done rules']);
  });

  it('puts to a model that came later the pairs that nobody was asked about', async () => {
    await house.ingest(space, ['[Alice Chen] decided.']);
    await house.ingest(space, ['[A. Chen] decided.']);
    expect(await look()).toMatchObject({ skipped: expect.any(String) as string });
    house.faults.model = 'fail';
    expect(await look()).toMatchObject({ result: { pairs: 1 } });
    expect(await house.rows()).toEqual(['knowledge.pairs-unconfirmed MODEL_NOT_CALLED']);
    expect(await house.repair()).toMatchObject({ stillBroken: 1 });
    house.faults.model = 'none';
    expect(await house.repair()).toMatchObject({ repaired: 1 });
    expect(await house.desk.list({ spaceId: space.spaceId, limit: 9 })).toHaveLength(1);
    expect(await house.rows()).toEqual([]);
  });

  it('leaves alone what came before the model when nothing is to be read again, and closes rows of before', async () => {
    house = await openFaultyKnowledge(world, { backfill: false });
    const { revisionId } = await house.ingest(space, ['[Alice Chen] decided.']);
    await house.ingest(space, ['[A. Chen] decided.']);
    house.faults.reader = 'none';
    house.faults.model = 'none';
    expect(await look({ options: { backfill: false } })).toMatchObject({
      skipped: expect.any(String) as string,
    });
    expect(await look()).toMatchObject({ result: { byRules: 2, pairs: 1 } });
    expect(await house.repair()).toMatchObject({ repaired: 0, gone: 3 });
    expect(await house.rows()).toEqual([]);
    expect(await house.steps(revisionId)).toEqual(['graph done', 'read done rules']);
    expect(await house.desk.list({ spaceId: space.spaceId, limit: 9 })).toHaveLength(2);
  });

  it('reads again what a model failed at, even when nothing else is to be read again', async () => {
    house = await openFaultyKnowledge(world, { backfill: false });
    house.faults.reader = 'fail';
    const { revisionId } = await house.ingest(space, ['[Ann] decided.']);
    expect(await house.rows()).toHaveLength(1);
    house.faults.reader = 'none';
    expect(await house.repair()).toMatchObject({ repaired: 1 });
    expect(await house.steps(revisionId)).toEqual(['graph done', 'read done model']);
  });

  it('puts into a graph what came while none was wanted, and builds one that is empty', async () => {
    const { revisionId } = await (
      await openFaultyKnowledge(world, {}, 'off')
    ).ingest(space, ['[Ann] decided.']);
    expect(await look()).toMatchObject({ result: { rebuilds: 1 } });
    expect(await look()).toMatchObject({ skipped: expect.any(String) as string });
    house.graph.entities.set('x', 'somebody');
    expect(await look()).toMatchObject({ result: { put: 1 } });
    expect(await house.steps(revisionId)).toContain('graph done');
    expect([...house.graph.entities.values()]).toContain('Ann');
  });

  describe('a rebuild', () => {
    const rebuild = (graph: Graph) =>
      graphRebuildHandler({
        graph,
        source: new GraphSource(world.database),
        sync: house.keeper,
        artifacts: world.artifacts,
        spaces: world.spaces,
      })({}, context);

    it('has nothing to do where the tables are the graph, none is wanted, or it is away', async () => {
      expect(await rebuild(offGraph)).toMatchObject({ skipped: expect.stringContaining('off') as string });
      expect(await rebuild({ ...offGraph, backend: 'sql' })).toMatchObject({
        skipped: expect.stringContaining('tables') as string,
      });
      house.faults.graph = 'away';
      expect(await rebuild(house.graph)).toMatchObject({ skipped: expect.stringContaining('AGE') as string });
    });

    it('puts in again what went into the old graph meanwhile, and takes out what is gone', async () => {
      await house.ingest(space, ['[Ann] decided.']);
      const put: string[] = [];
      const pruned: number[] = [];
      const graph: Graph = {
        ...offGraph,
        backend: 'age',
        isSeparateStore: true,
        availability: async () => ({ state: 'available' }),
        prune: async (spaceId) => void pruned.push(spaceId),
        rebuild: async (parts, progress) => {
          for await (const part of parts(null)) put.push(...part.entities.map(({ name }) => name));
          progress({ entities: 1, events: 1 });
          await house.ingest(space, ['[Bob] decided.']);
          house.graph.entities.clear();
          return { entities: 1, events: 1, since: new Date(world.clock.now() - 1) };
        },
      };
      expect(await rebuild(graph)).toMatchObject({ result: { entities: 1, events: 1 } });
      expect(put).toEqual(['Ann']);
      expect([...house.graph.entities.values()]).toContain('Bob');
      expect(pruned).toEqual([space.spaceId]);
    });
  });

  describe('the desk', () => {
    const desk = () =>
      openGraphService({ graph: house.graph, view: new GraphView(world.database), jobs: world.jobs });

    it('says how the graph is, and why', async () => {
      expect(await desk().status()).toEqual({ backend: 'age', state: 'available', detail: null });
      house.faults.graph = 'away';
      expect(await desk().status()).toMatchObject({
        state: 'unavailable',
        detail: 'AGE extension not loaded. Load it.',
      });
    });

    it('refuses what needs a graph when none is wanted, and a rebuild of one that is away, with the remedy', async () => {
      house.faults.graph = 'away';
      await expect(desk().requestRebuild()).rejects.toMatchObject({
        code: 'KNOWLEDGE_GRAPH_UNAVAILABLE',
        message: 'AGE extension not loaded. Load it.',
      });
      house.faults.graph = 'off';
      const refusal = { code: 'CONFLICT', message: expect.stringContaining('Set GRAPH_BACKEND') as string };
      await expect(desk().requestRebuild()).rejects.toMatchObject(refusal);
      await expect(desk().around(space, world.ids.uuid(), 5)).rejects.toMatchObject(refusal);
    });

    it('shows an entity with its events and who else takes part, and nothing of another space', async () => {
      await house.ingest(space, ['[Ann] decided. [Bob] decided.']);
      const [ann] = (await house.desk.list({ spaceId: space.spaceId, limit: 9, name: 'Ann' })).map(
        ({ entityId }) => entityId,
      );
      const { nodes, edges } = await desk().around(space, ann ?? '', 10);
      expect(nodes.map(({ label }) => label)).toEqual(['Ann', 'Ann decided.']);
      expect(edges).toMatchObject([{ from: ann, kind: 'ACTED_IN', role: 'owner' }]);
      const elsewhere = await world.space();
      for (const id of [ann ?? '', 'nonsense'])
        await expect(desk().around(elsewhere, id, 10)).rejects.toBeInstanceOf(CoreError);
    });

    it('leads from a merged entity to the one it became part of', async () => {
      await house.ingest(space, ['[Ann] decided.', '[Bob] decided.']);
      const found = await house.desk.list({ spaceId: space.spaceId, limit: 9 });
      const idOf = (name: string) => found.find((each) => each.canonicalName === name)?.entityId ?? '';
      await house.desk.merge(space, idOf('Ann'), idOf('Bob'), 'the same', 'admin');
      const { nodes } = await desk().around(space, idOf('Bob'), 10);
      expect(nodes.map(({ label }) => label).sort()).toEqual(['Ann', 'Ann decided.', 'Bob decided.']);
    });
  });

  it('counts entities that wait for a look', async () => {
    house.faults.embedding = 'fail';
    await house.ingest(space, ['[Ann] decided.']);
    expect(await countNeedsReview(world.database)).toBe(1);
  });
});
