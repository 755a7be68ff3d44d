// Finds quotes, names and clues in a document: where a quote or a name occurs, and whether a phrase occurs at all.

/** The limit of the founding document. */
export const maxQuoteWords = 25;

export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

const wordPattern = /\S+/g;

/** The span, shortened to 25 words that contain `around` if it is longer. */
export function quoteRange(text: string, { start, end }: TextSpan, around = start): TextSpan {
  const words = [...text.slice(start, end).matchAll(wordPattern)];
  if (words.length <= maxQuoteWords) return { start, end };
  const at = words.findIndex(({ index, 0: word }) => start + index + word.length > around);
  const first = Math.max(0, Math.min(at - 5, words.length - maxQuoteWords));
  const from = at < maxQuoteWords ? 0 : first;
  const [head, tail] = [words[from], words[from + maxQuoteWords - 1]];
  return {
    start: start + (head?.index ?? 0),
    end: tail ? start + tail.index + tail[0].length : end,
  };
}

const quoteMarks: ReadonlyMap<string, string> = new Map([
  ...Array.from('“”„«»', (sign) => [sign, '"'] as const),
  ...Array.from('‘’‚`´', (sign) => [sign, "'"] as const),
  ...Array.from('–—‑', (sign) => [sign, '-'] as const),
  ['…', '...'],
]);

interface FoldedText {
  readonly text: string;
  /** For each unit of the folded text its offset in the original, and one more for the end. */
  readonly places: Uint32Array;
}

/** Zero-width characters, soft hyphens and the like, which do not change a name. */
export const invisibleCharacter = /\p{Default_Ignorable_Code_Point}/u;

/** Removes invisible characters, collapses whitespace, normalizes quotation marks and dashes, lower case. */
function fold(text: string): FoldedText {
  const pieces: string[] = [];
  const places: number[] = [];
  let isBlank = true;
  for (let at = 0; at < text.length; at++) {
    const sign = text.charAt(at);
    if (invisibleCharacter.test(sign)) continue;
    if (/\s/.test(sign)) {
      if (!isBlank) {
        pieces.push(' ');
        places.push(at);
      }
      isBlank = true;
      continue;
    }
    isBlank = false;
    // A letter whose lower-case form is longer stays as it is: every unit has one offset.
    const lower = sign.toLowerCase();
    for (const unit of quoteMarks.get(sign) ?? (lower.length === 1 ? lower : sign)) {
      pieces.push(unit);
      places.push(at);
    }
  }
  places.push(text.length);
  return { text: pieces.join(''), places: Uint32Array.from(places) };
}

/** Finds quotes in one text, which is folded once. */
export class QuoteFinder {
  readonly #text: string;
  #folded: FoldedText | null = null;

  constructor(text: string) {
    this.#text = text;
  }

  /**
   * The first literal occurrence; else the only occurrence that differs in whitespace, invisible characters, quotation
   * marks, dashes or case. Null when there is none, or it is ambiguous.
   */
  find(quote: string): TextSpan | null {
    const bare = quote.trim();
    if (bare === '') return null;
    const literal = this.#text.indexOf(bare);
    if (literal >= 0) return { start: literal, end: literal + bare.length };
    return this.#findFolded(bare) ?? this.#findFolded(bare.replace(/^["'“”‘’]+|["'“”‘’.…]+$/g, ''));
  }

  /**
   * All occurrences of a name as whole words, at most 1,000: literal ones; if there are none, those that differ as in
   * `find`.
   */
  occurrences(name: string): readonly TextSpan[] {
    const bare = name.trim();
    const literal = wordOccurrences(this.#text, bare);
    if (literal.length > 0) return literal;
    this.#folded ??= fold(this.#text);
    const { text, places } = this.#folded;
    return wordOccurrences(text, fold(bare).text.trim()).map(({ start, end }) => ({
      start: places[start] ?? 0,
      end: (places[end - 1] ?? 0) + 1,
    }));
  }

  #findFolded(quote: string): TextSpan | null {
    this.#folded ??= fold(this.#text);
    const { text, places } = this.#folded;
    const phrase = fold(quote).text.trim();
    if (phrase === '') return null;
    const at = text.indexOf(phrase);
    if (at < 0 || text.indexOf(phrase, at + 1) >= 0) return null;
    const start = places[at] ?? 0;
    const last = places[at + phrase.length - 1] ?? start;
    return { start, end: last + 1 };
  }
}

/** Lower case, single spaces, visible characters only. */
export const foldText = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
    .replaceAll(/\s{2,}|[^\S ]/g, ' ')
    .trim();

/** Letters of scripts with spaces between words: two adjacent ones belong to the same word. */
const letter = String.raw`[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{M}\p{N}_]`;
const startsWithLetter = new RegExp(`^${letter}`, 'u');
const endsWithLetter = new RegExp(`${letter}$`, 'u');
const addressContinues = new RegExp(`^[.-]${letter}`, 'u');

/** Characters searched per answer: fifty clues in the longest document. */
const maxSearchedCharacters = 250_000_000;
/** Whether clues of one answer occur in the document; each clue is searched once. */
export class TextOccurrences {
  readonly #near: string;
  readonly #whole: () => string;
  readonly #known = new Map<string, boolean>();
  #left = maxSearchedCharacters;

