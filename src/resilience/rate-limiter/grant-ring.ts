// The times of the last grants, newest first in constant time. Runs of grants at one time are the normal case.

export class GrantRing {
  readonly capacity: number;
  readonly #times: Float64Array;
  #newest = -1;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.#times = new Float64Array(capacity).fill(Number.NEGATIVE_INFINITY);
  }

  /** Times must not fall. */
  push(at: number, count: number): void {
    for (let pushed = 0; pushed < count; pushed++) {
      this.#newest = (this.#newest + 1) % this.capacity;
      this.#times[this.#newest] = at;
    }
  }

  /** The time of the grant that is `position`th from the newest (1 is the newest); -Infinity if there was none. */
  fromNewest(position: number): number {
    const index = (this.#newest + 1 - position + this.capacity * 2) % this.capacity;
    return this.#times[index] ?? Number.NEGATIVE_INFINITY;
  }
}
