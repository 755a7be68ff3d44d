import { describe, expect, it } from 'vitest';
import { ndcg, rankingFigures, recall, reciprocalRank } from './metrics.ts';

const judged = (grades: Record<string, number>) => new Map(Object.entries(grades));

describe('measures of a ranking', () => {
  const judgments = judged({ a: 3, b: 1, c: 0, d: -1 });

  it('nDCG is 1 for the best order, less for others, and uses grades', () => {
    expect(ndcg(['a', 'b', 'x'], judgments, 10)).toBe(1);
    const swapped = (1 + 3 / Math.log2(3)) / (3 + 1 / Math.log2(3));
    expect(ndcg(['b', 'a'], judgments, 10)).toBeCloseTo(swapped);
    expect(ndcg(['d', 'c', 'x'], judgments, 10)).toBe(0);
    expect(ndcg(['x', 'a'], judgments, 1)).toBe(0);
  });

  it('recall counts relevant documents of any grade', () => {
    expect(recall(['a', 'x', 'b'], judgments, 2)).toBe(0.5);
    expect(recall(['a', 'x', 'b'], judgments, 3)).toBe(1);
  });

  it('reciprocal rank uses the first relevant document', () => {
    expect(reciprocalRank(['c', 'd', 'b', 'a'], judgments, 10)).toBeCloseTo(1 / 3);
    expect(reciprocalRank(['c', 'd', 'b', 'a'], judgments, 2)).toBe(0);
  });

  it('means exclude queries without relevant documents', () => {
    const figures = rankingFigures([
      { ranking: ['a'], judgments: judged({ a: 1 }) },
      { ranking: ['x'], judgments: judged({ a: 1 }) },
      { ranking: ['a'], judgments: judged({ a: 0 }) },
    ]);
    expect(figures).toEqual({ ndcgAt10: 0.5, recallAt5: 0.5, recallAt10: 0.5, mrrAt10: 0.5 });
    expect(rankingFigures([]).ndcgAt10).toBe(0);
  });
});
