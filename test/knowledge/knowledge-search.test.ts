// Search as a whole: lexical and vector ranking, the graph on request, and a warning for everything omitted.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silentLog } from '../../src/core/index.ts';
import { offGraph, supersededCause } from '../../src/knowledge/graph/graph.ts';
import type {
  ExpansionRequest,
  Graph,
  SearchResponse,
  SearchRequest,
  Space,
} from '../../src/knowledge/index.ts';
import type { Embedder, Embedders } from '../../src/knowledge/vectors/embedders.ts';
import type { SearchDeps } from '../../src/knowledge/search/search.ts';
import { Search } from '../../src/knowledge/search/search.ts';
import { KnowledgeError, searchDefaults } from '../../src/knowledge/index.ts';
import { LexicalIndex } from '../../src/knowledge/search/lexical-index.ts';
import { SearchStore } from '../../src/knowledge/search/results.ts';
import { VectorIndex } from '../../src/knowledge/vectors/vector-index.ts';
import { bracketReader, exactResolver } from '../support/knowledge-doubles.ts';
import type { KnowledgeWorld } from '../support/knowledge-world.ts';
import { embeddersOf, knowledgeWorld, wordEmbedder } from '../support/knowledge-world.ts';

const { signal } = new AbortController();

describe('search', () => {
  let world: KnowledgeWorld;
  beforeAll(async () => {
    world = await knowledgeWorld();
  });
  afterAll(() => world.dispose());

  const graphOf = (expand: Graph['expand']): SearchDeps['graph'] => ({
    ...offGraph,
    backend: 'sql',
    expand,
  });

  function search(
    space: Space,
    request: Partial<SearchRequest>,
    parts: Partial<SearchDeps> = {},
  ): Promise<SearchResponse> {
    const service = new Search({
      lexical: new LexicalIndex(world.database),
      embedders: embeddersOf(null),
      vectors: new VectorIndex(world.database),
      store: new SearchStore(world.database),
      graph: offGraph,
      ledger: world.ledger,
      clock: world.clock,
      log: silentLog,
      options: world.options,
      ...parts,
    });
    return service.search(space, { ...searchDefaults, query: 'harbor', ...request }, signal);
  }

  it('counts chunks that wait for the separate graph, without those of older revisions', async () => {
    const space = await world.space();
    const { stored } = await world.accept(space, { text: 'One. Two.' }, ['One.', 'Two.']);
    const [old = 0, failed = 0] = stored.map(({ chunkId }) => chunkId);
    await world.artifacts.saveSteps(space.spaceId, [
      { chunkId: old, step: 'graph', status: 'skipped', cause: supersededCause },
      { chunkId: failed, step: 'graph', status: 'failed', cause: 'KNOWLEDGE_GRAPH_UNAVAILABLE' },
    ]);
    const store = new SearchStore(world.database);
    expect(await store.countWaitingForGraph(space.spaceId, signal)).toBe(1);
  });

  async function embedded(space: Space, embedder: Embedder, texts: readonly string[]): Promise<void> {
    const vectors = new VectorIndex(world.database);
    for (const text of texts) {
      const { stored } = await world.accept(space, { title: text, text });
      const [vector] = await embedder.embed([text], signal);
      if (vector)
        await vectors.put(
          space.spaceId,
          embedder.model,
          stored.map(({ chunkId }) => ({ chunkId, vector })),
        );
    }
  }

  /** Documents in which people in brackets decide, read into events. */
  async function decided(space: Space, texts: readonly string[]): Promise<void> {
    for (const text of texts) {
      const { stored, artifactUid, revisionId } = await world.accept(space, { title: text, text });
      for (const chunk of stored) {
        const place = {
          spaceId: space.spaceId,
          artifactUid,
          revisionId,
          chunkId: chunk.chunkId,
        };
        const about = {
          chunk,
          title: text,
          sourceTs: null,
          language: 'english',
          type: 'note',
          caller: 'test',
        };
        const { mentions, events } = await bracketReader('rules').read(about as never, signal);
        const results = await exactResolver(world).resolve(mentions, place, 'test', signal);
        await world.events.write(place, 'rules', { mentions, results, events });
      }
    }
  }

  const titlesOf = ({ primaryResults }: SearchResponse) => primaryResults.map(({ title }) => title);

  it('returns results with positions and expand options, and nothing that was not requested', async () => {
    const space = await world.space();
    const { artifactUid, revisionId } = await world.accept(space, {
      type: 'email',
      sourceSystem: 'gmail',
      sourceId: 'm1',
      title: 'Mail',
      text: 'Ships leave the harbor.',
    });
    const answer = await search(space, {});
    expect(answer).toEqual({
      primaryResults: [
        {
          chunkId: expect.any(Number) as number,
          artifactUid,
          revisionId,
          type: 'email',
          sourceSystem: 'gmail',
          sourceId: 'm1',
          title: 'Mail',
          heading: null,
          sourceTs: null,
          text: 'Ships leave the harbor.',
          startChar: 0,
          endChar: 23,
          score: expect.any(Number) as number,
          highlights: [{ start: 16, end: 22 }],
        },
      ],
      relatedContext: null,
      entities: null,
      expandOptions: expect.any(Array) as unknown[],
      warning: null,
    });
    expect(answer.expandOptions.map(({ parameter }) => parameter)).toContain('graph_expand');
    expect((await search(space, { query: 'nowhere' })).expandOptions).toEqual(answer.expandOptions);
  });

  it.each([
    ['an empty query', { query: ' \n' }],
    ['a query that shows nothing', { query: '\u200b\u2060 \u3164\ufeff' }],
    ['a limit of 0', { limit: 0 }],
    ['a limit of 51', { limit: 51 }],
    ['a budget of 51', { graphBudget: 51 }],
    ['half a seed', { graphSeedLimit: 0.5 }],
    ['a time that ends before it begins', { filter: { from: new Date(2), to: new Date(1) } }],
  ])('rejects %s', async (_, request) => {
    await expect(search(await world.space(), request)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });

  it('orders lexically equal results by vectors', async () => {
    const space = await world.space();
    const embedder = wordEmbedder();
    await embedded(space, embedder, ['harbor one two', 'harbor boats quay']);
    const query = 'harbor boats-quay';
    const answer = await search(
      space,
      { query: 'harbor' },
      { embedders: embeddersOf(sameAs(embedder, query)) },
    );
    expect(titlesOf(answer)[0]).toBe('harbor boats quay');
    expect(answer.warning).toBeNull();
  });

  it('finds chunks by vectors alone with an embedder that uses rank fusion', async () => {
    const space = await world.space();
    const embedder: Embedder = { ...wordEmbedder('strong'), blend: { kind: 'rrf', k: 60 } };
    await embedded(space, embedder, ['boats at the quay', 'something else entirely']);
    const meaning = embeddersOf(sameAs(embedder, 'boats at the quay'));
    expect(titlesOf(await search(space, { query: 'harbor' }, { embedders: meaning }))[0]).toBe(
      'boats at the quay',
    );
    expect(titlesOf(await search(space, { query: '"harbor"' }, { embedders: meaning }))).toEqual([]);
    const filter = { types: ['email'] } as const;
    expect(titlesOf(await search(space, { query: 'harbor', filter }, { embedders: meaning }))).toEqual([]);
  });

  it('returns lexical results with a warning when the query cannot be embedded (T4)', async () => {
    const space = await world.space();
    await world.accept(space, { title: 'found', text: 'harbor' });
    const failing = embedderThat(() =>
      Promise.reject(new KnowledgeError('KNOWLEDGE_EMBEDDING_FAILED', 'no key')),
    );
    const answer = await search(space, {}, { embedders: failing });
    expect(titlesOf(answer)).toEqual(['found']);
    expect(answer.warning).toContain('could not be embedded (KNOWLEDGE_EMBEDDING_FAILED)');
  });

  it('waits for a hanging embedder only until the timeout', async () => {
    const space = await world.space();
    await world.accept(space, { title: 'found', text: 'harbor' });
    const hangs = embedderThat(() => hanging(world.options.embeddingTimeoutMs));
    const answer = await search(space, {}, { embedders: hangs });
    expect(titlesOf(answer)).toEqual(['found']);
    expect(answer.warning).toContain('DEADLINE_EXCEEDED');
  });

  it('reports how many chunks are not embedded yet', async () => {
    const space = await world.space();
    const embedder = wordEmbedder();
    await embedded(space, embedder, ['harbor one']);
    await world.accept(space, { text: 'harbor two' });
    const answer = await search(space, {}, { embedders: embeddersOf(embedder) });
    expect(answer.primaryResults).toHaveLength(2);
    expect(answer.warning).toBe(
      'Not every chunk is embedded yet (missing: 1 of 2); lexical search covers all of them.',
    );
  });

  it('returns lexical results with the remedy when the store cannot compare vectors', async () => {
    const space = await world.space();
    await world.accept(space, { title: 'found', text: 'harbor' });
    const vectors = Object.assign(new VectorIndex(world.database), {
      capability: { available: false, reason: 'No extension.', remedy: 'Install pgvector.' } as const,
    });
    const answer = await search(space, {}, { embedders: embeddersOf(wordEmbedder()), vectors });
    expect(titlesOf(answer)).toEqual(['found']);
    expect(answer.warning).toContain('Install pgvector.');
  });

  it('returns no warning when no embedder is configured', async () => {
    const space = await world.space();
    await world.accept(space, { text: 'harbor' });
    expect((await search(space, {})).warning).toBeNull();
  });

  describe('with the graph', () => {
    it('expands the first results within limits and returns related items with reason and evidence', async () => {
      const space = await world.space();
      await decided(space, [
        '[Ann] decided. harbor',
        '[Ann] decided. elsewhere',
        '[Bob] decided. harbor harbor',
      ]);
      const expansions: ExpansionRequest[] = [];
      const { rows } = await eventsIn(space);
      const elsewhere = rows.find(({ title }) => title.includes('elsewhere'));
      const graph = graphOf(async (request) => {
        expansions.push(request);
        return [
          { eventId: elsewhere?.id ?? '', reason: 'same_actor:Ann', viaEntityId: world.ids.uuid(), score: 1 },
          {
            eventId: world.ids.uuid(),
            reason: 'same_actor:Unknown',
            viaEntityId: world.ids.uuid(),
            score: 1,
          },
        ];
      });
      const request = {
        graphExpand: true,
        graphSeedLimit: 1,
        graphBudget: 7,
        graphFilters: ['Decision'],
      } as const;
      const answer = await search(space, { ...request, includeEntities: true }, { graph });
      expect(expansions).toMatchObject([{ spaceId: space.spaceId, budget: 7, categories: ['Decision'] }]);
      expect(expansions[0]?.seedEventIds).toHaveLength(1);
      expect(answer.relatedContext).toMatchObject([
        {
          type: 'event',
          id: elsewhere?.id,
          category: 'Decision',
          reason: 'same_actor:Ann',
          summary: 'Ann decided.',
          evidence: [{ quote: 'decided.', startChar: 6, endChar: 14 }],
        },
      ]);
      expect(answer.entities?.map(({ name }) => name).toSorted()).toEqual(['Ann', 'Bob']);
      expect(answer.warning).toBeNull();
    });

    it('returns empty lists when nothing is found and does not call the graph without seeds', async () => {
      const space = await world.space();
      await world.accept(space, { text: 'harbor' });
      const graph = graphOf(() => Promise.reject(new Error('must not be called')));
      const answer = await search(space, { graphExpand: true, includeEntities: true }, { graph });
      expect([answer.relatedContext, answer.entities, answer.warning]).toEqual([[], [], null]);
    });

    it('returns entities without the graph when only entities are requested', async () => {
      const space = await world.space();
      await decided(space, ['[Ann] decided. harbor']);
      const answer = await search(space, { includeEntities: true });
      expect(answer.relatedContext).toBeNull();
      expect(answer.entities).toMatchObject([{ name: 'Ann', type: 'person', mentions: 1, relations: [] }]);
    });

    it('returns structured mentions with their relations, once per document', async () => {
      const space = await world.space();
      const pieces = ['First harbor.', 'Second harbor.'];
      const { artifactUid, revisionId } = await world.accept(space, { text: pieces.join(' ') }, pieces);
      const place = { spaceId: space.spaceId, artifactUid, revisionId, chunkId: null };
      const { mentions } = await bracketReader('rules').read(
        { chunk: { text: '[Ann] [Bob]' } } as never,
        signal,
      );
      const results = await exactResolver(world).resolve(mentions, place, 'test', signal);
      const repeated = <T>([ann, bob]: readonly T[]) => [ann, bob, ann].filter((one) => one !== undefined);
      await world.events.write(place, 'structured', {
        mentions: repeated(mentions),
        results: repeated(results),
        relations: ['owner', 'author', 'author'],
        events: [],
      });
      const { entities, primaryResults } = await search(space, { includeEntities: true });
      expect(primaryResults).toHaveLength(2);
      expect(entities).toMatchObject([
        { name: 'Ann', mentions: 2, relations: ['author', 'owner'] },
        { name: 'Bob', mentions: 1, relations: ['author'] },
      ]);
      const filter = { entityIds: [entities?.[1]?.entityId ?? ''] };
      expect((await search(space, { filter })).primaryResults).toHaveLength(2);
    });

    it.each([
      [
        'is away',
        () => Promise.reject(new KnowledgeError('KNOWLEDGE_GRAPH_UNAVAILABLE', 'AGE extension not loaded')),
        'Graph expansion unavailable: AGE extension not loaded',
        'KNOWLEDGE_GRAPH_UNAVAILABLE',
      ],
      ['breaks', () => Promise.reject(new TypeError('bug')), 'Graph expansion unavailable: bug', 'TypeError'],
      ['takes too long', () => hanging(500), 'Graph expansion timed out after 500 ms', 'DEADLINE_EXCEEDED'],
    ])(
      'returns results with a warning and a ledger row when the graph %s',
      async (_, expand, warning, cause) => {
        const space = await world.space();
        await decided(space, ['[Ann] decided. harbor']);
        const answer = await search(space, { graphExpand: true }, { graph: graphOf(expand) });
        expect(answer.primaryResults).toHaveLength(1);
        expect(answer.relatedContext).toEqual([]);
        expect(answer.warning).toContain(warning);
        expect(world.recorded.filter(({ subject }) => subject === String(space.spaceId))).toMatchObject([
          { kind: 'knowledge.expansion-failed', cause },
        ]);
      },
    );

    it('returns related items found in time when the graph is slow for some results', async () => {
      const space = await world.space();
      await decided(space, ['[Ann] decided. harbor', '[Bob] decided. harbor', '[Ann] decided. elsewhere']);
      const { rows } = await eventsIn(space);
      const elsewhere = rows.find(({ title }) => title.includes('elsewhere'))?.id ?? '';
      const seeds = rows.filter(({ title }) => title.includes('harbor')).map(({ id }) => id);
      const expansions: ExpansionRequest[] = [];
      const graph = graphOf((request) => {
        expansions.push(request);
        if (expansions.length > 1) return new Promise<never>(() => undefined);
        const found = { eventId: elsewhere, viaEntityId: world.ids.uuid(), score: 1 };
        return Promise.resolve([{ ...found, reason: 'same_actor:Ann' }]);
      });
      const real = new SearchStore(world.database);
      const store = Object.assign(new SearchStore(world.database), {
        events: async (...given: Parameters<typeof real.events>) => {
          const found = await real.events(...given);
          setImmediate(() => void world.clock.advance(world.options.expansionTimeoutMs));
          return found;
        },
      });
      const answer = await search(space, { graphExpand: true }, { graph, store });
      expect(
        expansions
          .map(({ seedEventIds }) => seedEventIds)
          .flat()
          .toSorted(),
      ).toEqual(seeds.toSorted());
      expect(expansions[0]?.exceptEventIds?.toSorted()).toEqual(seeds.toSorted());
      expect(answer.relatedContext).toMatchObject([{ id: elsewhere, reason: 'same_actor:Ann' }]);
      expect(answer.warning).toBe('Graph expansion timed out after 500 ms; related items are incomplete.');
      expect(world.recorded.filter(({ subject }) => subject === String(space.spaceId))).toMatchObject([
        { kind: 'knowledge.expansion-failed', cause: 'DEADLINE_EXCEEDED' },
      ]);
    });

    it('reports that the graph is off and records nothing', async () => {
      const space = await world.space();
      await decided(space, ['[Ann] decided. harbor']);
      const answer = await search(space, { graphExpand: true });
      expect(answer.relatedContext).toEqual([]);
      expect(answer.warning).toContain('GRAPH_BACKEND=off');
      expect(world.recorded.filter(({ subject }) => subject === String(space.spaceId))).toEqual([]);
    });

    it('skips a result whose events cannot be loaded and expands the others', async () => {
      const space = await world.space();
      await decided(space, ['[Ann] decided. harbor', '[Bob] decided. harbor']);
      const real = new SearchStore(world.database);
      let calls = 0;
      const store = Object.assign(new SearchStore(world.database), {
        eventIdsOf: async (...given: Parameters<typeof real.eventIdsOf>) => {
          if (++calls === 1) return new Promise<never>(() => undefined);
          const found = await real.eventIdsOf(...given);
          setImmediate(() => void world.clock.advance(world.options.chunkLookupTimeoutMs));
          return found;
        },
      });
      const expansions: ExpansionRequest[] = [];
      const graph = graphOf(async (request) => {
        expansions.push(request);
        return [];
      });
      const answer = await search(space, { graphExpand: true }, { graph, store });
      expect(expansions[0]?.seedEventIds).toHaveLength(1);
      expect(answer.warning).toBe(
        'Not every result was expanded (omitted: 1 of 2): their events could not be loaded.',
      );
    });
  });

  async function eventsIn({ spaceId }: Space) {
    const events = await world.events.list({ spaceId, limit: 100 });
    const rows = [];
    for (const { eventId, artifactUid } of events) {
      const revision = await world.artifacts.get(spaceId, artifactUid);
      rows.push({ id: eventId, title: revision?.title ?? '' });
    }
    return { rows };
  }

  /** Never replies, and takes this long. */
  function hanging(ms: number): Promise<never> {
    void world.clock.advance(ms);
    return new Promise<never>(() => undefined);
  }

  /** Embeds any query as that text. */
  const sameAs = (embedder: Embedder, text: string): Embedder => ({
    ...embedder,
    embed: (_, given) => embedder.embed([text], given),
  });
  const embedderThat = (embed: Embedder['embed']): Embedders => embeddersOf({ ...wordEmbedder(), embed });
});
