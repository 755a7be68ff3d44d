// Keeps one metric from growing without bound when a label takes ever new values, and secrets out of labels.

const longestValue = 120;

export type Labels = Record<string, string>;

export class LabelGuard {
  readonly #names: readonly string[];
  readonly #maxSeries: number;
  readonly #clean: (text: string) => string;
  readonly #known = new Map<string, Labels>();

  constructor(names: readonly string[], maxSeries: number, clean: (text: string) => string) {
    this.#names = names;
    this.#maxSeries = maxSeries;
    this.#clean = clean;
  }

  /** The labels to use: those given while there is room, else "other" for every one of them. */
  labels(values: readonly string[]): Labels {
    const key = values.join('\0');
    const known = this.#known.get(key);
    if (known) return known;
    const hasRoom = this.#known.size < this.#maxSeries;
    const labels = Object.fromEntries(
      this.#names.map((name, index) => [
        name,
        hasRoom ? this.#clean(values[index] ?? '').slice(0, longestValue) : 'other',
      ]),
    );
    if (hasRoom) this.#known.set(key, labels);
    return labels;
  }
}
