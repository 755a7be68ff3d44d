// What BM25 cannot see: how much of the title a query names, which words stand together, which phrases stand there.
import type { QueryWord } from './proximity.ts';
import { neighbours, proximityBonus } from './proximity.ts';

/** All words of the title that the query names, as a share of their weight, when it names the whole title. */
const titleShare = 1;
/** A pair of neighbours that stand together, as a share of their weight. */
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
export function closerLook(
  words: readonly QueryWord[],
  phrases: readonly (readonly PhraseWord[])[],
): (chunk: WordPlaces) => number {
  const pairs = neighbours(words);
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
