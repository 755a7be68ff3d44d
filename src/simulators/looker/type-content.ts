// Which items of a type there are now, and how often each was changed.
import type { Chosen, ContentChange, ContentChanged } from './ports.ts';

export class TypeContent {
  readonly #idOf: (index: number) => string;
  #count: number;
  readonly #versions = new Map<number, number>();
  readonly #rewritten = new Set<number>();
  readonly #deleted = new Set<number>();
  #live: readonly number[] | null = null;
  #byId: ReadonlyMap<string, number> | null = null;

  constructor(count: number, idOf: (index: number) => string) {
    this.#count = count;
    this.#idOf = idOf;
  }

  /** Indices in the order in which the items were made. */
  get live(): readonly number[] {
    this.#live ??= Array.from({ length: this.#count }, (_, index) => index).filter(
      (index) => !this.#deleted.has(index),
    );
    return this.#live;
  }

  version(index: number): number {
    return this.#versions.get(index) ?? 0;
  }

  isRewritten(index: number): boolean {
    return this.#rewritten.has(index);
  }

  find(id: string): number | undefined {
    this.#byId ??= new Map(this.live.map((index) => [this.#idOf(index), index]));
    return this.#byId.get(id);
  }

  /** All or nothing: an id that is not there is a RangeError. */
  apply(change: ContentChange): ContentChanged {
    const changed = this.#choose(change.change);
    const rewritten = this.#choose(change.rewrite);
    const deleted = this.#choose(change.delete);
    const written = this.#choose(Object.keys(change.write ?? {}));
    for (const index of changed) this.#versions.set(index, this.version(index) + 1);
    for (const index of rewritten) if (!this.#rewritten.delete(index)) this.#rewritten.add(index);
    for (const index of deleted) this.#deleted.add(index);
    const added = Array.from({ length: change.add ?? 0 }, () => this.#count++);
    this.#live = null;
    this.#byId = null;
    const ids = (indices: readonly number[]) => indices.map((index) => this.#idOf(index));
    return {
      changed: ids([...changed, ...written]),
      rewritten: ids(rewritten),
      deleted: ids(deleted),
      added: ids(added),
    };
  }

  #choose(chosen: Chosen | undefined): readonly number[] {
    if (chosen === undefined) return [];
    if (typeof chosen !== 'number')
      return chosen.map((id) => {
        const index = this.find(id);
        if (index === undefined) throw new RangeError(`There is no item with the id ${JSON.stringify(id)}.`);
        return index;
      });
    const { live } = this;
    if (chosen > live.length) throw new RangeError(`There are ${live.length} items, not ${chosen}.`);
    return Array.from({ length: chosen }, (_, nth) => live[Math.floor((nth * live.length) / chosen)] ?? 0);
  }
}
