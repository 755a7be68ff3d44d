// What somebody typed, as what is looked for: words, and phrases in quotes. A query that is nothing but phrases finds
// only what holds them all; among other words (people quote titles in questions) a phrase weighs more, and excludes nothing.

export interface ReadQuery {
  /** Everything, phrases included, without the quotes. */
  readonly words: string;
  readonly phrases: readonly string[];
  /** Nothing stands outside the quotes: what is found must hold every phrase. */
  readonly isExact: boolean;
  /** Phrases beyond those that are looked for. */
  readonly phrasesLeftOut: number;
}

/** Nobody types more; what is pasted beyond that would only make the search slow. */
const longestQuery = 10_000;
export const mostPhrases = 8;

const quoted = /"([^"]+)"|“([^“”]+)”|„([^„“”]+)[“”]|«([^«»]+)»/gu;
const wordy = /[\p{L}\p{N}]/u;

/** Never fails: a quote without its partner is a character like any other. */
export function readQuery(text: string): ReadQuery {
  // Postgres takes neither NUL nor half a character.
  const query = text.slice(0, longestQuery).toWellFormed().replaceAll('\0', ' ');
  const phrases = [...query.matchAll(quoted)]
    .map((match) => match.slice(1).find((group) => group !== undefined) ?? '')
    .filter((phrase) => wordy.test(phrase));
  return {
    words: query.replaceAll(/["“”„«»]/gu, ' '),
    phrases: phrases.slice(0, mostPhrases),
    isExact: phrases.length > 0 && !wordy.test(query.replaceAll(quoted, ' ')),
    phrasesLeftOut: Math.max(0, phrases.length - mostPhrases),
  };
}
