// Benchmarks of knowledge: search latency by size of the space, with and without the graph, and ingest rate.
import { searchDefaults } from '../src/knowledge/index.ts';
import type { Figure } from './figure.ts';
import { openJobBench } from './knowledge/job.ts';
import type { KnowledgeBench } from './knowledge/world.ts';
import { fillTo, openKnowledgeBench, ingestOne } from './knowledge/world.ts';

export interface KnowledgeBenchOptions {
  readonly databaseUrl: string;
  /** Up to 10,000 chunks only. */
  readonly isQuick: boolean;
}

export async function knowledgeFigures({
  databaseUrl,
  isQuick,
}: KnowledgeBenchOptions): Promise<readonly Figure[]> {
  const bench = await openKnowledgeBench(databaseUrl);
  try {
    const figures: Figure[] = [];
    for (const size of isQuick ? [1_000, 10_000] : [1_000, 10_000, 100_000]) {
      // Documents of one chunk where the rate is measured, longer ones where only the number of chunks matters.
      const rate = await fillTo(bench, size, size > 10_000 ? 25 : 1);
      if (size === 10_000) figures.push(ingestFigure(rate));
      figures.push(...(await searchFigures(bench, size)));
    }
    figures.push(await embeddedFigure(bench));
    figures.push(...(await jobFigures(bench, isQuick)));
    return figures;
  } finally {
    await bench.close();
  }
}

const ingestFigure = (rate: number): Figure => ({
  name: 'accepted: stored and searchable, from 1,000 to 10,000 chunks',
  value: rate,
  unit: 'chunks/s',
});

/** Short documents of one chunk, and long ones with chunks of the maximum size; best of three rounds each. */
async function jobFigures({ database }: KnowledgeBench, isQuick: boolean): Promise<readonly Figure[]> {
  const bench = await openJobBench(database);
  const kinds = [
    { what: 'documents of 120 words', documents: isQuick ? 300 : 1_000, minutesEach: 1 },
    { what: 'long documents, chunks of 900 tokens', documents: isQuick ? 10 : 30, minutesEach: 30 },
  ];
  try {
    const figures: Figure[] = [];
    for (const { what, documents, minutesEach } of kinds) {
      await bench.ingestAll(Math.ceil(documents / 4), minutesEach);
      const turns: { readonly whole: number; readonly accepted: number }[] = [];
      for (let turn = 0; turn < 3; turn++)
        turns.push({
          accepted: await bench.acceptAlone(documents, minutesEach),
          whole: await bench.ingestAll(documents, minutesEach),
        });
      const [best = { whole: 0, accepted: 0 }] = turns.sort((a, b) => b.whole - a.whole);
      const isShort = minutesEach === 1;
      figures.push({
        name: `ingest without model and embedder, until read, resolved and in the graph: ${what}`,
        value: best.whole,
        unit: 'chunks/s',
        against: { name: 'accepted alone', value: best.accepted },
        ...(isShort ? { goal: 'at least 200 chunks/s', isMet: best.whole >= 200 } : {}),
      });
    }
    return figures;
  } finally {
    await bench.close();
  }
}

const queryCount = 200;

/** Each query once, best of three rounds, to exclude other load of the machine. */
async function searchFigures(bench: KnowledgeBench, size: number): Promise<readonly Figure[]> {
  const queries = Array.from({ length: queryCount }, (_, index) =>
    bench.corpus.query(bench.sample[index % bench.sample.length] ?? bench.corpus.document()),
  );
  const rounds: Record<'plain' | 'expanded', number>[] = [];
  for (let round = 0; round < 3; round++)
    rounds.push({
      plain: await medianMs(queries, (query) => search(bench, query, false)),
      expanded: await medianMs(queries, (query) => search(bench, query, true)),
    });
  const best = (name: 'plain' | 'expanded'): number => Math.min(...rounds.map((round) => round[name]));
  const isLargest = size === 100_000;
  return [
    {
      name: `search, ${size.toLocaleString('en')} chunks, p50`,
      value: best('plain'),
      unit: 'ms',
      ...(isLargest ? { goal: 'under 25 ms', isMet: best('plain') < 25 } : {}),
    },
    {
      name: `search with graph expansion, ${size.toLocaleString('en')} chunks, p50`,
      value: best('expanded'),
      unit: 'ms',
      ...(isLargest ? { goal: 'under 60 ms', isMet: best('expanded') < 60 } : {}),
    },
  ];
}

async function search(
  { search: service, space }: KnowledgeBench,
  query: string,
  graphExpand: boolean,
): Promise<void> {
  const answer = await service.search(
    space,
    { ...searchDefaults, query, graphExpand },
    new AbortController().signal,
  );
  if (answer.warning !== null) throw new Error(answer.warning);
  if (answer.primaryResults.length === 0) throw new Error(`Nothing was found for "${query}".`);
}

async function medianMs(queries: readonly string[], run: (query: string) => Promise<void>): Promise<number> {
  const times: number[] = [];
  for (const query of queries) {
    const startedAt = performance.now();
    await run(query);
    times.push(performance.now() - startedAt);
  }
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}

const embeddedCount = 3_000;
const dimensions = 512;

/** With a constant embedder: the cost of storing and indexing vectors. */
async function embeddedFigure(bench: KnowledgeBench): Promise<Figure> {
  const startedAt = performance.now();
  for (let done = 0; done < embeddedCount; done += 32) {
    const revisions = await Promise.all(Array.from({ length: 32 }, () => ingestOne(bench)));
    const chunks = await Promise.all(revisions.map((revisionId) => bench.artifacts.chunks(revisionId)));
    await bench.vectors.put(
      bench.space.spaceId,
      'bench',
      chunks.flat().map(({ chunkId }) => ({ chunkId, vector: vectorOf(chunkId) })),
    );
  }
  const rate = (embeddedCount / (performance.now() - startedAt)) * 1000;
  return {
    name: `ingest with vectors of ${dimensions} dimensions, kept and indexed`,
    value: rate,
    unit: 'chunks/s',
    goal: 'at least 50 chunks/s',
    isMet: rate >= 50,
  };
}

function vectorOf(seed: number): Float32Array {
  const vector = Float32Array.from({ length: dimensions }, (_, index) =>
    Math.sin(seed * 12.9898 + index * 78.233),
  );
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}
