// Keeps what was made lately, up to a size.

export class PageCache<T> {
  readonly #sizeOf: (value: T) => number;
  readonly #maxBytes: number;
  readonly #values = new Map<string, T>();
  #bytes = 0;

  constructor(sizeOf: (value: T) => number, maxBytes: number) {
    this.#sizeOf = sizeOf;
    this.#maxBytes = maxBytes;
  }

  get(key: string, make: () => T): T {
    const known = this.#values.get(key);
    if (known !== undefined) return known;
    const made = make();
    this.#values.set(key, made);
    this.#bytes += this.#sizeOf(made);
    for (const [oldKey, old] of this.#values) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#values.delete(oldKey);
      this.#bytes -= this.#sizeOf(old);
    }
    return made;
  }

  clear(): void {
    this.#values.clear();
    this.#bytes = 0;
  }
}
