// Reembedding in the background when the model changes; the local model; an evaluation of search.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { evaluate } from '../../bench/evaluation/evaluate.ts';
import { resolveConfig } from '../../src/config/index.ts';
import type { JobContext, JobProgress, JobView } from '../../src/core/index.ts';
import { silentLog, systemClock } from '../../src/core/index.ts';
import type { Embedder, Embedders } from '../../src/knowledge/vectors/embedders.ts';
import { KnowledgeError } from '../../src/knowledge/index.ts';
import { embedChunks, reembedHandler } from '../../src/knowledge/ingest/embed-step.ts';
import { LocalEmbedder, isOfflineModelInstalled } from '../../src/knowledge/vectors/embedders.ts';
import { VectorIndex } from '../../src/knowledge/vectors/vector-index.ts';
import { sql } from '../../src/platform/postgres/index.ts';
import type { KnowledgeWorld } from '../support/knowledge-world.ts';
import { embeddersOf, knowledgeWorld, wordEmbedder } from '../support/knowledge-world.ts';
import { databaseUrl, temporaryFolder } from '../support/services.ts';

const { signal } = new AbortController();

describe('reembedding', () => {
  let world: KnowledgeWorld;
  let vectors: VectorIndex;
  beforeAll(async () => {
    world = await knowledgeWorld();
    vectors = new VectorIndex(world.database);
  });
  afterAll(() => world.dispose());

  async function run(embedders: Embedders, state: JobView['state'] = 'completed') {
    const steps: JobProgress[] = [];
    const jobs = { get: async () => ({ state }) as JobView };
    const handler = reembedHandler({ ...world, vectors, embedders, jobs, log: silentLog });
    const context: JobContext = { id: 'j', attempt: 1, signal, progress: (step) => steps.push(step) };
    return { outcome: await handler({}, context), steps };
  }
  const missing = (spaceId: number, { model }: Embedder) => vectors.missing(spaceId, model);

  it('embeds every chunk with the current model, then deletes the old vectors', async () => {
    const space = await world.space();
    const old = wordEmbedder('old');
    const { stored } = await world.accept(space, { text: 'one. two. three.' }, ['one.', 'two.', 'three.']);
    await world.clock.advance(3_600_000);
    await run(embeddersOf(old));
    expect(await missing(space.spaceId, old)).toEqual({ missing: 0, total: 3 });
    const next: Embedder = { ...wordEmbedder('next', 8), maxBatchSize: 2 };
    const { outcome, steps } = await run(embeddersOf(next));
    expect(outcome).toEqual({ result: { chunks: 3 } });
    expect(steps.map(({ done }) => done)).toEqual([2, 3]);
    expect(await missing(space.spaceId, next)).toEqual({ missing: 0, total: 3 });
    expect(await missing(space.spaceId, old)).toEqual({ missing: 3, total: 3 });
    const marks = await world.artifacts.steps(stored[0]?.revisionId ?? '');
    expect(marks.filter(({ step }) => step === 'embed').map(({ method }) => method)).toEqual([
      'next',
      'next',
      'next',
    ]);
    expect((await run(embeddersOf(next))).outcome).toEqual({ result: { chunks: 0 } });
  });

  it('skips chunks whose ingest job is active and embeds them once it has ended', async () => {
    const space = await world.space();
    const { revisionId } = await world.accept(space, { text: 'fresh' });
    await world.database.query(
      sql`update artifact_revision set job_id = ${world.ids.uuid()} where revision_id = ${revisionId}`,
    );
    const embedder = wordEmbedder('fresh-model');
    await run(embeddersOf(embedder), 'running');
    expect(await missing(space.spaceId, embedder)).toEqual({ missing: 1, total: 1 });
    await run(embeddersOf(embedder), 'completed');
    expect(await missing(space.spaceId, embedder)).toEqual({ missing: 0, total: 1 });
  });

  it('isolates a rejected text from its batch, at ingest and afterwards', async () => {
    const words = wordEmbedder('picky');
    let calls = 0;
    const picky: Embedder = {
      ...words,
      embed: async (texts, given) => {
        calls += 1;
        if (texts.some((text) => text.includes('two')))
          throw new KnowledgeError('KNOWLEDGE_EMBEDDING_FAILED', 'Too long.', { isRetryable: false });
        return words.embed(texts, given);
      },
    };
    const embedders = embeddersOf(picky);
    await run(embeddersOf(words)); // left by other tests
    for (const embedThem of ['at ingest', 'afterwards'] as const) {
      const space = await world.space();
      const { stored } = await world.accept(space, { text: 'one. two. three.' }, ['one.', 'two.', 'three.']);
      world.recorded.length = 0;
      if (embedThem === 'afterwards')
        expect((await run(embedders)).outcome).toEqual({ result: { chunks: 2 } });
      else await embedChunks({ ...world, vectors, embedders, log: silentLog }, '', stored, signal);
      expect(await missing(space.spaceId, picky)).toEqual({ missing: 1, total: 3 });
      const refused = String(stored.find(({ text }) => text.includes('two'))?.chunkId);
      expect(world.recorded).toMatchObject([
        { kind: 'knowledge.chunk-not-embedded', subject: refused, cause: 'EMBEDDING_REFUSED' },
      ]);
    }
    // They are not sent again every few minutes: that is left to their repair.
    const before = calls;
    expect((await run(embedders)).outcome).toEqual({ result: { chunks: 0 } });
    expect(calls).toBe(before);
  });

  it('stops when the embedder fails, keeps what is done, and continues the next time', async () => {
    const space = await world.space();
    await world.accept(space, { text: 'one. two. three.' }, ['one.', 'two.', 'three.']);
    await world.clock.advance(3_600_000);
    const good: Embedder = { ...wordEmbedder('later'), maxBatchSize: 2 };
    await run(embeddersOf(good)); // left by other tests
    await world.accept(space, { sourceId: 'x', text: 'four. five. six.' }, ['four.', 'five.', 'six.']);
    await world.clock.advance(3_600_000);
    let calls = 0;
    const failing: Embedder = {
      ...good,
      embed: (texts, given) => (++calls > 1 ? Promise.reject(new Error('away')) : good.embed(texts, given)),
    };
    expect((await run(embeddersOf(failing))).outcome).toMatchObject({
      skipped: expect.stringMatching('done before: 2') as string,
    });
    expect((await missing(space.spaceId, good)).missing).toBe(1);
    await run(embeddersOf(good));
    expect((await missing(space.spaceId, good)).missing).toBe(0);
  });

  it('does nothing without an embedder', async () => {
    expect((await run(embeddersOf(null))).outcome).toEqual({ skipped: 'This test has no embedder.' });
  });
});

