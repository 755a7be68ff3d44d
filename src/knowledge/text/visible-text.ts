// A text without the characters that show nothing, and where what is left of it stands in the whole.
import { showsNothing } from './quotes.ts';

export interface VisibleText {
  readonly text: string;
  /** Where a stretch of it stands in the original, from its first visible character to its last. */
  place(start: number, end: number): readonly [start: number, end: number];
}

/** The very text where everything shows: most texts. */
export function visibleText(text: string): VisibleText {
  if (!showsNothing.test(text)) return { text, place: (start, end) => [start, end] };
  const pieces: string[] = [];
  const places: number[] = [];
  let at = 0;
  for (const sign of text) {
    if (!showsNothing.test(sign)) {
      pieces.push(sign);
      for (let unit = 0; unit < sign.length; unit++) places.push(at + unit);
    }
    at += sign.length;
  }
  return {
    text: pieces.join(''),
    place: (start, end) => [
      places[start] ?? text.length,
      end > start ? (places[end - 1] ?? text.length - 1) + 1 : (places[start] ?? text.length),
    ],
  };
}
