/** An item has its index in the list; undefined: it is in none. */
export interface Listed {
  slot: number | undefined;
}

/**
 * A set of short-lived objects in no order, whose indexes are used again. A Set or Map that grows and shrinks all the
 * time replaces its table every few dozen entries, and the old tables keep what was in them alive until the next full
 * garbage collection: half of all that a request allocates (see docs/internals/benchmarks.md).
 */
export class SlotList<Item extends Listed> {
  readonly #items: (Item | undefined)[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(item: Item): void {
    if (item.slot !== undefined) return;
    item.slot = this.#size;
    this.#items[this.#size++] = item;
  }

  delete(item: Item): void {
    const { slot } = item;
    if (slot === undefined) return;
    item.slot = undefined;
    const last = this.#items[--this.#size] as Item;
    this.#items[this.#size] = undefined;
    if (last === item) return;
    last.slot = slot;
    this.#items[slot] = last;
  }

  /** Items may be added and deleted meanwhile. */
  values(): readonly Item[] {
    return this.#items.slice(0, this.#size) as Item[];
  }
}
