// Words that stand together in the query should stand together in the text.

export interface QueryWord {
  readonly term: string;
  /** Where it stands in the query, from 1 on; stop words count. */
  readonly positions: readonly number[];
  /** How rare it is; 0 when every chunk has it. */
  readonly idf: number;
}

/** Neighbours in the query, in its order. */
export interface WordPair {
  readonly first: string;
  readonly second: string;
  /** How far apart they stand in the query: 1 for neighbours without a stop word between them. */
  readonly gap: number;
  readonly weight: number;
}

/** Each word of the query with the next one that is no stop word. */
export function neighbours(words: readonly QueryWord[]): readonly WordPair[] {
  const placed = words
    .flatMap(({ term, idf, positions }) => positions.map((at) => ({ term, idf, at })))
    .sort((a, b) => a.at - b.at);
  return placed.flatMap((first, index) => {
    const second = placed[index + 1];
    if (!second || second.term === first.term) return [];
    const weight = Math.sqrt(first.idf * second.idf);
    return [{ first: first.term, second: second.term, gap: second.at - first.at, weight }];
  });
}

/** Full weight for pairs that stand as close as in the query, in either order; half at twice the distance, and so on. */
export function proximityBonus(
  pairs: readonly WordPair[],
  places: ReadonlyMap<string, readonly number[]>,
): number {
  return pairs.reduce((bonus, { first, second, gap, weight }) => {
    const distance = nearest(places.get(first) ?? [], places.get(second) ?? []);
    return bonus + weight / Math.max(1, distance - gap + 1);
  }, 0);
}

/** The smallest distance between two ascending lists; Infinity when one is empty. */
function nearest(a: readonly number[], b: readonly number[]): number {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    const difference = (a[i] ?? 0) - (b[j] ?? 0);
    best = Math.min(best, Math.abs(difference));
    if (difference < 0) i++;
    else j++;
  }
  return best;
}
