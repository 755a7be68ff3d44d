import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fuse, rerank } from './rank.ts';

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
