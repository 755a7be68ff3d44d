// Founding document 004, its three error tables and its timeout budget, row by row: each fault is injected, then the
// test checks how it is handled, the ledger row, and the repair.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Space } from '../../src/knowledge/index.ts';
import { sql } from '../../src/platform/postgres/index.ts';
import type { FaultyKnowledge } from '../support/faulty-knowledge.ts';
import { openFaultyKnowledge } from '../support/faulty-knowledge.ts';
import type { KnowledgeWorld } from '../support/knowledge-world.ts';
import { knowledgeWorld } from '../support/knowledge-world.ts';

describe('knowledge when a component fails', () => {
  let world: KnowledgeWorld;
  let knowledge: FaultyKnowledge;
  let space: Space;
  beforeAll(async () => {
    world = await knowledgeWorld();
  });
  afterAll(() => world.dispose());
  beforeEach(async () => {
    knowledge = await openFaultyKnowledge(world);
    space = await world.space();
  });

  const entitiesOf = async () => knowledge.entities.list({ spaceId: space.spaceId, limit: 50 });
  const entityNamed = async (name: string) =>
    (await entitiesOf()).find(({ canonicalName }) => canonicalName === name);
  const names = async () => (await entitiesOf()).map(({ canonicalName }) => canonicalName).sort();
  const eventCount = async () => (await world.events.list({ spaceId: space.spaceId, limit: 50 })).length;
  const allRepaired = async () => {
    const { stillBroken } = await knowledge.repair();
    expect(stillBroken).toBe(0);
    expect(await knowledge.rows()).toEqual([]);
  };
  const nothingRepaired = async () => {
    const before = await knowledge.rows();
    const { repaired } = await knowledge.repair();
    expect(repaired).toBe(0);
    expect(await knowledge.rows()).toEqual(before);
  };

  /** Entities created until then, with their names and mentions, and events with actors; as they are now. */
  const rowsUntil = async (until: number) => {
    const old = sql`(select entity_id from entity
      where space_id = ${space.spaceId} and created_at <= ${new Date(until)}::timestamptz)`;
    const events = sql`(select event_id from semantic_event
      where space_id = ${space.spaceId} and created_at <= ${new Date(until)}::timestamptz)`;
    const statements = [
      sql`select * from entity where entity_id in ${old} order by entity_id`,
      sql`select * from entity_alias where entity_id in ${old} order by entity_id, alias`,
      sql`select * from entity_mention where entity_id in ${old} order by mention_id`,
      sql`select * from semantic_event where event_id in ${events} order by event_id`,
      sql`select * from event_actor where event_id in ${events} order by event_id, entity_id`,
    ];
    return Promise.all(statements.map(async (one) => (await world.database.query(one)).rows));
  };

  describe('entity resolution', () => {
    it.each([
      ['fails', 'fail', 'TypeError', []],
      ['takes longer than 10 s', 'hang', 'DEADLINE_EXCEEDED', [10_000, 10_000]],
    ] as const)('creates the entity without a vector when embedding %s', async (_, fault, cause, waited) => {
      // Candidates are loaded meanwhile, in real time.
      knowledge = await openFaultyKnowledge(world, { candidatesTimeoutMs: 600_000 });
      knowledge.faults.embedding = fault;
      await knowledge.ingest(space, ['[Alice Chen] decided.']);
      expect(await entityNamed('Alice Chen')).toMatchObject({
        needsReview: true,
        reviewReason: 'embedding-missing',
        embeddingModel: null,
      });
      expect(await eventCount()).toBe(1);
      expect(await knowledge.rows()).toEqual([
        `knowledge.chunk-not-embedded ${cause}`,
        `knowledge.entity-embedding-missing ${cause}`,
      ]);
      expect(knowledge.waitedMs).toEqual(waited);
      for (const { details } of await knowledge.entries())
        expect(details).toMatchObject({
          error_type: cause,
          error_message: expect.stringMatching(/It broke|10000 ms/) as string,
        });
      await nothingRepaired();
      knowledge.faults.embedding = 'none';
      await allRepaired();
      expect(await entityNamed('Alice Chen')).toMatchObject({
        needsReview: false,
        embeddingModel: 'words-16',
      });
    });

    it.each([
      ['fails', 'fail', 'TypeError', []],
      ['takes longer than 5 s', 'hang', 'DEADLINE_EXCEEDED', [5_000]],
    ] as const)('creates a new entity when the query for candidates %s', async (_, fault, cause, waited) => {
      await knowledge.ingest(space, ['[Alice Chen] decided.']);
      knowledge.faults.candidates = fault;
      await knowledge.ingest(space, ['[Alice Chen] decided.']);
      expect(await names()).toEqual(['Alice Chen', 'Alice Chen']);
      expect(await knowledge.rows()).toEqual([`knowledge.candidates-unknown ${cause}`]);
      expect(knowledge.waitedMs).toEqual(waited);
      await nothingRepaired();
      knowledge.faults.candidates = 'none';
      await allRepaired();
      expect(await names()).toEqual(['Alice Chen']);
    });

    it.each([
      ['fails', 'fail', 'TypeError', []],
      ['takes longer than 30 s', 'hang', 'DEADLINE_EXCEEDED', [30_000]],
    ] as const)('creates a separate, flagged entity when the model %s', async (_, fault, cause, waited) => {
      await knowledge.ingest(space, ['[Alice Chen] decided.']);
      knowledge.faults.model = fault;
      await knowledge.ingest(space, ['[A. Chen] decided.']);
      expect(await entityNamed('A. Chen')).toMatchObject({
        needsReview: true,
        reviewReason: 'confirmation-failed',
      });
      expect(await knowledge.rows()).toEqual([`knowledge.confirmation-failed ${cause}`]);
      expect(knowledge.waitedMs).toEqual(waited);
      await nothingRepaired();
      knowledge.faults.model = 'none';
      await allRepaired();
      expect(await names()).toEqual(['Alice Chen']);
    });

    it.each([
      ['no JSON', 'Sure! They are {the same'],
      ['no known decision', '{"decision": "maybe so", "candidate": 1, "reason": "unclear"}'],
      ['5 MB of it', '{"decision": "same" '.repeat(250_000)],
    ])(
      'treats an answer that is %s, twice, as uncertain: separate, paired, and confirmed by the repair',
      async (_, answer) => {
        await knowledge.ingest(space, ['[Alice Chen] decided.']);
        knowledge.faults.model = { answer };
        const before = knowledge.modelCalls();
        await knowledge.ingest(space, ['[A. Chen] decided.']);
        expect(knowledge.modelCalls() - before).toBe(2);
        expect(await names()).toEqual(['A. Chen', 'Alice Chen']);
        expect(await knowledge.entities.review(space, 10)).toMatchObject([{ state: 'open' }]);
        expect(await knowledge.rows()).toEqual([
          'knowledge.confirmation-failed KNOWLEDGE_CONFIRMATION_FAILED',
        ]);
        await nothingRepaired();
        knowledge.faults.model = 'none';
        await allRepaired();
        expect(await names()).toEqual(['Alice Chen']);
      },
    );

    it('changes no earlier row when several components fail at once', async () => {
      await knowledge.ingest(space, ['[Ann] decided.', '[Bob] decided. [Eve] decided.']);
      const until = world.clock.now();
      const before = await rowsUntil(until);
      expect(before.map((rows) => rows.length)).toEqual([3, 3, 3, 3, 3]);
      await world.clock.advance(60_000);
      Object.assign(knowledge.faults, {
        embedding: 'fail',
        candidates: 'fail',
        model: 'fail',
        graph: 'unavailable',
      });
      await knowledge.ingest(space, ['[Ann] decided.', '[Bob] decided. [Eve Smith] decided.']);
      expect(await eventCount()).toBe(6);
      expect(await rowsUntil(until)).toEqual(before);
    });

    it('writes all events and mentions when several components fail at once', async () => {
      Object.assign(knowledge.faults, {
        embedding: 'fail',
        candidates: 'fail',
        model: 'fail',
        graph: 'unavailable',
      });
      await knowledge.ingest(space, ['[Ann] decided.', '[Bob] decided. [Eve] decided.']);
      expect(await names()).toEqual(['Ann', 'Bob', 'Eve']);
      expect(await eventCount()).toBe(3);
    });
  });

  describe('graph operations', () => {
    it('skips the graph while it is unavailable, and adds the chunks once it is available', async () => {
      knowledge.faults.graph = 'unavailable';
      const { revisionId } = await knowledge.ingest(space, ['[Ann] decided.', '[Bob] decided.']);
      expect(await knowledge.steps(revisionId)).toEqual([
        'graph skipped',
        'graph skipped',
        'read completed rules',
        'read completed rules',
      ]);
      const row = 'knowledge.graph-skipped KNOWLEDGE_GRAPH_UNAVAILABLE';
      expect(await knowledge.rows()).toEqual([row, row]);
      expect(knowledge.logged.filter(({ level }) => level === 'warn')).toHaveLength(2);
      await nothingRepaired();
      knowledge.faults.graph = 'available';
      await allRepaired();
      expect([...knowledge.graph.entities.values()].sort()).toEqual(['Ann', 'Bob']);
      expect(knowledge.graph.edges.size).toBe(2);
      expect(await knowledge.steps(revisionId)).toContain('graph completed');
    });

    it.each([
      ['is rejected', 'fail', 'TypeError'],
      ['takes longer than 5 s', 'hang', 'DEADLINE_EXCEEDED'],
    ] as const)(
      'writes the other nodes when one %s, and does not mark the chunk as done',
      async (_, fault, cause) => {
        knowledge.faults.badNodes = { Bob: fault };
        const { revisionId } = await knowledge.ingest(space, [
          '[Ann] decided. [Bob] decided.',
          '[Eve] decided.',
        ]);
        expect([...knowledge.graph.entities.values()].sort()).toEqual(['Ann', 'Eve']);
        expect((await knowledge.steps(revisionId)).filter((step) => step.startsWith('graph'))).toEqual([
          'graph completed',
          'graph failed',
        ]);
        expect(await knowledge.rows()).toEqual([`knowledge.graph-failed ${cause}`]);
        expect(knowledge.waitedMs.every((ms) => ms === 5_000)).toBe(true);
        await nothingRepaired();
        knowledge.faults.badNodes = {};
        await allRepaired();
        expect([...knowledge.graph.entities.values()].sort()).toEqual(['Ann', 'Bob', 'Eve']);
        expect(await knowledge.steps(revisionId)).not.toContain('graph failed');
      },
    );

    it('does not mark the chunk as done when an edge takes longer than 5 s', async () => {
      knowledge.faults.badEdges = 'hang';
      const { revisionId } = await knowledge.ingest(space, ['[Ann] decided.']);
      expect(await knowledge.steps(revisionId)).toContain('graph failed');
      expect(knowledge.waitedMs).toEqual([5_000]);
      expect(await knowledge.rows()).toEqual(['knowledge.graph-failed DEADLINE_EXCEEDED']);
      knowledge.faults.badEdges = 'none';
      await allRepaired();
      expect(knowledge.graph.edges.size).toBe(1);
    });

    it('redraws edges after a merge, later when the graph is unavailable', async () => {
      await knowledge.ingest(space, ['[Ann] decided.', '[Bob] decided.']);
      const [ann, bob] = [await entityNamed('Ann'), await entityNamed('Bob')];
      const pair = [ann?.entityId ?? '', bob?.entityId ?? ''] as const;
      await knowledge.entities.merge(space, ...pair, 'the same', 'admin');
      knowledge.faults.graph = 'unavailable';
      expect(await knowledge.graphSync.refresh(space.spaceId, pair, new AbortController().signal)).toContain(
        'AGE',
      );
      expect([...knowledge.graph.entities.values()].sort()).toEqual(['Ann', 'Bob']);
      knowledge.faults.graph = 'available';
      await allRepaired();
      expect([...knowledge.graph.entities.values()]).toEqual(['Ann']);
    });

    it('removes later what was deleted while the graph was unavailable', async () => {
      const { artifactUid } = await knowledge.ingest(space, ['[Ann] decided.']);
      knowledge.faults.graph = 'unavailable';
      const gone = await world.artifacts.remove(space.spaceId, artifactUid);
      await knowledge.graphSync.remove(space.spaceId, gone ?? { eventIds: [], entityIds: [] });
      expect(await knowledge.entries()).toMatchObject([{ subject: `space:${space.spaceId}` }]);
      knowledge.faults.graph = 'available';
      await allRepaired();
      expect(knowledge.graph.entities.size).toBe(0);
    });
  });

  describe('hybrid search', () => {
    it.each([
      [
        'takes longer than 500 ms',
        'hang',
        'DEADLINE_EXCEEDED',
        'Graph expansion timed out after 500 ms',
        [500],
      ],
      ['fails', 'fail', 'TypeError', 'Graph expansion unavailable: It broke.', []],
    ] as const)(
      'returns results without related items when expansion %s',
      async (_, fault, cause, warning, waited) => {
        await knowledge.ingest(space, ['[Ann] decided.', '[Ann] decided.']);
        knowledge.faults.expansion = fault;
        const response = await knowledge.search(space, { graphSeedLimit: 1 });
        expect(response.primaryResults).toHaveLength(2);
        expect(response.relatedContext).toEqual([]);
        expect(response.warning).toContain(warning);
        expect(knowledge.logged.map(({ text }) => text).join()).toContain('"seeds":1');
        expect(knowledge.waitedMs).toEqual(waited);
        expect(await knowledge.rows()).toEqual([`knowledge.expansion-failed ${cause}`]);
        await nothingRepaired();
        knowledge.faults.expansion = 'none';
        await allRepaired();
        const after = await knowledge.search(space, { graphSeedLimit: 1 });
        expect(after).toMatchObject({ relatedContext: [{ reason: 'same_actor:Ann' }], warning: null });
      },
    );

    it('warns about chunks that are not in the graph yet, and about an empty graph', async () => {
      knowledge.faults.graph = 'unavailable';
      await knowledge.ingest(space, ['[Ann] decided.']);
      knowledge.faults.graph = 'available';
      await knowledge.ingest(space, ['[Bob] decided.']);
      const behind = await knowledge.search(space, {});
      expect(behind.warning).toContain('events of these results that it lacks: 1 of 2');
      expect(behind.warning).toContain('not in the graph yet: 1;');
      await allRepaired();
      expect((await knowledge.search(space, {})).warning).toBeNull();
      knowledge.graph.events.clear();
      expect(knowledge.behind()).toBe(1);
      expect((await knowledge.search(space, {})).warning).toContain('it lacks: 2 of 2');
      expect(knowledge.behind()).toBe(2);
    });

    it('returns results without related items when AGE is unavailable', async () => {
      await knowledge.ingest(space, ['[Ann] decided.']);
      knowledge.faults.graph = 'unavailable';
      const response = await knowledge.search(space, { includeEntities: true });
      expect(response.primaryResults).toHaveLength(1);
      expect(response).toMatchObject({
        relatedContext: [],
        warning: 'Graph expansion unavailable: AGE extension not loaded.',
      });
      expect(await knowledge.rows()).toEqual(['knowledge.expansion-failed KNOWLEDGE_GRAPH_UNAVAILABLE']);
      await nothingRepaired();
      knowledge.faults.graph = 'available';
      await allRepaired();
    });

    it.each([
      ['fails', 'fail', 'TypeError', []],
      ['takes longer than 10 s', 'hang', 'DEADLINE_EXCEEDED', [10_000]],
    ] as const)('returns lexical results when embedding the query %s', async (_, fault, cause, waited) => {
      knowledge.faults.embedding = 'none';
      await knowledge.ingest(space, ['[Ann] decided.']);
      knowledge.faults.embedding = fault;
      const request = { graphExpand: false };
      const response = await knowledge.search(space, request);
      expect(response.primaryResults).toHaveLength(1);
      expect(response.warning).toContain(`the query could not be embedded (${cause})`);
      expect(knowledge.waitedMs).toEqual(waited);
      const row = `knowledge.search-without-vectors ${cause}`;
      expect(await knowledge.rows()).toEqual([row]);
      await knowledge.search(space, request);
      expect(await knowledge.entries()).toMatchObject([{ subject: 'words-16', count: 2 }]);
      await nothingRepaired();
      knowledge.faults.embedding = 'none';
      await allRepaired();
      expect((await knowledge.search(space, request)).warning).toBeNull();
    });

    it.each([
      ['fails', 'fail', 'TypeError', []],
      ['takes longer than 2 s', 'hang', 'DEADLINE_EXCEEDED', [2_000]],
    ] as const)('does not expand a result when loading its events %s', async (_, fault, cause, waited) => {
      const { stored } = await knowledge.ingest(space, ['[Ann] decided.', '[Bob] decided.']);
      await knowledge.ingest(space, ['Elsewhere [Ann] decided. And [Bob] decided.']);
      const [ann, bob] = stored.map(({ chunkId }) => chunkId);
      knowledge.faults.lookup = { [ann ?? 0]: fault };
      const response = await knowledge.search(space, { query: 'Ann Bob decided', graphSeedLimit: 50 });
      expect(response.primaryResults.map(({ chunkId }) => chunkId)).toEqual(
        expect.arrayContaining([ann, bob]),
      );
      expect(response.warning).toContain('Not every result was expanded');
      expect(knowledge.waitedMs).toEqual(waited);
      expect(await knowledge.rows()).toEqual([`knowledge.chunk-lookup-failed ${cause}`]);
      expect(await knowledge.entries()).toMatchObject([
        // While one hangs, the clock advances for the others, too.
        {
          subject: String(space.spaceId),
          details: { chunk_ids: expect.arrayContaining([ann]) as number[] },
        },
      ]);
      await nothingRepaired();
      knowledge.faults.lookup = {};
      await allRepaired();
      expect((await knowledge.search(space, { query: 'Ann Bob decided' })).warning).toBeNull();
    });
  });

  describe('reading', () => {
    it.each([
      ['fails', 'fail', 'TypeError', []],
      ['times out', 'hang', 'DEADLINE_EXCEEDED', [60_000]],
    ] as const)(
      'is done by rules when the model %s, and by the model when repaired',
      async (_, fault, cause, waited) => {
        knowledge.faults.reader = fault;
        const { revisionId } = await knowledge.ingest(space, ['[Ann] decided.']);
        expect(await knowledge.steps(revisionId)).toContain('read completed rules');
        expect(await knowledge.rows()).toEqual([`knowledge.chunk-read-by-rules ${cause}`]);
        expect(knowledge.waitedMs).toEqual(waited);
        await nothingRepaired();
        knowledge.faults.reader = 'none';
        await allRepaired();
        expect(await knowledge.steps(revisionId)).toEqual(['graph completed', 'read completed model']);
        expect(await world.events.list({ spaceId: space.spaceId, limit: 9 })).toMatchObject([
          { method: 'model' },
        ]);
      },
    );
  });

  it('records nothing for components that are not configured', async () => {
    knowledge = await openFaultyKnowledge(world, {}, 'off');
    await knowledge.ingest(space, ['[Ann] decided.']);
    await knowledge.search(space, {});
    expect(await knowledge.rows()).toEqual([]);
    expect(knowledge.logged.filter(({ level }) => level !== 'debug')).toEqual([]);
  });

  it('closes rows of components that are no longer configured', async () => {
    Object.assign(knowledge.faults, { embedding: 'fail', reader: 'fail', graph: 'unavailable' });
    await knowledge.ingest(space, ['[Ann] decided.']);
    expect(await knowledge.rows()).toHaveLength(4);
    Object.assign(knowledge.faults, { embedding: 'not-configured', reader: 'not-configured', graph: 'off' });
    await allRepaired();
  });

  it('closes rows of documents that were deleted meanwhile', async () => {
    Object.assign(knowledge.faults, {
      embedding: 'fail',
      reader: 'fail',
      graph: 'unavailable',
      candidates: 'fail',
    });
    const { artifactUid } = await knowledge.ingest(space, ['[Ann] decided.']);
    await world.artifacts.remove(space.spaceId, artifactUid);
    const { gone, stillBroken } = await knowledge.repair();
    expect([gone, stillBroken]).toEqual([(await knowledge.entries()).length + gone, 0]);
    expect(await knowledge.rows()).toEqual([]);
  });

  it('logs every failure with the context of the document, and names only at debug level', async () => {
    await knowledge.ingest(space, ['[Zaphod Beeblebrox] decided.']);
    Object.assign(knowledge.faults, {
      embedding: 'fail',
      model: 'fail',
      graph: 'unavailable',
      reader: 'fail',
    });
    await knowledge.ingest(space, ['[Z. Beeblebrox] decided.']);
    knowledge.faults.expansion = 'fail';
    await knowledge.search(space, {});
    const visible = knowledge.logged.filter(({ level }) => level !== 'debug').map(({ text }) => text);
    expect(visible.join('\n')).not.toContain('Beeblebrox');
    expect(knowledge.logged.map(({ text }) => text).join('\n')).toContain('"surface_form"');
    const resolution = visible.find((text) => text.startsWith('degraded entity resolution')) ?? '';
    for (const field of ['entity_type', 'artifact_id', 'error_type', 'error_message'])
      expect(resolution).toContain(`"${field}"`);
    const reading = visible.find((text) => text.startsWith('chunk read by rules')) ?? '';
    for (const field of ['artifact_id', 'chunk_id', 'error_type', 'error_message'])
      expect(reading).toContain(`"${field}"`);
    expect(JSON.stringify(await knowledge.entries())).not.toContain('Beeblebrox');
  });
});
