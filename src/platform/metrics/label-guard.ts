// Keeps one metric from growing without bound when a label takes ever new values, and secrets out of labels.

const longestValue = 120;

export type Labels = Readonly<Record<string, string>>;

/** What is known under the label values so far. A map a label: keys put together would have to be hashed every time. */
class Level<Series> {
  readonly next = new Map<string, Level<Series>>();
  series: Series | undefined;
}

/** One `Series` per combination of label values, made when it is first seen. */
export class LabelGuard<Series> {
  readonly #names: readonly string[];
  readonly #maxSeries: number;
  readonly #clean: (text: string) => string;
  readonly #make: (labels: Labels) => Series;
  readonly #root = new Level<Series>();
  readonly #known: Series[] = [];
  #other: Series | undefined;

  constructor(
    names: readonly string[],
    maxSeries: number,
    clean: (text: string) => string,
    make: (labels: Labels) => Series,
  ) {
    this.#names = names;
    this.#maxSeries = maxSeries;
    this.#clean = clean;
    this.#make = make;
  }

  /** That of these values while there is room, else the one that has "other" for every label. */
  of(values: readonly string[]): Series {
    let level: Level<Series> | undefined = this.#root;
    for (const value of values) {
      level = level.next.get(value);
      if (!level) return this.#add(values);
    }
    return level.series ?? this.#add(values);
  }

  all(): readonly Series[] {
    return [...this.#known, ...(this.#other === undefined ? [] : [this.#other])];
  }

  #add(values: readonly string[]): Series {
    if (this.#known.length >= this.#maxSeries)
      return (this.#other ??= this.#make(this.#labels(() => 'other')));
    const series = this.#make(
      this.#labels((index) => this.#clean(values[index] ?? '').slice(0, longestValue)),
    );
    let level = this.#root;
    for (const value of values) {
      const next: Level<Series> = level.next.get(value) ?? new Level();
      level.next.set(value, next);
      level = next;
    }
    level.series = series;
    this.#known.push(series);
    return series;
  }

  #labels(valueOf: (index: number) => string): Labels {
    return Object.fromEntries(this.#names.map((name, index) => [name, valueOf(index)]));
  }
}
