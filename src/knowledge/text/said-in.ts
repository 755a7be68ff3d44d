// Whether a document says something at all: whole words, whatever their case and the blanks between them.
import type { ReadingTask } from '../ports.ts';

const plain = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
    .replaceAll(/\s{2,}|[^\S ]/g, ' ')
    .trim();

/** Letters of scripts that part words by blanks: where two of them meet, a word goes on. */
const letter = String.raw`[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{M}\p{N}_]`;
const startsWithLetter = new RegExp(`^${letter}`, 'u');
const endsWithLetter = new RegExp(`${letter}$`, 'u');
const addressGoesOn = new RegExp(`^[.-]${letter}`, 'u');

/** Characters that are looked through for one answer: fifty clues in the longest document, beside those in the chunk. */
const mostLookedThrough = 250_000_000;
/** Documents whose chunks are read in turns, as workers do. */
const keptDocuments = 8;

/** Makes a document ready once for all of its chunks. */
export class SaidInDocuments {
  // By the text itself: its hash is kept with it, and the same string is found without being compared.
  readonly #plain = new Map<string, string>();

  in({ chunk, artifact }: Pick<ReadingTask, 'chunk' | 'artifact'>): TextOccurrences {
    return new TextOccurrences(`${plain(artifact.title)}\n${plain(chunk.text)}`, () =>
      this.#plainOf(artifact.text),
    );
  }

  #plainOf(text: string): string {
    const ready = this.#plain.get(text) ?? plain(text);
    this.#plain.delete(text);
    this.#plain.set(text, ready);
    for (const oldest of this.#plain.keys()) {
      if (this.#plain.size <= keptDocuments) break;
      this.#plain.delete(oldest);
    }
    return ready;
  }
}

/** For the clues of one answer; each is looked for once. */
export class TextOccurrences {
  readonly #near: string;
  readonly #whole: () => string;
  readonly #known = new Map<string, boolean>();
  #left = mostLookedThrough;

  constructor(near: string, whole: () => string) {
    this.#near = near;
    this.#whole = whole;
  }

  /**
   * In the title, the chunk or the whole text. "Acme" does not stand in "Acmeville", nor "ann@x.org" in "jo.ann@x.org".
   * An answer that makes up clues without end is not believed any more.
   */
  has(wanted: string): boolean {
    const words = plain(wanted);
    const known = this.#known.get(words);
    if (known !== undefined || words === '') return known ?? false;
    const isSaid = stands(this.#near, words) || this.#standsAnywhere(words);
    this.#known.set(words, isSaid);
    return isSaid;
  }

  #standsAnywhere(words: string): boolean {
    if (this.#left < 0) return false;
    const whole = this.#whole();
    this.#left -= whole.length;
    return stands(whole, words);
  }
}

function stands(text: string, words: string): boolean {
  for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + 1)) {
    const end = at + words.length;
    if (!isPartOfMore(words, text.slice(Math.max(0, at - 1), at), text.slice(end, end + 2))) return true;
  }
  return false;
}

function isPartOfMore(words: string, before: string, behind: string): boolean {
  const isAddress = words.includes('@');
  return (
    (startsWithLetter.test(words) && endsWithLetter.test(before)) ||
    (endsWithLetter.test(words) && startsWithLetter.test(behind)) ||
    (isAddress && (/[.+%-]$/.test(before) || addressGoesOn.test(behind)))
  );
}
