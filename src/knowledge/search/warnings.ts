// What was left out of an answer, in sentences: each thing once.

export class Warnings {
  readonly #sentences = new Set<string>();

  add(sentence: string): void {
    this.#sentences.add(sentence);
  }

  /** Null when nothing was left out. */
  toText(): string | null {
    return this.#sentences.size === 0 ? null : [...this.#sentences].join(' ');
  }
}
