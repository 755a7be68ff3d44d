// Places of a query's words in a text, out of a copy of the text in which Postgres put marks around them.

/** Characters that stand for nothing in Unicode; a text that holds them all the same gets no highlights there. */
export const marks = { start: '\uE000', end: '\uE001' } as const;

export interface Highlight {
  readonly start: number;
  readonly end: number;
}

/** Offsets are UTF-16 units of `text`. Ends where the copy stops being one. */
export function highlightsIn(text: string, marked: string): readonly Highlight[] {
  const found: Highlight[] = [];
  let start = 0;
  let at = 0;
  for (const character of marked) {
    if (text.startsWith(character, at)) at += character.length;
    else if (character === marks.start) start = at;
    else if (character === marks.end) found.push({ start, end: at });
    else break;
  }
  return found;
}