describe('the local model', () => {
  it('embeds in a thread; texts with similar meaning are near', async () => {
    expect(isOfflineModelInstalled()).toBe(true);
    const embedder = new LocalEmbedder(systemClock, null);
    try {
      const [cat, kitten, tax] = await embedder.embed(
        ['a cat sleeps', 'a kitten is asleep', 'income tax law'],
        signal,
      );
      const cosine = (a?: Float32Array, b?: Float32Array): number =>
        (a ?? new Float32Array()).reduce((sum, value, index) => sum + value * (b?.[index] ?? 0), 0);
      expect(cat).toHaveLength(512);
      expect(cosine(cat, kitten)).toBeGreaterThan(cosine(cat, tax) + 0.2);
      const gone = AbortSignal.abort(new Error('gone'));
      await expect(embedder.embed(['x'], gone)).rejects.toThrow('gone');
    } finally {
      await embedder.close();
    }
  });
});

describe('an evaluation', () => {
  it('ranks a collection in a temporary store and deletes it', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'qrels'));
    const documents = ['ships in the harbor', 'trains at the station', 'planes over the sea'];
    await writeFile(
      join(folder, 'corpus.jsonl'),
      documents.map((text, index) => JSON.stringify({ _id: `d${index}`, title: '', text })).join('\n'),
    );
    await writeFile(join(folder, 'queries.jsonl'), '{"_id": "q", "text": "which trains?"}');
    await writeFile(join(folder, 'qrels/test.tsv'), 'q\td1\t1');
    const env = { DATABASE_URL: databaseUrl(), EMBEDDER: 'none', HEADWORKS_DATA_DIR: folder };
    const config = resolveConfig({ flags: {}, env, file: undefined, cwd: folder });
    const steps = new Set<string>();
    const measure = (isCalibrating: boolean) =>
      evaluate(
        config,
        { kind: 'beir', data: folder, isCalibrating },
        { env, signal, onProgress: (what) => steps.add(what) },
      );
    await expect(measure(true)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(/^Nothing was calibrated: EMBEDDER is none\./) as string,
    });
    const report = await measure(false);
    expect(report.figures).toMatchObject({
      kind: 'beir',
      documents: 3,
      queries: 1,
      embedder: null,
      lexical: { ndcg_at_10: 1, recall_at_5: 1, recall_at_10: 1, mrr_at_10: 1 },
      hybrid: null,
    });
    expect([...steps]).toEqual(['documents', 'queries']);
  });
});
