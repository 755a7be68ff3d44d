// How good a ranking is, held against judgements of what is relevant and how much.

/** Grades by document; only those above 0 are relevant. */
export type Judgements = ReadonlyMap<string, number>;

const relevant = (judgements: Judgements): readonly (readonly [string, number])[] =>
  [...judgements].filter(([, grade]) => grade > 0);

/** Gains are the grades themselves, as BEIR has it; 0 when nothing is relevant. */
export function ndcg(ranking: readonly string[], judgements: Judgements, depth: number): number {
  const discounted = (grades: readonly number[]): number =>
    grades.slice(0, depth).reduce((sum, grade, index) => sum + Math.max(0, grade) / Math.log2(index + 2), 0);
  const ideal = discounted(
    relevant(judgements)
      .map(([, grade]) => grade)
      .sort((a, b) => b - a),
  );
  return ideal === 0 ? 0 : discounted(ranking.map((id) => judgements.get(id) ?? 0)) / ideal;
}

/** The share of what is relevant that is among the first `depth`. */
export function recall(ranking: readonly string[], judgements: Judgements, depth: number): number {
  const wanted = relevant(judgements);
  const found = new Set(ranking.slice(0, depth));
  return wanted.length === 0 ? 0 : wanted.filter(([id]) => found.has(id)).length / wanted.length;
}

/** One over the place of the first that is relevant; 0 when none is among the first `depth`. */
export function reciprocalRank(ranking: readonly string[], judgements: Judgements, depth: number): number {
  const place = ranking.slice(0, depth).findIndex((id) => (judgements.get(id) ?? 0) > 0);
  return place < 0 ? 0 : 1 / (place + 1);
}

export interface RankingFigures {
  readonly ndcgAt10: number;
  readonly recallAt5: number;
  readonly recallAt10: number;
  readonly mrrAt10: number;
}

/** The mean over all queries for which anything is relevant; the others say nothing about a ranking. */
export function rankingFigures(
  rankings: readonly { readonly ranking: readonly string[]; readonly judgements: Judgements }[],
): RankingFigures {
  const judged = rankings.filter(({ judgements }) => relevant(judgements).length > 0);
  const mean =
    (measure: (ranking: readonly string[], judgements: Judgements, depth: number) => number) =>
    (depth: number) =>
      judged.reduce((sum, { ranking, judgements }) => sum + measure(ranking, judgements, depth), 0) /
      Math.max(1, judged.length);
  return {
    ndcgAt10: mean(ndcg)(10),
    recallAt5: mean(recall)(5),
    recallAt10: mean(recall)(10),
    mrrAt10: mean(reciprocalRank)(10),
  };
}