  constructor(
    { title, foldedText }: { readonly title: string; readonly foldedText: () => string },
    chunkText: string,
  ) {
    this.#near = `${foldText(title)}\n${foldText(chunkText)}`;
    this.#whole = foldedText;
  }

  /**
   * Searches the title, the chunk and the whole text for whole words: "Acme" does not occur in "Acmeville", nor
   * "ann@x.org" in "jo.ann@x.org". False once the search budget of the answer is used up.
   */
  has(phrase: string): boolean {
    const words = foldText(phrase);
    const known = this.#known.get(words);
    if (known !== undefined || words === '') return known ?? false;
    const occurs = occursIn(this.#near, words) || this.#occursAnywhere(words);
    this.#known.set(words, occurs);
    return occurs;
  }

  #occursAnywhere(words: string): boolean {
    if (this.#left < 0) return false;
    const whole = this.#whole();
    this.#left -= whole.length;
    return occursIn(whole, words);
  }
}

const occursIn = (text: string, words: string): boolean => wordOccurrences(text, words, 1).length > 0;

const maxOccurrences = 1_000;

function wordOccurrences(text: string, words: string, max = maxOccurrences): readonly TextSpan[] {
  const found: TextSpan[] = [];
  if (words === '') return found;
  for (let at = text.indexOf(words); at >= 0 && found.length < max; at = text.indexOf(words, at + 1)) {
    const end = at + words.length;
    if (!isPartOfMore(words, text.slice(Math.max(0, at - 1), at), text.slice(end, end + 2)))
      found.push({ start: at, end });
  }
  return found;
}

function isPartOfMore(words: string, before: string, behind: string): boolean {
  const isAddress = words.includes('@');
  return (
    (startsWithLetter.test(words) && endsWithLetter.test(before)) ||
    (endsWithLetter.test(words) && startsWithLetter.test(behind)) ||
    (isAddress && (/[.+%-]$/.test(before) || addressContinues.test(behind)))
  );
}

/**
 * Finds where the names that a model lists are in the text: as whole words, not inside another name, and each person of a
 * shared name at an occurrence of their own.
 */
export class MentionPlacer {
  readonly #finder: QuoteFinder;
  readonly #text: string;
  readonly #occurrences = new Map<string, readonly TextSpan[]>();
  /** Free places of each name, best first; `next` is the one for the next mention. */
  readonly #free = new Map<string, { readonly places: readonly TextSpan[]; next: number }>();
  /** For each offset, the end of the longest name of the answer that starts there, and before it. */
  readonly #ends: Uint32Array;
  readonly #endsBefore: Uint32Array;

  /** `names`: all of the answer. None of them is placed inside a longer one. */
  constructor(finder: QuoteFinder, text: string, names: Iterable<string>) {
    this.#finder = finder;
    this.#text = text;
    this.#ends = new Uint32Array(text.length + 1);
    this.#endsBefore = new Uint32Array(text.length + 1);
    for (const name of new Set(names))
      for (const { start, end } of this.#all(name)) this.#ends[start] = Math.max(this.#ends[start] ?? 0, end);
    for (let at = 1; at <= text.length; at++)
      this.#endsBefore[at] = Math.max(this.#endsBefore[at - 1] ?? 0, this.#ends[at - 1] ?? 0);
  }

  /**
   * Each mention at an occurrence of its own, as long as there are any; `context` (words around the name) selects one.
   * Null when the name is not in the text, or only inside other names.
   */
  place(name: string, context: string | null): TextSpan | null {
    const around = context === null ? null : this.#finder.find(context);
    const surrounded =
      around && this.#all(name).find(({ start, end }) => start >= around.start && end <= around.end);
    if (surrounded) return surrounded;
    let free = this.#free.get(name);
    if (!free) this.#free.set(name, (free = { places: this.#outside(name), next: 0 }));
    return free.places[free.next++] ?? free.places[0] ?? null;
  }

  #all(name: string): readonly TextSpan[] {
    let all = this.#occurrences.get(name);
    if (!all) this.#occurrences.set(name, (all = this.#finder.occurrences(name)));
    return all;
  }

  /** Places outside of longer names; first those that stand alone: "Ann" before the "Ann" of "Mary Ann Lee". */
  #outside(name: string): readonly TextSpan[] {
    const outside = this.#all(name).filter(
      ({ start, end }) => (this.#ends[start] ?? 0) <= end && (this.#endsBefore[start] ?? 0) < end,
    );
    const isPart = (place: TextSpan): number => (isInCapitals(this.#text, place) ? 1 : 0);
    return outside.sort((a, b) => isPart(a) - isPart(b) || a.start - b.start);
  }
}

/** Next to another capitalized word, without punctuation in between. */
const isInCapitals = (text: string, { start, end }: TextSpan): boolean =>
  /^ \p{Lu}\p{Ll}/u.test(text.slice(end, end + 3)) ||
  /(?:^|[^.!?:;\s] )\p{Lu}\p{Ll}[\p{L}'’-]{0,30} $/u.test(text.slice(Math.max(0, start - 40), start));
