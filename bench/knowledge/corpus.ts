// Generated documents with the word frequencies of real texts, without stop words.
import { seededRandom } from '../../src/core/index.ts';

const syllables = 'b d f g k l m n p r s t v z'
  .split(' ')
  .flatMap((consonant) => 'a e i o u'.split(' ').map((vowel) => consonant + vowel));
const vocabulary = 60_000;
/** Words before this rank would be stop words, which are not searched. */
const firstRank = 60;

/** Ends in a consonant that no stemmer removes. */
function word(rank: number): string {
  let text = '';
  for (let rest = rank + syllables.length; rest > 0; rest = Math.floor(rest / syllables.length))
    text += syllables[rest % syllables.length] ?? '';
  return `${text}k`;
}

export interface GeneratedDocument {
  readonly title: string;
  readonly text: string;
}

/** The same seed returns the same documents and queries. */
export class GeneratedCorpus {
  readonly #random;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  /** About as frequent as 1 / rank (Zipf). */
  #word(): string {
    const spread = Math.log((vocabulary + firstRank) / firstRank);
    return word(Math.floor(firstRank * Math.exp(this.#random.next() * spread)) - firstRank);
  }

  #words(count: number): string {
    return Array.from({ length: count }, () => this.#word()).join(' ');
  }

  document(): GeneratedDocument {
    const sentences = Array.from(
      { length: 8 },
      () => `${this.#words(9 + Math.floor(this.#random.next() * 12))}.`,
    );
    return { title: this.#words(4), text: sentences.join(' ') };
  }

  /** A query of three to seven words of a document. */
  query({ title, text }: GeneratedDocument): string {
    const words = text.replaceAll('.', '').split(' ');
    const count = 2 + Math.floor(this.#random.next() * 5);
    const own = Array.from(
      { length: count },
      () => words[Math.floor(this.#random.next() * words.length)] ?? '',
    );
    return [title.split(' ')[0], ...own].join(' ');
  }
}
