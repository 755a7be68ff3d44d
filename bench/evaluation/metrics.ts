// Quality of a ranking, given graded judgments.

/** Grades by document; only those above 0 are relevant. */
export type Judgments = ReadonlyMap<string, number>;

const relevant = (judgments: Judgments): readonly (readonly [string, number])[] =>
  [...judgments].filter(([, grade]) => grade > 0);

/** Gains are the grades, as in BEIR; 0 when nothing is relevant. */
export function ndcg(ranking: readonly string[], judgments: Judgments, depth: number): number {
  const discounted = (grades: readonly number[]): number =>
    grades.slice(0, depth).reduce((sum, grade, index) => sum + Math.max(0, grade) / Math.log2(index + 2), 0);
  const ideal = discounted(
    relevant(judgments)
      .map(([, grade]) => grade)
      .sort((a, b) => b - a),
  );
  return ideal === 0 ? 0 : discounted(ranking.map((id) => judgments.get(id) ?? 0)) / ideal;
}

/** The share of the relevant documents among the first `depth`. */
export function recall(ranking: readonly string[], judgments: Judgments, depth: number): number {
  const wanted = relevant(judgments);
  const found = new Set(ranking.slice(0, depth));
  return wanted.length === 0 ? 0 : wanted.filter(([id]) => found.has(id)).length / wanted.length;
}

/** One over the rank of the first relevant document; 0 when none is among the first `depth`. */
export function reciprocalRank(ranking: readonly string[], judgments: Judgments, depth: number): number {
  const place = ranking.slice(0, depth).findIndex((id) => (judgments.get(id) ?? 0) > 0);
  return place < 0 ? 0 : 1 / (place + 1);
}

export interface RankingFigures {
  readonly ndcgAt10: number;
  readonly recallAt5: number;
  readonly recallAt10: number;
  readonly mrrAt10: number;
}

/** The mean over all queries with relevant documents. */
export function rankingFigures(
  rankings: readonly { readonly ranking: readonly string[]; readonly judgments: Judgments }[],
): RankingFigures {
  const judged = rankings.filter(({ judgments }) => relevant(judgments).length > 0);
  const mean =
    (measure: (ranking: readonly string[], judgments: Judgments, depth: number) => number) =>
    (depth: number) =>
      judged.reduce((sum, { ranking, judgments }) => sum + measure(ranking, judgments, depth), 0) /
      Math.max(1, judged.length);
  return {
    ndcgAt10: mean(ndcg)(10),
    recallAt5: mean(recall)(5),
    recallAt10: mean(recall)(10),
    mrrAt10: mean(reciprocalRank)(10),
  };
}
