// Finds quotes and clues in a document: where a quote occurs, and whether a phrase occurs at all.

/** As founding research has it. */
export const longestQuoteWords = 25;

export interface Place {
  readonly start: number;
  readonly end: number;
}

const wordPattern = /\S+/g;

/** As much of the range as a quote may hold: the whole, or 25 words of it that hold `around`. */
export function quoteRange(text: string, { start, end }: Place, around = start): Place {
  const words = [...text.slice(start, end).matchAll(wordPattern)];
  if (words.length <= longestQuoteWords) return { start, end };
  const at = words.findIndex(({ index, 0: word }) => start + index + word.length > around);
  const first = Math.max(0, Math.min(at - 5, words.length - longestQuoteWords));
  const from = at < longestQuoteWords ? 0 : first;
  const [head, tail] = [words[from], words[from + longestQuoteWords - 1]];
  return {
    start: start + (head?.index ?? 0),
    end: tail ? start + tail.index + tail[0].length : end,
  };
}

const quoteMarks: Readonly<Record<string, string>> = {
  '“': '"',
  '”': '"',
  '„': '"',
  '«': '"',
  '»': '"',
  '‘': "'",
  '’': "'",
  '‚': "'",
  '`': "'",
  '´': "'",
  '–': '-',
  '—': '-',
  '‑': '-',
  '…': '...',
};

interface Folded {
  readonly text: string;
  /** For each unit of the folded text, where it stands in the original; one more for its end. */
  readonly places: Uint32Array;
}

/** Zero-width characters, soft hyphens and the like: a name is the same with and without them. */
export const showsNothing = /\p{Default_Ignorable_Code_Point}/u;

/** Nothing for what shows nothing, one blank for any white space, one kind of quotation marks and dashes, small letters. */
function fold(text: string): Folded {
  const pieces: string[] = [];
  const places: number[] = [];
  let isBlank = true;
  for (let at = 0; at < text.length; at++) {
    const sign = text.charAt(at);
    if (showsNothing.test(sign)) continue;
    if (/\s/.test(sign)) {
      if (!isBlank) {
        pieces.push(' ');
        places.push(at);
      }
      isBlank = true;
      continue;
    }
    isBlank = false;
    // Letters whose small form is longer than they are stay as they are: every unit has one place.
    const lower = sign.toLowerCase();
    for (const unit of quoteMarks[sign] ?? (lower.length === 1 ? lower : sign)) {
      pieces.push(unit);
      places.push(at);
    }
  }
  places.push(text.length);
  return { text: pieces.join(''), places: Uint32Array.from(places) };
}

/** Finds quotes in one text; what a search costs is made up once. */
export class QuoteFinder {
  readonly #text: string;
  #folded: Folded | null = null;

  constructor(text: string) {
    this.#text = text;
  }

  /**
   * Where the quote stands: literally (the first place), or, when only white space, characters that show nothing, quotation marks, dashes or the case of
   * letters differ, at the one place where it does. Null when it stands nowhere, or nobody can say where.
   */
  find(quote: string): Place | null {
    const bare = quote.trim();
    if (bare === '') return null;
    const literal = this.#text.indexOf(bare);
    if (literal >= 0) return { start: literal, end: literal + bare.length };
    return this.#findFolded(bare) ?? this.#findFolded(bare.replace(/^["'“”‘’]+|["'“”‘’.…]+$/g, ''));
  }

  #findFolded(quote: string): Place | null {
    this.#folded ??= fold(this.#text);
    const { text, places } = this.#folded;
    const wanted = fold(quote).text.trim();
    if (wanted === '') return null;
    const at = text.indexOf(wanted);
    if (at < 0 || text.indexOf(wanted, at + 1) >= 0) return null;
    const start = places[at] ?? 0;
    const last = places[at + wanted.length - 1] ?? start;
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

/** Letters of scripts that part words by blanks: where two of them meet, a word goes on. */
const letter = String.raw`[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{M}\p{N}_]`;
const startsWithLetter = new RegExp(`^${letter}`, 'u');
const endsWithLetter = new RegExp(`${letter}$`, 'u');
const addressGoesOn = new RegExp(`^[.-]${letter}`, 'u');

/** Characters that are looked through for one answer: fifty clues in the longest document, beside those in the chunk. */
const mostLookedThrough = 250_000_000;
/** For the clues of one answer; each is looked for once. */
export class TextOccurrences {
  readonly #near: string;
  readonly #whole: () => string;
  readonly #known = new Map<string, boolean>();
  #left = mostLookedThrough;

  constructor(
    { title, foldedText }: { readonly title: string; readonly foldedText: () => string },
    chunkText: string,
  ) {
    this.#near = `${foldText(title)}\n${foldText(chunkText)}`;
    this.#whole = foldedText;
  }

  /**
   * In the title, the chunk or the whole text. "Acme" does not stand in "Acmeville", nor "ann@x.org" in "jo.ann@x.org".
   * An answer that makes up clues without end is not believed any more.
   */
  has(wanted: string): boolean {
    const words = foldText(wanted);
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
