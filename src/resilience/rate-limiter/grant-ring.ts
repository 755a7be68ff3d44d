// The times of the last grants, newest first in constant time. Runs of grants at one time are the normal case.

export class GrantRing {
  readonly capacity: number;
  readonly #times: Float64Array;
  #newest = -1;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.#times = new Float64Array(capacity).fill(Number.NEGATIVE_INFINITY);
  }

  /** Times do not fall: one before the newest counts as the newest. */
  push(time: number, count: number): void {
    const at = Math.max(time, this.fromNewest(1));
    for (let pushed = 0; pushed < count; pushed++) {
      this.#newest = (this.#newest + 1) % this.capacity;
      this.#times[this.#newest] = at;
    }
  }

  /** The newest grant that is not after `from` becomes the newest of all, at `to`; if there is none, `to` is added. */
  move(from: number, to: number): void {
    let position = 1;
    while (position < this.capacity && this.fromNewest(position) > from) position++;
    if (this.fromNewest(position) > from) return this.push(to, 1);
    const at = Math.max(to, this.fromNewest(1));
    for (; position > 1; position--) this.#times[this.#indexOf(position)] = this.fromNewest(position - 1);
    this.#times[this.#newest] = at;
  }

  /** The time of the grant that is `position`th from the newest (1 is the newest); -Infinity if there was none. */
  fromNewest(position: number): number {
    return this.#times[this.#indexOf(position)] ?? Number.NEGATIVE_INFINITY;
  }

  #indexOf(position: number): number {
    return (this.#newest + 1 - position + this.capacity * 2) % this.capacity;
  }
}
