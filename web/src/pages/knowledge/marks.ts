// Splits a text where marks start and end, so that marks may overlap.

/** UTF-16 offsets; `end` is exclusive. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

export interface Piece<R> {
  readonly text: string;
  readonly start: number;
  /** Marks that cover the piece, in the given order. */
  readonly marks: readonly R[];
}

/** The pieces of `text` from `from` to `to`. Marks outside and empty marks are ignored. */
export function splitByMarks<R extends Range>(
  text: string,
  marks: readonly R[],
  from = 0,
  to = text.length,
): readonly Piece<R>[] {
  const visible = marks
    .map((mark) => ({ mark, start: Math.max(mark.start, from), end: Math.min(mark.end, to) }))
    .filter(({ start, end }) => start < end);
  const starts = visible.toSorted((a, b) => a.start - b.start);
  const cuts = [...new Set([from, to, ...visible.flatMap(({ start, end }) => [start, end])])].sort(
    (a, b) => a - b,
  );
  let active: typeof visible = [];
  let next = 0;
  return cuts.slice(0, -1).map((start, index) => {
    const end = cuts[index + 1] ?? to;
    active = active.filter((each) => each.end > start);
    for (let each = starts[next]; each && each.start <= start; each = starts[next]) {
      active.push(each);
      next += 1;
    }
    const inOrder = active.toSorted((a, b) => visible.indexOf(a) - visible.indexOf(b));
    return { text: text.slice(start, end), start, marks: inOrder.map(({ mark }) => mark) };
  });
}

/** Parses `12-30,40-44` from an address; ignores invalid ranges. */
export function parseRanges(text: string | null): readonly Range[] {
  return (text ?? '').split(',').flatMap((part) => {
    const [, start, end] = /^(\d+)-(\d+)$/.exec(part) ?? [];
    return start === undefined || end === undefined || Number(start) >= Number(end)
      ? []
      : [{ start: Number(start), end: Number(end) }];
  });
}

export const formatRanges = (ranges: readonly Range[]): string =>
  ranges.map(({ start, end }) => `${start}-${end}`).join(',');
