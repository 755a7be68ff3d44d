// Founding document 004, its three error tables and its timeout budget, row by row: that very fault is injected, then
// how it is handled, what the ledger says, and that the repair makes it good.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Space } from '../../src/knowledge/index.ts';
import { sql } from '../../src/platform/postgres/index.ts';
import type { FaultyKnowledge } from '../support/faulty-knowledge.ts';
import { openFaultyKnowledge } from '../support/faulty-knowledge.ts';
import type { KnowledgeWorld } from '../support/knowledge-world.ts';
import { knowledgeWorld } from '../support/knowledge-world.ts';

describe('knowledge when a part fails', () => {
  let world: KnowledgeWorld;
  let house: FaultyKnowledge;
  let space: Space;
  beforeAll(async () => {
    world = await knowledgeWorld();
  });
  afterAll(() => world.dispose());
  beforeEach(async () => {
    house = await openFaultyKnowledge(world);
    space = await world.space();
  });

  const entitiesOf = async () => house.desk.list({ spaceId: space.spaceId, limit: 50 });
  const entityCalled = async (name: string) =>
    (await entitiesOf()).find(({ canonicalName }) => canonicalName === name);
  const names = async () => (await entitiesOf()).map(({ canonicalName }) => canonicalName).sort();
  const eventCount = async () => (await world.events.list({ spaceId: space.spaceId, limit: 50 })).length;
  const allRepaired = async () => {
    const { stillBroken } = await house.repair();
    expect(stillBroken).toBe(0);
    expect(await house.rows()).toEqual([]);
  };
  const nothingRepaired = async () => {
    const before = await house.rows();
    const { repaired } = await house.repair();
    expect(repaired).toBe(0);
    expect(await house.rows()).toEqual(before);
  };

  /** Entities that were made until then, with their names and mentions, and events with actors; as they are now. */
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
    ] as const)('makes the entity without a vector when embedding %s', async (_, fault, cause, waited) => {
      // Candidates are looked for meanwhile, in real time.
      house = await openFaultyKnowledge(world, { candidatesTimeoutMs: 600_000 });
      house.faults.embedding = fault;
      await house.ingest(space, ['[Alice Chen] decided.']);
      expect(await entityCalled('Alice Chen')).toMatchObject({
        needsReview: true,
        reviewReason: 'embedding-missing',
        embeddingModel: null,
      });
      expect(await eventCount()).toBe(1);
      expect(await house.rows()).toEqual([
        `knowledge.chunk-not-embedded ${cause}`,
        `knowledge.entity-embedding-missing ${cause}`,
      ]);
      expect(house.waitedMs).toEqual(waited);
      for (const { details } of await house.entries())
        expect(details).toMatchObject({
          error_type: cause,
          error_message: expect.stringMatching(/It broke|10000 ms/) as string,
        });
      await nothingRepaired();
      house.faults.embedding = 'none';
      await allRepaired();
      expect(await entityCalled('Alice Chen')).toMatchObject({
        needsReview: false,
        embeddingModel: 'words-16',
      });
    });

    it.each([
      ['fails', 'fail', 'TypeError', []],
      ['takes longer than 5 s', 'hang', 'DEADLINE_EXCEEDED', [5_000]],
    ] as const)('makes a new entity when the query for candidates %s', async (_, fault, cause, waited) => {
      await house.ingest(space, ['[Alice Chen] decided.']);
      house.faults.candidates = fault;
      await house.ingest(space, ['[Alice Chen] decided.']);
      expect(await names()).toEqual(['Alice Chen', 'Alice Chen']);
      expect(await house.rows()).toEqual([`knowledge.candidates-unknown ${cause}`]);
      expect(house.waitedMs).toEqual(waited);
      await nothingRepaired();
      house.faults.candidates = 'none';
      await allRepaired();
      expect(await names()).toEqual(['Alice Chen']);
    });

    it.each([
      ['fails', 'fail', 'TypeError', []],
      ['takes longer than 30 s', 'hang', 'DEADLINE_EXCEEDED', [30_000]],
    ] as const)('makes the entity apart and flagged when the model %s', async (_, fault, cause, waited) => {
      await house.ingest(space, ['[Alice Chen] decided.']);
      house.faults.model = fault;
      await house.ingest(space, ['[A. Chen] decided.']);
      expect(await entityCalled('A. Chen')).toMatchObject({
        needsReview: true,
        reviewReason: 'confirmation-failed',
      });
      expect(await house.rows()).toEqual([`knowledge.confirmation-failed ${cause}`]);
      expect(house.waitedMs).toEqual(waited);
      await nothingRepaired();
      house.faults.model = 'none';
      await allRepaired();
      expect(await names()).toEqual(['Alice Chen']);
    });

    it.each([
      ['no JSON', 'Sure! They are {the same'],
      ['no known decision', '{"decision": "maybe so", "candidate": 1, "reason": "who knows"}'],
      ['5 MB of it', '{"decision": "same" '.repeat(250_000)],
    ])(
      'treats an answer that is %s, twice, as uncertain: apart, paired, and asked again',
      async (_, answer) => {
        await house.ingest(space, ['[Alice Chen] decided.']);
        house.faults.model = { answer };
        const before = house.asked();
        await house.ingest(space, ['[A. Chen] decided.']);
        expect(house.asked() - before).toBe(2);
        expect(await names()).toEqual(['A. Chen', 'Alice Chen']);
        expect(await house.desk.review(space, 10)).toMatchObject([{ state: 'open' }]);
        expect(await house.rows()).toEqual(['knowledge.confirmation-failed KNOWLEDGE_CONFIRMATION_FAILED']);
        await nothingRepaired();
        house.faults.model = 'none';
        await allRepaired();
        expect(await names()).toEqual(['Alice Chen']);
      },
    );

    it('changes nothing of what was there before, whatever fails at once', async () => {
      await house.ingest(space, ['[Ann] decided.', '[Bob] decided. [Eve] decided.']);
      const until = world.clock.now();
      const before = await rowsUntil(until);
      expect(before.map((rows) => rows.length)).toEqual([3, 3, 3, 3, 3]);
      await world.clock.advance(60_000);
      Object.assign(house.faults, { embedding: 'fail', candidates: 'fail', model: 'fail', graph: 'away' });
      await house.ingest(space, ['[Ann] decided.', '[Bob] decided. [Eve Smith] decided.']);
      expect(await eventCount()).toBe(6);
      expect(await rowsUntil(until)).toEqual(before);
    });

    it('never blocks events and never drops a mention, whatever fails at once', async () => {
      Object.assign(house.faults, { embedding: 'fail', candidates: 'fail', model: 'fail', graph: 'away' });
      await house.ingest(space, ['[Ann] decided.', '[Bob] decided. [Eve] decided.']);
      expect(await names()).toEqual(['Ann', 'Bob', 'Eve']);
      expect(await eventCount()).toBe(3);
    });
  });

  describe('graph operations', () => {
    it('skips the graph while it is away, and puts it in when it is back', async () => {
      house.faults.graph = 'away';
      const { revisionId } = await house.ingest(space, ['[Ann] decided.', '[Bob] decided.']);
      expect(await house.steps(revisionId)).toEqual([
        'graph skipped',
        'graph skipped',
        'read done rules',
        'read done rules',
      ]);
      const row = 'knowledge.graph-skipped KNOWLEDGE_GRAPH_UNAVAILABLE';
      expect(await house.rows()).toEqual([row, row]);
      expect(house.logged.filter(({ level }) => level === 'warn')).toHaveLength(2);
      await nothingRepaired();
      house.faults.graph = 'there';
      await allRepaired();
      expect([...house.graph.entities.values()].sort()).toEqual(['Ann', 'Bob']);
      expect(house.graph.edges.size).toBe(2);
      expect(await house.steps(revisionId)).toContain('graph done');
    });

    it.each([
      ['is refused', 'fail', 'TypeError'],
      ['takes longer than 5 s', 'hang', 'DEADLINE_EXCEEDED'],
    ] as const)(
      'goes on with the others when a node %s, and does not call it done',
      async (_, fault, cause) => {
        house.faults.badNodes = { Bob: fault };
        const { revisionId } = await house.ingest(space, ['[Ann] decided. [Bob] decided.', '[Eve] decided.']);
        expect([...house.graph.entities.values()].sort()).toEqual(['Ann', 'Eve']);
        expect((await house.steps(revisionId)).filter((step) => step.startsWith('graph'))).toEqual([
          'graph done',
          'graph failed',
        ]);
        expect(await house.rows()).toEqual([`knowledge.graph-failed ${cause}`]);
        expect(house.waitedMs.every((ms) => ms === 5_000)).toBe(true);
        await nothingRepaired();
        house.faults.badNodes = {};
        await allRepaired();
        expect([...house.graph.entities.values()].sort()).toEqual(['Ann', 'Bob', 'Eve']);
        expect(await house.steps(revisionId)).not.toContain('graph failed');
      },
    );

    it('does not call it done when an edge takes longer than 5 s', async () => {
      house.faults.badEdges = 'hang';
      const { revisionId } = await house.ingest(space, ['[Ann] decided.']);
      expect(await house.steps(revisionId)).toContain('graph failed');
      expect(house.waitedMs).toEqual([5_000]);
      expect(await house.rows()).toEqual(['knowledge.graph-failed DEADLINE_EXCEEDED']);
      house.faults.badEdges = 'none';
      await allRepaired();
      expect(house.graph.edges.size).toBe(1);
    });

    it('draws edges anew after a merge, and later when the graph is away', async () => {
      await house.ingest(space, ['[Ann] decided.', '[Bob] decided.']);
      const [ann, bob] = [await entityCalled('Ann'), await entityCalled('Bob')];
      const pair = [ann?.entityId ?? '', bob?.entityId ?? ''] as const;
      await house.desk.merge(space, ...pair, 'the same', 'admin');
      house.faults.graph = 'away';
      expect(await house.keeper.refresh(space.spaceId, pair, new AbortController().signal)).toContain('AGE');
      expect([...house.graph.entities.values()].sort()).toEqual(['Ann', 'Bob']);
      house.faults.graph = 'there';
      await allRepaired();
      expect([...house.graph.entities.values()]).toEqual(['Ann']);
    });

    it('remembers what has to be taken out while the graph is away', async () => {
      const { artifactUid } = await house.ingest(space, ['[Ann] decided.']);
      house.faults.graph = 'away';
      const gone = await world.artifacts.remove(space.spaceId, artifactUid);
      await house.keeper.forget(space.spaceId, gone ?? { eventIds: [], entityIds: [] });
      expect(await house.entries()).toMatchObject([{ subject: `space:${space.spaceId}` }]);
      house.faults.graph = 'there';
      await allRepaired();
      expect(house.graph.entities.size).toBe(0);
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
    ] as const)('gives the results alone when expansion %s', async (_, fault, cause, warning, waited) => {
      await house.ingest(space, ['[Ann] decided.', '[Ann] decided.']);
      house.faults.expansion = fault;
      const answer = await house.search(space, { graphSeedLimit: 1 });
      expect(answer.primaryResults).toHaveLength(2);
      expect(answer.relatedContext).toEqual([]);
      expect(answer.warning).toContain(warning);
      expect(house.logged.map(({ text }) => text).join()).toContain('"seeds":1');
      expect(house.waitedMs).toEqual(waited);
      expect(await house.rows()).toEqual([`knowledge.expansion-failed ${cause}`]);
      await nothingRepaired();
      house.faults.expansion = 'none';
      await allRepaired();
      const after = await house.search(space, { graphSeedLimit: 1 });
      expect(after).toMatchObject({ relatedContext: [{ reason: 'same_actor:Ann' }], warning: null });
    });

    it('says which part of the graph is missing: chunks that wait, and a graph that is empty', async () => {
      house.faults.graph = 'away';
      await house.ingest(space, ['[Ann] decided.']);
      house.faults.graph = 'there';
      await house.ingest(space, ['[Bob] decided.']);
      const behind = await house.search(space, {});
      expect(behind.warning).toContain('events of these results that it lacks: 1 of 2');
      expect(behind.warning).toContain('not in the graph yet: 1;');
      await allRepaired();
      expect((await house.search(space, {})).warning).toBeNull();
      house.graph.events.clear();
      expect(house.behind()).toBe(1);
      expect((await house.search(space, {})).warning).toContain('it lacks: 2 of 2');
      expect(house.behind()).toBe(2);
    });

    it('gives the results alone when AGE is not there', async () => {
      await house.ingest(space, ['[Ann] decided.']);
      house.faults.graph = 'away';
      const answer = await house.search(space, { includeEntities: true });
      expect(answer.primaryResults).toHaveLength(1);
      expect(answer).toMatchObject({
        relatedContext: [],
        warning: 'Graph expansion unavailable: AGE extension not loaded.',
      });
      expect(await house.rows()).toEqual(['knowledge.expansion-failed KNOWLEDGE_GRAPH_UNAVAILABLE']);
      await nothingRepaired();
      house.faults.graph = 'there';
      await allRepaired();
    });

    it.each([
      ['fails', 'fail', 'TypeError', []],
      ['takes longer than 10 s', 'hang', 'DEADLINE_EXCEEDED', [10_000]],
    ] as const)('goes by words when embedding the query %s', async (_, fault, cause, waited) => {
      house.faults.embedding = 'none';
      await house.ingest(space, ['[Ann] decided.']);
      house.faults.embedding = fault;
      const wish = { graphExpand: false };
      const answer = await house.search(space, wish);
      expect(answer.primaryResults).toHaveLength(1);
      expect(answer.warning).toContain(`the query could not be embedded (${cause})`);
      expect(house.waitedMs).toEqual(waited);
      const row = `knowledge.search-without-vectors ${cause}`;
      expect(await house.rows()).toEqual([row]);
      await house.search(space, wish);
      expect(await house.entries()).toMatchObject([{ subject: 'words-16', count: 2 }]);
      await nothingRepaired();
      house.faults.embedding = 'none';
      await allRepaired();
      expect((await house.search(space, wish)).warning).toBeNull();
    });

    it.each([
      ['fails', 'fail', 'TypeError', []],
      ['takes longer than 2 s', 'hang', 'DEADLINE_EXCEEDED', [2_000]],
    ] as const)(
      'leaves out a result whose events cannot be found when that %s',
      async (_, fault, cause, waited) => {
        const { stored } = await house.ingest(space, ['[Ann] decided.', '[Bob] decided.']);
        await house.ingest(space, ['Elsewhere [Ann] decided. And [Bob] decided.']);
        const [ann, bob] = stored.map(({ chunkId }) => chunkId);
        house.faults.lookup = { [ann ?? 0]: fault };
        const answer = await house.search(space, { query: 'Ann Bob decided', graphSeedLimit: 50 });
        expect(answer.primaryResults.map(({ chunkId }) => chunkId)).toEqual(
          expect.arrayContaining([ann, bob]),
        );
        expect(answer.warning).toContain('Not every result was expanded');
        expect(house.waitedMs).toEqual(waited);
        expect(await house.rows()).toEqual([`knowledge.chunk-lookup-failed ${cause}`]);
        expect(await house.entries()).toMatchObject([
          // While one hangs, time runs for the others, too.
          {
            subject: String(space.spaceId),
            details: { chunk_ids: expect.arrayContaining([ann]) as number[] },
          },
        ]);
        await nothingRepaired();
        house.faults.lookup = {};
        await allRepaired();
        expect((await house.search(space, { query: 'Ann Bob decided' })).warning).toBeNull();
      },
    );
  });

  describe('reading', () => {
    it.each([
      ['fails', 'fail', 'TypeError', []],
      ['takes longer than its time', 'hang', 'DEADLINE_EXCEEDED', [60_000]],
    ] as const)(
      'is done by rules when the model %s, and again by the model',
      async (_, fault, cause, waited) => {
        house.faults.reader = fault;
        const { revisionId } = await house.ingest(space, ['[Ann] decided.']);
        expect(await house.steps(revisionId)).toContain('read done rules');
        expect(await house.rows()).toEqual([`knowledge.chunk-read-by-rules ${cause}`]);
        expect(house.waitedMs).toEqual(waited);
        await nothingRepaired();
        house.faults.reader = 'none';
        await allRepaired();
        expect(await house.steps(revisionId)).toEqual(['graph done', 'read done model']);
        expect(await world.events.list({ spaceId: space.spaceId, limit: 9 })).toMatchObject([
          { method: 'model' },
        ]);
      },
    );
  });

  it('records nothing for parts that nobody configured', async () => {
    house = await openFaultyKnowledge(world, {}, 'off');
    await house.ingest(space, ['[Ann] decided.']);
    await house.search(space, {});
    expect(await house.rows()).toEqual([]);
    expect(house.logged.filter(({ level }) => level !== 'debug')).toEqual([]);
  });

  it('closes rows of parts that are no longer wanted', async () => {
    Object.assign(house.faults, { embedding: 'fail', reader: 'fail', graph: 'away' });
    await house.ingest(space, ['[Ann] decided.']);
    expect(await house.rows()).toHaveLength(4);
    Object.assign(house.faults, { embedding: 'not-configured', reader: 'not-configured', graph: 'off' });
    await allRepaired();
  });

  it('closes rows of what was removed meanwhile', async () => {
    Object.assign(house.faults, { embedding: 'fail', reader: 'fail', graph: 'away', candidates: 'fail' });
    const { artifactUid } = await house.ingest(space, ['[Ann] decided.']);
    await world.artifacts.remove(space.spaceId, artifactUid);
    const { gone, stillBroken } = await house.repair();
    expect([gone, stillBroken]).toEqual([(await house.entries()).length + gone, 0]);
    expect(await house.rows()).toEqual([]);
  });

  it('logs every failure with the context of the document, and names only at debug level', async () => {
    await house.ingest(space, ['[Zaphod Beeblebrox] decided.']);
    Object.assign(house.faults, { embedding: 'fail', model: 'fail', graph: 'away', reader: 'fail' });
    await house.ingest(space, ['[Z. Beeblebrox] decided.']);
    house.faults.expansion = 'fail';
    await house.search(space, {});
    const loud = house.logged.filter(({ level }) => level !== 'debug').map(({ text }) => text);
    expect(loud.join('\n')).not.toContain('Beeblebrox');
    expect(house.logged.map(({ text }) => text).join('\n')).toContain('"surface_form"');
    const resolution = loud.find((text) => text.startsWith('degraded entity resolution')) ?? '';
    for (const field of ['entity_type', 'artifact_id', 'error_type', 'error_message'])
      expect(resolution).toContain(`"${field}"`);
    const reading = loud.find((text) => text.startsWith('chunk read by rules')) ?? '';
    for (const field of ['artifact_id', 'chunk_id', 'error_type', 'error_message'])
      expect(reading).toContain(`"${field}"`);
    expect(JSON.stringify(await house.entries())).not.toContain('Beeblebrox');
  });
});
