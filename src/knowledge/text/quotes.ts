// Quotes: at most 25 words, and where exactly they stand in the text.

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
