// Ingest from the request to the last step: what is read, what is rejected, and what a failing chunk or step affects.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JobContext } from '../../src/core/index.ts';
import { CoreError, silentLog, systemClock } from '../../src/core/index.ts';
import { Artifacts } from '../../src/knowledge/artifacts/artifacts.ts';
import { modelCircuitBreaker } from '../../src/knowledge/degradations.ts';
import { TextThreads } from '../../src/knowledge/documents/text-threads.ts';
import type { Space } from '../../src/knowledge/index.ts';
import type { Embedder } from '../../src/knowledge/vectors/embedders.ts';
import type { Reader } from '../../src/knowledge/reading/rules-reader.ts';
import { KnowledgeError } from '../../src/knowledge/index.ts';
import { ingestHandler, ingestJob } from '../../src/knowledge/ingest/ingest-job.ts';
import type { IngestDeps } from '../../src/knowledge/ingest/read-step.ts';
import { chunkRepairs } from '../../src/knowledge/maintenance/repairs.ts';
import { VectorIndex } from '../../src/knowledge/vectors/vector-index.ts';
import type { LedgerEntry } from '../../src/ledger/index.ts';
import { RecordingGraph, bracketReader, exactResolver } from '../support/knowledge-doubles.ts';
import type { KnowledgeWorld } from '../support/knowledge-world.ts';
import { embeddersOf, knowledgeWorld, wordEmbedder } from '../support/knowledge-world.ts';

const { signal } = new AbortController();
const threeChunks = ['[Ann] decided.', '[Bob] decided.', '[Eve] decided.'];
/** Each is a chunk of its own. */
const longText = threeChunks
  .map((text) => `# ${text}\n\n${'Nothing else happened that day. '.repeat(110)}`)
  .join('\n\n');

