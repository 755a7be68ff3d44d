// What BM25 cannot see: how much of the title a query names, which words stand together, which phrases stand there.

/** All words of the title that the query names, as a share of their weight, when it names the whole title. */
const titleShare = 1;
/** A pair of adjacentPairs that stand together, as a share of their weight. */
const pairShare = 0.3;
/** A phrase in quotes that stands there, as a share of its words' weight. */
const phraseShare = 1;

export interface PhraseWord {
  readonly term: string;
  /** From the phrase's first word on; stop words count. */
  readonly offset: number;
}

/** Where the query's words stand in one chunk; places in title and headings are negative, lists ascend. */
export interface WordPlaces {
  readonly places: ReadonlyMap<string, readonly number[]>;
  /** Different words of title and headings. */
  readonly titleTerms: number;
}

/** Gives, for a query, what a closer look adds to the score of a chunk. */
export function rescoreByProximity(
  words: readonly QueryWord[],
  phrases: readonly (readonly PhraseWord[])[],
): (chunk: WordPlaces) => number {
  const pairs = adjacentPairs(words);
  const idfs = new Map(words.map(({ term, idf }) => [term, idf]));
  const sumOfIdf = (terms: readonly { readonly term: string }[]): number =>
    terms.reduce((sum, { term }) => sum + (idfs.get(term) ?? 0), 0);
  return ({ places, titleTerms }) => {
    const named = words.filter(({ term }) => (places.get(term)?.[0] ?? 0) < 0);
    const title = titleTerms > 0 ? (sumOfIdf(named) * named.length) / titleTerms : 0;
    const quoted = phrases.filter((phrase) => standsThere(phrase, places));
    return (
      titleShare * title + pairShare * proximityBonus(pairs, places) + phraseShare * sumOfIdf(quoted.flat())
    );
  };
}

function standsThere(phrase: readonly PhraseWord[], places: WordPlaces['places']): boolean {
  const [first, ...others] = phrase.map(({ term, offset }) => ({ at: new Set(places.get(term)), offset }));
  return [...(first?.at ?? [])].some((place) =>
    others.every(({ at, offset }) => at.has(place - (first?.offset ?? 0) + offset)),
  );
}

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
  /** How far apart they stand in the query: 1 for adjacentPairs without a stop word between them. */
  readonly gap: number;
  readonly weight: number;
}

/** Each word of the query with the next one that is no stop word. */
export function adjacentPairs(words: readonly QueryWord[]): readonly WordPair[] {
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
