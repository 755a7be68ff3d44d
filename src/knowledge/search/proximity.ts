// Rescoring beyond BM25: how much of the title the query names, which terms are adjacent, which phrases occur.

/** Bonus for a fully named title, as a share of the weight of its terms. */
const titleShare = 1;
/** Bonus for adjacent terms that are also adjacent in the text, as a share of their weight. */
const pairShare = 0.3;
/** Bonus for a quoted phrase that occurs, as a share of the weight of its terms. */
const phraseShare = 1;

export interface PhraseWord {
  readonly term: string;
  /** Position relative to the first term; stop words count. */
  readonly offset: number;
}

/** Positions of the query's terms in one chunk, ascending; negative in title and headings. */
export interface WordPlaces {
  readonly places: ReadonlyMap<string, readonly number[]>;
  /** Distinct terms of title and headings. */
  readonly titleTerms: number;
}

/** For a query, a function that returns the bonus of a chunk. */
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
    const quoted = phrases.filter((phrase) => phraseOccurs(phrase, places));
    return (
      titleShare * title + pairShare * proximityBonus(pairs, places) + phraseShare * sumOfIdf(quoted.flat())
    );
  };
}

function phraseOccurs(phrase: readonly PhraseWord[], places: WordPlaces['places']): boolean {
  const [first, ...others] = phrase.map(({ term, offset }) => ({ at: new Set(places.get(term)), offset }));
  return [...(first?.at ?? [])].some((place) =>
    others.every(({ at, offset }) => at.has(place - (first?.offset ?? 0) + offset)),
  );
}

// Terms that are adjacent in the query should be adjacent in the text.

export interface QueryWord {
  readonly term: string;
  /** Positions in the query, from 1; stop words count. */
  readonly positions: readonly number[];
  /** 0 when every chunk has the term. */
  readonly idf: number;
}

/** Adjacent terms in query order. */
export interface WordPair {
  readonly first: string;
  readonly second: string;
  /** Distance in the query: 1 without a stop word between them. */
  readonly gap: number;
  readonly weight: number;
}

/** Each term with the next one that is not a stop word. */
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

/** Full weight if as close as in the query, in either order; half at twice the distance, and so on. */
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