describe('ingest', () => {
  let world: KnowledgeWorld;
  let space: Space;
  let model: Reader | null;
  let embedder: Embedder | null;
  let graph: RecordingGraph;
  let deps: IngestDeps;
  let artifacts: Artifacts;

  beforeAll(async () => {
    world = await knowledgeWorld();
    await world.jobs.define([ingestJob(2)]);
  });
  afterAll(() => world.dispose());
  beforeEach(async () => {
    space = await world.space();
    model = null;
    embedder = null;
    graph = new RecordingGraph();
    deps = {
      ...world,
      readers: { rules: bracketReader('rules'), model: () => model },
      texts: new TextThreads(systemClock),
      resolver: exactResolver(world),
      reconciler: { reconcile: () => Promise.resolve() },
      embedders: { current: () => embeddersOf(embedder).current() },
      vectors: new VectorIndex(world.database),
      graph,
      log: silentLog,
      breaker: modelCircuitBreaker(world.clock, world.options),
    };
    artifacts = new Artifacts({
      ...deps,
      jobs: world.jobs,
      job: ingestJob(2),
      documents: {
        read: () => Promise.reject(new KnowledgeError('KNOWLEDGE_DOCUMENT_UNREADABLE', 'damaged')),
      },
      maxDocumentBytes: 1_000_000,
    });
  });
  afterEach(() => {
    world.recorded.length = 0;
  });

  const context: JobContext = { id: 'job', attempt: 1, signal, progress: () => undefined };
  /** Ignores its signal and takes this long. */
  const hang = (ms: number): Promise<never> => {
    queueMicrotask(() => void world.clock.advance(ms));
    return new Promise(() => undefined);
  };
  const ingest = (text: string, more: object = {}) =>
    artifacts.ingest(space, { content: { text }, sourceId: 'a', ...more }, signal);
  const run = (revisionId: string, change: Partial<IngestDeps> = {}) =>
    ingestHandler({ ...deps, ...change })({ spaceId: space.spaceId, revisionId }, context);
  const statusOf = async (artifactUid: string) => (await artifacts.get(space, artifactUid)).status;
  const narratives = async () =>
    (await world.events.list({ spaceId: space.spaceId, limit: 20 })).map(({ narrative }) => narrative).sort();

  it('stores a text, enqueues one job, and reports the queued steps (N2)', async () => {
    const accepted = await ingest(longText);
    expect(accepted).toMatchObject({ outcome: 'added', chunks: 3 });
    expect(await statusOf(accepted.artifactUid)).toMatchObject({
      state: 'queued',
      chunks: 3,
      steps: { index: { completed: 3 }, read: { queued: 3 }, graph: { queued: 3 }, embed: { queued: 0 } },
    });
    expect(await ingest(longText)).toMatchObject({ outcome: 'unchanged', jobId: null });
    const counts = await world.jobs.counts();
    expect(counts.reduce((sum, { count }) => sum + count, 0)).toBeGreaterThan(0);
  });

  it('reads, resolves, embeds and adds every chunk to the graph, and is then complete', async () => {
    embedder = wordEmbedder();
    const { revisionId, artifactUid } = await ingest(longText);
    expect(await run(revisionId)).toMatchObject({ result: { chunks: 3 } });
    expect(await narratives()).toEqual(['Ann decided.', 'Bob decided.', 'Eve decided.']);
    expect(graph.chunks).toHaveLength(3);
    const status = await statusOf(artifactUid);
    expect(status).toMatchObject({
      steps: { read: { completed: 3 }, embed: { completed: 3 }, graph: { completed: 3 } },
      readByRules: 3,
      missing: [],
    });
    expect(world.recorded).toEqual([]);
    await run(revisionId);
    expect(graph.chunks).toHaveLength(3);
  });

  it('reads with a model, and by rules with a ledger row when it fails', async () => {
    model = {
      method: 'model',
      read: async (task, callSignal) => {
        if (task.chunk.text.includes('Bob'))
          throw new KnowledgeError('KNOWLEDGE_READING_FAILED', 'unusable twice');
        return bracketReader('model').read(task, callSignal);
      },
    };
    const { revisionId, artifactUid } = await ingest(longText);
    await run(revisionId);
    const found = await world.events.list({ spaceId: space.spaceId, limit: 9 });
    expect(found.map(({ narrative, method }) => `${narrative} ${method}`).sort()).toEqual([
      'Ann decided. model',
      'Bob decided. rules',
      'Eve decided. model',
    ]);
    expect(world.recorded).toMatchObject([
      { kind: 'knowledge.chunk-read-by-rules', cause: 'KNOWLEDGE_READING_FAILED' },
    ]);
    expect(JSON.stringify(world.recorded)).not.toContain('Bob');
    expect(await statusOf(artifactUid)).toMatchObject({
      readByRules: 1,
      modelFallbacks: [{ cause: 'KNOWLEDGE_READING_FAILED', positions: [1] }],
      steps: { read: { completed: 3 } },
    });
  });

  it('writes chunks in order although later ones are read first', async () => {
    const order: string[] = [];
    const isLastRead = Promise.withResolvers<void>();
    model = {
      method: 'model',
      read: async (task, callSignal) => {
        if (task.chunk.text.includes('Ann')) await isLastRead.promise;
        if (task.chunk.text.includes('Eve')) isLastRead.resolve();
        return bracketReader('model').read(task, callSignal);
      },
    };
    const resolver: IngestDeps['resolver'] = {
      resolve: (mentions, ...rest) => {
        order.push(...mentions.map(({ surfaceForm }) => surfaceForm));
        return exactResolver(world).resolve(mentions, ...rest);
      },
    };
    const { revisionId } = await ingest(longText);
    await run(revisionId, { resolver });
    expect(order).toEqual(['Ann', 'Bob', 'Eve']);
  });

  it('stores rejected entries with the chunk; truncated ones are missing', async () => {
    let isTooMuch = true;
    model = {
      method: 'model',
      read: async (task, callSignal) => {
        const reading = await bracketReader('model').read(task, callSignal);
        const refused = { reason: 'event-quote-not-in-text', count: 2 } as const;
        const left = { reason: 'mentions-too-many', count: 7 } as const;
        const hasLeft = isTooMuch && task.chunk.text.includes('Bob');
        return { ...reading, dropped: hasLeft ? [refused, left] : [refused] };
      },
    };
    const { revisionId, artifactUid } = await ingest(longText);
    await run(revisionId);
    expect(await statusOf(artifactUid)).toMatchObject({
      steps: { read: { completed: 3 } },
      dropped: [
        { reason: 'event-quote-not-in-text', count: 6, positions: [0, 1, 2] },
        { reason: 'mentions-too-many', count: 7, positions: [1] },
      ],
      missing: [{ step: 'read', positions: [1], state: 'completed', cause: 'READING_TOO_LARGE' }],
    });
    const [entry] = world.recorded;
    expect(world.recorded).toMatchObject([
      { kind: 'knowledge.reading-truncated', details: { truncated: { 'mentions-too-many': 7 } } },
    ]);
    const repair = chunkRepairs({ ...deps, options: { ...deps.options, backfill: true } }).find(
      ({ kind }) => kind === entry?.kind,
    );
    const row = { ...entry, details: entry?.details ?? {} } as unknown as LedgerEntry;
    expect(await repair?.repair(row, signal)).toMatchObject({ outcome: 'still-broken' });
    isTooMuch = false;
    expect(await repair?.repair(row, signal)).toEqual({ outcome: 'repaired' });
    expect(await statusOf(artifactUid)).toMatchObject({ missing: [], dropped: [{ count: 6 }] });
    expect(world.recorded).toHaveLength(1);
  });

  it('records nothing from a repair except that its reading was truncated', async () => {
    let isBroken = true;
    model = {
      method: 'model',
      read: async (task, callSignal) => {
        if (isBroken) throw new KnowledgeError('KNOWLEDGE_READING_FAILED', 'unusable twice');
        const reading = await bracketReader('model').read(task, callSignal);
        return { ...reading, dropped: [{ reason: 'mentions-too-many', count: 7 }] };
      },
    };
    const { revisionId } = await ingest('[Ann] decided.');
    await run(revisionId);
    const [entry] = world.recorded;
    const kinds = () => world.recorded.map(({ kind }) => kind);
    expect(kinds()).toEqual(['knowledge.chunk-read-by-rules']);
    const repair = (change: Partial<IngestDeps> = {}) =>
      chunkRepairs({ ...deps, ...change })
        .find(({ kind }) => kind === entry?.kind)
        ?.repair({ ...entry, details: entry?.details ?? {} } as unknown as LedgerEntry, signal);
    isBroken = false;
    const resolver = { resolve: () => Promise.reject(new TypeError('It broke.')) };
    expect(await repair({ resolver })).toMatchObject({ outcome: 'still-broken' });
    expect(kinds()).toEqual(['knowledge.chunk-read-by-rules']);
    expect(await repair()).toEqual({ outcome: 'repaired' });
    expect(kinds()).toEqual(['knowledge.chunk-read-by-rules', 'knowledge.reading-truncated']);
  });

  it('stores ten thousand structured mentions and reports how many were truncated', async () => {
    const mentions = Array.from({ length: 10_050 }, (_, index) => ({
      surfaceForm: `Ann ${index}`,
      type: 'person' as const,
      relation: 'member',
      contextClues: {},
    }));
    const { artifactUid } = await ingest('Members.', { mentions });
    const { metadata, status, warnings } = await artifacts.get(space, artifactUid);
    expect(metadata['mentions']).toHaveLength(10_000);
    expect(status.missing).toContainEqual(
      expect.objectContaining({ positions: [], cause: 'READING_TOO_LARGE', state: 'completed' }),
    );
    expect(status.missing[0]?.message).toContain('not stored: 50.');
    expect(warnings).toEqual(['Only the first 10000 of its 10050 structured mentions were used.']);
  });

  it('saves each result of a model at once: a process that dies repeats no call that was paid for', async () => {
    const lastCall = Promise.withResolvers<void>();
    model = {
      method: 'model',
      read: async (task, callSignal) => {
        if (task.chunk.text.includes('Eve')) await lastCall.promise;
        return bracketReader('model').read(task, callSignal);
      },
    };
    const { revisionId, artifactUid } = await ingest(longText);
    const running = run(revisionId);
    const readSteps = async () => (await statusOf(artifactUid)).steps.read;
    await expect.poll(readSteps).toMatchObject({ completed: 2, queued: 1 });
    lastCall.resolve();
    await running;
    expect(await readSteps()).toMatchObject({ completed: 3, queued: 0 });
  });

  it('reconciles entities when it is repeated after all readings were saved', async () => {
    model = bracketReader('model');
    const { revisionId } = await ingest(longText);
    const died = new Error('The process died.');
    await expect(run(revisionId, { reconciler: { reconcile: () => Promise.reject(died) } })).rejects.toBe(
      died,
    );
    const reconciled: string[] = [];
    const reconcile: IngestDeps['reconciler']['reconcile'] = async (revision) =>
      void reconciled.push(revision.revisionId);
    await run(revisionId, { reconciler: { reconcile } });
    expect(reconciled).toEqual([revisionId]);
  });

  it('calls no model for further chunks of a superseded revision', async () => {
    let reads = 0;
    model = {
      method: 'model',
      read: async (task, callSignal) => {
        reads += 1;
        if (reads === 2) await ingest('[Bob] decided.');
        // Without mentions no entity is written, which would show it.
        return { ...(await bracketReader('model').read(task, callSignal)), mentions: [], events: [] };
      },
    };
    const many = Array.from({ length: 30 }, (_, index) => `# ${index}\n\n${'So it was. '.repeat(320)}`);
    const first = await ingest(many.join('\n\n'));
    expect(first.chunks).toBeGreaterThanOrEqual(30);
    expect(await run(first.revisionId)).toEqual({ skipped: 'A newer revision superseded this one.' });
    expect(reads).toBeLessThan(10);
    expect(world.recorded).toEqual([]);
  });

  it('calls no model for data without prose, and estimates no call for it', async () => {
    const reads: string[] = [];
    model = {
      method: 'model',
      read: async (task, callSignal) => {
        reads.push(task.chunk.text);
        return bracketReader('model').read(task, callSignal);
      },
    };
    const data = JSON.stringify({ 'Created At': '2026-03-01', Region: 'Northern Europe', count: 3 });
    const note = JSON.stringify({ 'Created At': '2026-03-01', note: '[Ann] decided to proceed.' });
    expect(await artifacts.estimate(space, { content: { text: data } }, signal)).toMatchObject({
      modelCalls: 0,
    });
    expect(await artifacts.estimate(space, { content: { text: note } }, signal)).toMatchObject({
      modelCalls: 1,
    });
    const { revisionId, artifactUid } = await ingest(data);
    await run(revisionId);
    expect(reads).toEqual([]);
    expect(await statusOf(artifactUid)).toMatchObject({ readByRules: 0, steps: { read: { completed: 1 } } });
    await run((await ingest(note)).revisionId);
    // A model gets the whole record; rules get the sentence.
    expect(reads).toEqual(['Created At: 2026-03-01\nnote: [Ann] decided to proceed.']);
  });

  it('reads by rules when a model times out', async () => {
    model = { method: 'model', read: () => hang(60_000) };
    const { revisionId } = await ingest('[Ann] decided.');
    await run(revisionId);
    expect(await narratives()).toEqual(['Ann decided.']);
    expect(world.recorded).toMatchObject([{ cause: 'DEADLINE_EXCEEDED' }]);
  });

  it('calls no model after two timeouts, in this artifact and the next, until the cooldown ends', async () => {
    let reads = 0;
    let isAway = true;
    model = {
      method: 'model',
      read: (task, callSignal) => {
        reads += 1;
        return isAway ? hang(60_000) : bracketReader('model').read(task, callSignal);
      },
    };
    const handle = ingestHandler(deps);
    const chunks = Array.from(
      { length: 9 },
      (_, index) => `# [Ann${index}] decided.\n\n${'So it was. '.repeat(320)}`,
    );
    const first = await ingest(chunks.join('\n\n'));
    expect(first.chunks).toBeGreaterThanOrEqual(9);
    const { spaceId } = space;
    await handle({ spaceId, revisionId: first.revisionId }, context);
    // Those that were in flight together.
    expect(reads).toBeLessThanOrEqual(4);
    expect(await statusOf(first.artifactUid)).toMatchObject({
      readByRules: first.chunks,
      steps: { read: { completed: first.chunks } },
    });
    expect(world.recorded).toHaveLength(first.chunks);
    expect(new Set(world.recorded.map(({ kind, cause }) => `${kind} ${cause}`))).toEqual(
      new Set(['knowledge.chunk-read-by-rules DEADLINE_EXCEEDED']),
    );
    const before = reads;
    isAway = false;
    const second = await ingest('[Bob] decided.', { sourceId: 'b' });
    await handle({ spaceId, revisionId: second.revisionId }, context);
    expect(reads).toBe(before);
    await world.clock.advance(world.options.cooldownSeconds * 1_000);
    const third = await ingest('[Eve] decided.', { sourceId: 'c' });
    await handle({ spaceId, revisionId: third.revisionId }, context);
    expect(await statusOf(third.artifactUid)).toMatchObject({ readByRules: 0 });
  });

  it('fails one chunk, not the artifact, when its reading cannot be written', async () => {
    const events: IngestDeps['events'] = Object.create(world.events, {
      write: {
        value: (...args: Parameters<IngestDeps['events']['write']>) =>
          args[2].events.some(({ narrative }) => narrative.startsWith('Bob'))
            ? Promise.reject(new RangeError('no'))
            : world.events.write(...args),
      },
    }) as IngestDeps['events'];
    const { revisionId, artifactUid } = await ingest(longText);
    await run(revisionId, { events });
    expect(await narratives()).toEqual(['Ann decided.', 'Eve decided.']);
    const status = await statusOf(artifactUid);
    expect(status.steps.read).toEqual({ completed: 2, failed: 1, skipped: 0, queued: 0 });
    expect(status.missing).toMatchObject([
      { step: 'read', positions: [1], state: 'failed', cause: 'RangeError' },
    ]);
    expect(world.recorded).toMatchObject([{ kind: 'knowledge.chunk-not-read', cause: 'RangeError' }]);
    await run(revisionId);
    expect(await narratives()).toEqual(['Ann decided.', 'Bob decided.', 'Eve decided.']);
  });

  it('resolves again when an entity was removed before it was mentioned', async () => {
    let turns = 0;
    const resolver: IngestDeps['resolver'] = {
      resolve: async (...args) => {
        const results = await exactResolver(world).resolve(...args);
        return turns++ === 0 ? results.map((each) => ({ ...each, entityId: world.ids.uuid() })) : results;
      },
    };
    const { revisionId } = await ingest('[Ann] decided.');
    await run(revisionId, { resolver });
    expect(await narratives()).toEqual(['Ann decided.']);
  });

  it('fails when the state store is down, writes no step row, and continues after what is done', async () => {
    const away = new CoreError('STATE_UNAVAILABLE', 'away');
    let resolved = 0;
    const resolver: IngestDeps['resolver'] = {
      resolve: (...args) => (++resolved === 2 ? Promise.reject(away) : exactResolver(world).resolve(...args)),
    };
    const { revisionId } = await ingest(longText);
    await expect(run(revisionId, { resolver })).rejects.toBe(away);
    expect(await narratives()).toEqual(['Ann decided.']);
    expect(world.recorded).toEqual([]);
    const read: string[] = [];
    await run(revisionId, {
      readers: {
        model: () => null,
        rules: {
          method: 'rules',
          read: (task, callSignal) => {
            read.push(task.chunk.text.slice(0, 5));
            return bracketReader('rules').read(task, callSignal);
          },
        },
      },
    });
    expect(read).toEqual(['# [Bo', '# [Ev']);
  });

  it('is skipped for a revision that was deleted or superseded meanwhile', async () => {
    const first = await ingest('[Ann] decided.');
    await ingest('[Bob] decided.');
    expect(await run(first.revisionId)).toEqual({ skipped: 'A newer revision superseded this one.' });
    expect(await run(world.ids.uuid())).toEqual({ skipped: 'The artifact was deleted.' });
    const { artifactUid, revisionId } = await ingest('[Eve] decided.');
    const resolver: IngestDeps['resolver'] = {
      resolve: async (...args) => {
        const results = await exactResolver(world).resolve(...args);
        await artifacts.delete(space, artifactUid);
        return results;
      },
    };
    expect(await run(revisionId, { resolver })).toEqual({ skipped: 'The artifact was deleted.' });
    expect(world.recorded).toEqual([]);
  });

  it('marks chunks as failed, then as skipped, when the embedder fails, with a ledger row for each', async () => {
    let calls = 0;
    embedder = {
      ...wordEmbedder(),
      maxBatchSize: 1,
      embed: () => {
        calls++;
        return Promise.reject(new KnowledgeError('KNOWLEDGE_EMBEDDING_FAILED', 'down'));
      },
    };
    const { revisionId, artifactUid } = await ingest(longText);
    await run(revisionId);
    expect(calls).toBe(2);
    const status = await statusOf(artifactUid);
    expect(status.steps).toMatchObject({ embed: { failed: 2, skipped: 1 }, read: { completed: 3 } });
    expect(world.recorded.map(({ kind }) => kind)).toEqual(Array(3).fill('knowledge.chunk-not-embedded'));
    embedder = wordEmbedder();
    await run(revisionId);
    expect((await statusOf(artifactUid)).steps.embed).toMatchObject({ completed: 3 });
  });

  it('times out an embedder that hangs', async () => {
    embedder = { ...wordEmbedder(), embed: () => hang(10_000) };
    const { revisionId, artifactUid } = await ingest('[Ann] decided.');
    await run(revisionId);
    expect((await statusOf(artifactUid)).missing).toMatchObject([
      { step: 'embed', state: 'failed', cause: 'DEADLINE_EXCEEDED' },
    ]);
  });

  it('counts vectors of another model as queued', async () => {
    embedder = wordEmbedder('old');
    const { revisionId, artifactUid } = await ingest('[Ann] decided.');
    await run(revisionId);
    embedder = wordEmbedder('new');
    expect((await statusOf(artifactUid)).steps.embed).toMatchObject({ queued: 1, completed: 0 });
  });

  it('reports chunks that are not in the graph', async () => {
    graph.isAway = true;
    const { revisionId, artifactUid } = await ingest(longText);
    await run(revisionId);
    expect((await statusOf(artifactUid)).missing).toMatchObject([
      { step: 'graph', positions: [0, 1, 2], state: 'skipped', cause: 'KNOWLEDGE_GRAPH_UNAVAILABLE' },
    ]);
  });

  it('creates entities of structured mentions without reading the text', async () => {
    const mentions = [
      { surfaceForm: 'Ann', type: 'person', relation: 'owner', contextClues: { email: 'ann@x.org' } },
      { surfaceForm: '\u200b', type: 'person', relation: 'owner', contextClues: {} },
    ] as const;
    const { revisionId, artifactUid } = await ingest('A board.', { mentions });
    await run(revisionId);
    await run(revisionId);
    const view = await artifacts.get(space, artifactUid);
    expect(view.warnings).toEqual([
      'Omitted because they have no visible name: 1 of its structured mentions.',
    ]);
    expect(view.metadata['mentions']).toEqual([mentions[0]]);
  });

  it('removes from the graph what was deleted with an artifact', async () => {
    const { revisionId, artifactUid } = await ingest('[Ann] decided.');
    await run(revisionId);
    await artifacts.delete(space, artifactUid);
    expect(graph.gone).toMatchObject([{ eventIds: [expect.any(String)], entityIds: [expect.any(String)] }]);
    await expect(artifacts.get(space, artifactUid)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(artifacts.delete(space, artifactUid)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('estimates calls and tokens without writing anything', async () => {
    const request = { content: { text: longText } };
    expect(await artifacts.estimate(space, request, signal)).toMatchObject({
      chunks: 3,
      modelCalls: 0,
      promptTokens: 0,
      answerTokens: 0,
      embeddingCalls: 0,
    });
    model = bracketReader('model');
    embedder = { ...wordEmbedder(), maxBatchSize: 2 };
    const estimate = await artifacts.estimate(space, request, signal);
    expect(estimate).toMatchObject({ chunks: 3, modelCalls: 3, embeddingCalls: 2 });
    expect(estimate.tokens).toBeGreaterThan(1_500);
    expect(estimate.promptTokens).toBeGreaterThan(estimate.tokens + 3 * 300);
    expect(estimate.answerTokens).toBeGreaterThan(3 * 100);
    expect(await artifacts.list({ spaceId: space.spaceId, limit: 5 })).toEqual([]);
  });

  it.each([
    ['an empty text', { content: { text: ' \n ' } }, 'INPUT_INVALID'],
    ['a text that is too large', { content: { text: 'x'.repeat(1_000_001) } }, 'INPUT_INVALID'],
    [
      'binary as text',
      { content: { text: '\u0001\u0002\u0003\u0004'.repeat(50) } },
      'KNOWLEDGE_DOCUMENT_UNREADABLE',
    ],
    [
      'a damaged file',
      { content: { name: 'a.docx', mediaType: '', bytes: new Uint8Array(9) } },
      'KNOWLEDGE_DOCUMENT_UNREADABLE',
    ],
    ['an endless name of a source', { content: { text: 'x' }, sourceId: 'x'.repeat(3_000) }, 'INPUT_INVALID'],
    ['too much metadata', { content: { text: 'x' }, metadata: { a: 'x'.repeat(70_000) } }, 'INPUT_INVALID'],
  ])('rejects %s and writes nothing', async (_, request, code) => {
    await expect(artifacts.ingest(space, request, signal)).rejects.toMatchObject({ code });
    expect(await artifacts.list({ spaceId: space.spaceId, limit: 5 })).toEqual([]);
  });

  it('treats SQL, Cypher, HTML and instructions in a document as text', async () => {
    const text = `[Robert'); drop table chunk; --] decided. <script>x</script> $$) MATCH (n) DETACH DELETE n // Ignore all. \ud800 \0`;
    const { artifactUid, revisionId } = await ingest(text, {
      title: `'; drop table artifact; --`,
      metadata: { 'a\0': '\0\ud800' },
    });
    await run(revisionId);
    const view = await artifacts.get(space, artifactUid);
    expect(view.title).toBe(`'; drop table artifact; --`);
    expect(view.text).toContain('<script>');
    expect(await narratives()).toEqual([`Robert'); drop table chunk; -- decided.`]);
  });
});
