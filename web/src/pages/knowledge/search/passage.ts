// Excerpt of a chunk with the most matches.
import type { Range } from '../marks.ts';

export interface Passage {
  readonly text: string;
  readonly marks: readonly Range[];
  readonly isCutBefore: boolean;
  readonly isCutAfter: boolean;
}

/** Characters before the first mark. */
const lead = 60;

export function passageOf(text: string, marks: readonly Range[], length = 360): Passage {
  if (text.length <= length) return { text, marks, isCutBefore: false, isCutAfter: false };
  const sorted = marks.toSorted((a, b) => a.start - b.start);
  const countFrom = (from: number): number =>
    sorted.filter(({ start, end }) => start >= from && end <= from + length).length;
  const best = sorted
    .map(({ start }) => Math.max(0, Math.min(start - lead, text.length - length)))
    .reduce<number | null>((a, b) => (a === null || countFrom(b) > countFrom(a) ? b : a), null);
  const from = best === null || best === 0 ? 0 : afterBlank(text, best);
  const to = from + length >= text.length ? text.length : beforeBlank(text, from + length);
  return {
    text: text.slice(from, to),
    marks: sorted
      .filter(({ start, end }) => start >= from && end <= to)
      .map(({ start, end }) => ({ start: start - from, end: end - from })),
    isCutBefore: from > 0,
    isCutAfter: to < text.length,
  };
}

/** Start of the next word, unless it is very long. */
function afterBlank(text: string, at: number): number {
  const blank = text.slice(at, at + lead / 2).search(/\s/);
  return blank < 0 ? at : at + blank + 1;
}

function beforeBlank(text: string, at: number): number {
  const blank = text.slice(at - lead / 2, at).search(/\s\S*$/);
  return blank < 0 ? at : at - lead / 2 + blank;
}
