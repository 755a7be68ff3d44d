// Vectors in the background: another embedder takes over while search goes on; the offline model; what evaluations say.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JobContext, JobProgress } from '../../src/core/index.ts';
import { silentLog, systemClock } from '../../src/core/index.ts';
import { evaluate } from '../../src/app/evaluate.ts';
import { resolveConfig } from '../../src/config/index.ts';
import type { Embedder, Embedders } from '../../src/knowledge/index.ts';
import { embedAgainHandler } from '../../src/knowledge/index.ts';
import { PostgresVectorIndex } from '../../src/knowledge/postgres/postgres-vector-index.ts';
import { openLocalEmbedder } from '../../src/knowledge/vectors/local/local-embedder.ts';
import { isOfflineModelInstalled } from '../../src/knowledge/vectors/local/offline-model.ts';
import type { KnowledgeWorld } from '../support/knowledge-world.ts';
import { embeddersOf, knowledgeWorld, wordEmbedder } from '../support/knowledge-world.ts';
import { databaseUrl, temporaryFolder } from '../support/services.ts';

const { signal } = new AbortController();

describe('embedding again', () => {
  let world: KnowledgeWorld;
  let vectors: PostgresVectorIndex;
  beforeAll(async () => {
    world = await knowledgeWorld();
    vectors = new PostgresVectorIndex(world.database);
  });
  afterAll(() => world.dispose());

  async function run(embedders: Embedders) {
    const steps: JobProgress[] = [];
    const handler = embedAgainHandler({ ...world, vectors, embedders, log: silentLog });
    const context: JobContext = { id: 'j', attempt: 1, signal, progress: (step) => steps.push(step) };
    return { outcome: await handler({}, context), steps };
  }
  const missing = (spaceId: number, { model }: Embedder) => vectors.missing(spaceId, model);

  it('gives every chunk a vector of the embedder of today, then forgets the old ones', async () => {
    const space = await world.space();
    const old = wordEmbedder('old');
    const { stored } = await world.accept(space, { text: 'one. two. three.' }, ['one.', 'two.', 'three.']);
    await world.clock.advance(3_600_000);
    await run(embeddersOf(old));
    expect(await missing(space.spaceId, old)).toEqual({ missing: 0, total: 3 });
    const next: Embedder = { ...wordEmbedder('next', 8), textsAtOnce: 2 };
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

  it('leaves chunks to their own ingest that came in just now', async () => {
    const space = await world.space();
    await world.accept(space, { text: 'fresh' });
    const embedder = wordEmbedder('fresh-model');
    await run(embeddersOf(embedder));
    expect(await missing(space.spaceId, embedder)).toEqual({ missing: 1, total: 1 });
  });

  it('stops when the embedder fails, keeps what it has, and goes on the next time', async () => {
    const space = await world.space();
    await world.accept(space, { text: 'one. two. three.' }, ['one.', 'two.', 'three.']);
    await world.clock.advance(3_600_000);
    const good: Embedder = { ...wordEmbedder('later'), textsAtOnce: 2 };
    await run(embeddersOf(good)); // what other tests left behind
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

  it('has nothing to do where nobody embeds', async () => {
    expect((await run(embeddersOf(null))).outcome).toEqual({ skipped: 'This test has no embedder.' });
  });
});

describe('the offline model', () => {
  it('embeds in a thread: texts of like meaning are near', async () => {
    expect(isOfflineModelInstalled()).toBe(true);
    const embedder = openLocalEmbedder(systemClock, null);
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
  }, 120_000);
});

describe('an evaluation', () => {
  it('ranks a collection in a store of its own, and leaves nothing behind', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'qrels'));
    const documents = ['ships in the harbour', 'trains at the station', 'planes over the sea'];
    await writeFile(
      join(folder, 'corpus.jsonl'),
      documents.map((text, index) => JSON.stringify({ _id: `d${index}`, title: '', text })).join('\n'),
    );
    await writeFile(join(folder, 'queries.jsonl'), '{"_id": "q", "text": "which trains?"}');
    await writeFile(join(folder, 'qrels/test.tsv'), 'q\td1\t1');
    const env = { DATABASE_URL: databaseUrl(), EMBEDDER: 'none', HEADWORKS_DATA_DIR: folder };
    const config = resolveConfig({ flags: {}, env, file: undefined, cwd: folder });
    const steps = new Set<string>();
    const report = await evaluate(
      config,
      { kind: 'beir', data: folder, isCalibrating: true },
      { env, signal, onProgress: (what) => steps.add(what) },
    );
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
