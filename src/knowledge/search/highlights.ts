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

/** Every place of these words, as they are. */
export function placesOf(text: string, words: readonly string[]): readonly Highlight[] {
  const found: Highlight[] = [];
  for (const word of words)
    for (let start = text.indexOf(word); start >= 0; start = text.indexOf(word, start + 1))
      found.push({ start, end: start + word.length });
  return found;
}

/** In order; places that overlap are one, so that 東京 and 京都 mark 東京都. */
export function joined(places: readonly Highlight[]): readonly Highlight[] {
  const result: Highlight[] = [];
  for (const place of places.toSorted((a, b) => a.start - b.start)) {
    const last = result.at(-1);
    if (last && place.start < last.end) result.splice(-1, 1, { ...last, end: Math.max(last.end, place.end) });
    else result.push(place);
  }
  return result;
}
