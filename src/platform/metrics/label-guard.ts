// Keeps one metric from growing without bound when a label takes ever new values, and secrets out of labels.

const longestValue = 120;

export type Labels = Readonly<Record<string, string>>;

/** One `Series` per combination of label values, made when it is first seen. */
export class LabelGuard<Series> {
  readonly #names: readonly string[];
  readonly #maxSeries: number;
  readonly #clean: (text: string) => string;
  readonly #make: (labels: Labels) => Series;
  readonly #known = new Map<string, Series>();
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
    const [first = ''] = values;
    const key = values.length === 1 ? first : values.join('\0');
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    if (this.#known.size >= this.#maxSeries) return (this.#other ??= this.#make(this.#labels(() => 'other')));
    const series = this.#make(
      this.#labels((index) => this.#clean(values[index] ?? '').slice(0, longestValue)),
    );
    this.#known.set(key, series);
    return series;
  }

  all(): readonly Series[] {
    return [...this.#known.values(), ...(this.#other === undefined ? [] : [this.#other])];
  }

  #labels(valueOf: (index: number) => string): Labels {
    return Object.fromEntries(this.#names.map((name, index) => [name, valueOf(index)]));
  }
}
