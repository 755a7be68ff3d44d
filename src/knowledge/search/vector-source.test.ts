import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { silentLog } from '../../core/index.ts';
import type { Blend, Embedders } from '../vectors/embedder.ts';
import type { RankedChunk } from './types.ts';
import { Warnings } from './types.ts';
import type { VectorSourceDeps } from './vector-source.ts';
import { VectorSource } from './vector-source.ts';

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
    const warnings = new Warnings();
    const space = { spaceId: 1, language: 'english' };
    const request = { space, query, limit: 5, filter: {}, warnings };
    const ranking = await source.rank(request, Promise.resolve(lexical), signal);
    return { ranking, warning: warnings.toText() };
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
