// A set of whole numbers kept as ranges: which positions of a type have been asked for.

interface Range {
  readonly start: number;
  /** Not included. */
  readonly end: number;
}

export class Ranges {
  /** Sorted, apart from each other. */
  #ranges: readonly Range[] = [];

  add(start: number, end: number): void {
    if (start >= end) return;
    const before = this.#ranges.filter((range) => range.end < start);
    const after = this.#ranges.filter((range) => range.start > end);
    const touched = this.#ranges.filter((range) => range.end >= start && range.start <= end);
    const merged = {
      start: Math.min(start, ...touched.map((range) => range.start)),
      end: Math.max(end, ...touched.map((range) => range.end)),
    };
    this.#ranges = [...before, merged, ...after];
  }

  remove(start: number, end: number): void {
    this.#ranges = this.#ranges.flatMap((range) =>
      [
        { start: range.start, end: Math.min(range.end, start) },
        { start: Math.max(range.start, end), end: range.end },
      ].filter((left) => left.start < left.end),
    );
  }

  /** The first range that is not in the set; it may have no end. */
  firstGap(): Range {
    const [first, second] = this.#ranges;
    if (!first || first.start > 0) return { start: 0, end: first?.start ?? Number.POSITIVE_INFINITY };
    return { start: first.end, end: second?.start ?? Number.POSITIVE_INFINITY };
  }
}
