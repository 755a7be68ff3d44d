import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { silentLog } from '../../core/index.ts';
import type { Blend, Embedders } from '../vectors/embedders.ts';
import type { RankedChunk } from './types.ts';
import type { VectorSourceDeps } from './search.ts';
import { VectorSource, fuse, rerank } from './search.ts';

const { signal } = new AbortController();

function opened(blend: Blend, changes: Partial<VectorSourceDeps> = {}) {
  const recorded: unknown[] = [];
  const embedders: Embedders = {
    current: () => ({
      state: 'ready',
      embedder: { model: 'm', blend, embed: async (texts) => texts.map(() => Float32Array.of(1)) },
    }),
  };
  const source = new VectorSource({
    embedders,
    vectors: {
      capability: { available: true },
      cosines: async (_space, _model, _query, chunkIds) => new Map(chunkIds.map((id) => [id, 1 / id])),
      nearest: async () => [
        { chunkId: 9, cosine: 0.9 },
        { chunkId: 1, cosine: 0.5 },
      ],
      missing: async () => ({ missing: 0, total: 2 }),
    },
    ledger: { record: async (entry) => void recorded.push(entry) },
    clock: new VirtualClock(),
    log: silentLog,
    options: { embeddingTimeoutMs: 1_000 },
    ...changes,
  });
  const rank = async (query: string, lexical: readonly RankedChunk[] = [{ chunkId: 1, score: 2 }]) => {
    const warnings = new Set<string>();
    const space = { spaceId: 1, language: 'english' };
    const request = { space, query, limit: 5, filter: {}, warnings };
    const ranking = await source.rank(request, Promise.resolve(lexical), signal);
    return { ranking, warning: [...warnings].join(' ') || null };
  };
  return { source, rank, recorded };
}

const rrf: Blend = { kind: 'rrf', k: 60 };

describe('VectorSource', () => {
  it('returns the nearest chunks for rank fusion, and the cosines of lexical results for re-ranking', async () => {
    const fused = await opened(rrf).rank('ships');
    expect(fused.ranking?.chunks.map(({ chunkId }) => chunkId)).toEqual([9, 1]);
    const reranked = await opened({ kind: 'rerank', weight: 0.2, depth: 100 }).rank('ships');
    expect(reranked.ranking?.chunks).toEqual([{ chunkId: 1, score: 1 }]);
  });

  it('adds no vector-only results to a query of exact phrases', async () => {
    const { ranking } = await opened(rrf).rank('"ships at sea"');
    expect(ranking?.chunks.map(({ chunkId }) => chunkId)).toEqual([1]);
  });

  it('is silent and needs no lexical depth when no embedder is configured', async () => {
    const { source, rank, recorded } = opened(rrf, {
      embedders: { current: () => ({ state: 'not-configured', why: 'EMBEDDER is none.' }) },
    });
    expect(source.lexicalDepth()).toBe(0);
    expect(await rank('ships')).toEqual({ ranking: null, warning: null });
    expect(recorded).toEqual([]);
  });

  it('warns and records a degradation when the query cannot be embedded', async () => {
    const embed = () => Promise.reject(new Error('no reply'));
    const { rank, recorded } = opened(rrf, {
      embedders: { current: () => ({ state: 'ready', embedder: { model: 'm', blend: rrf, embed } }) },
    });
    const { ranking, warning } = await rank('ships');
    expect(ranking).toBeNull();
    expect(warning).toContain('Results are lexical only: the query could not be embedded');
    expect(recorded).toMatchObject([{ kind: 'knowledge.search-without-vectors', subject: 'm' }]);
  });
});

const hits = (...scores: readonly number[]) => scores.map((score, index) => ({ chunkId: index + 1, score }));
const ids = (list: readonly { readonly chunkId: number }[]) => list.map(({ chunkId }) => chunkId);

describe('rerank', () => {
  it('blends lexical scores and cosines', () => {
    const ranked = rerank(
      hits(10, 9),
      new Map([
        [1, 0.1],
        [2, 0.9],
      ]),
      { weight: 0.2, depth: 100 },
    );
    expect(ids(ranked)).toEqual([2, 1]);
    expect(ranked[0]?.score).toBeCloseTo(0.8 * 0.9 + 0.2 * 0.9);
  });

  it('uses the average cosine for a chunk without a vector', () => {
    const ranked = rerank(
      hits(10, 9.9, 9.8),
      new Map([
        [1, 0],
        [3, 1],
      ]),
      { weight: 0.2, depth: 100 },
    );
    expect(ids(ranked)).toEqual([3, 2, 1]);
  });

  it('changes nothing without vectors, and not the order beyond its depth', () => {
    expect(rerank(hits(3, 2), new Map(), { weight: 0.2, depth: 100 })).toEqual(hits(3, 2));
    const deep = rerank(
      hits(4, 3, 2, 1),
      new Map([
        [1, 0],
        [2, 1],
        [4, 1],
      ]),
      { weight: 0.9, depth: 2 },
    );
    expect(ids(deep)).toEqual([2, 1, 3, 4]);
  });

  it('changes nothing with a weight of 0', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0.1, max: 50, noNaN: true }), { minLength: 1, maxLength: 30 }),
        (scores) => {
          const words = hits(...scores.toSorted((a, b) => b - a));
          const cosines = new Map(words.map(({ chunkId }) => [chunkId, Math.cos(chunkId)]));
          expect(ids(rerank(words, cosines, { weight: 0, depth: 100 }))).toEqual(ids(words));
        },
      ),
    );
  });
});

describe('fuse', () => {
  it('adds one over k plus the rank in each list', () => {
    const fused = fuse([hits(9, 8), [{ chunkId: 2 }, { chunkId: 7 }]], 60);
    expect(ids(fused)).toEqual([2, 1, 7]);
    expect(fused[0]?.score).toBeCloseTo(1 / 62 + 1 / 61);
  });
});
