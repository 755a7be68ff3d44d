// A sliding window over costs, in a ring of buckets. The kernel's windows keep one entry per grant, which tokens by the
// hundred thousand do not allow.

/** Times are milliseconds of any one clock and must not fall, but for `add`. redis/count-costs.lua does the same. */
export class CostWindow {
  readonly #bucketMs: number;
  readonly #buckets: number;
  /** One more than the window has: the bucket of a cost leaves when its whole span has passed. */
  readonly #costs: Float64Array;
  #newest = Number.NEGATIVE_INFINITY;
  #total = 0;

  constructor(bucketMs: number, buckets: number) {
    this.#bucketMs = bucketMs;
    this.#buckets = buckets;
    this.#costs = new Float64Array(buckets + 1);
  }

  /** How long until this much fits below the limit; 0: now. */
  waitMs(cost: number, limit: number, now: number): number {
    this.#advance(now);
    const needed = Math.min(cost, Math.max(limit, 1));
    let total = this.#total;
    if (total + needed <= limit) return 0;
    let index = this.#newest - this.#buckets;
    for (; index < this.#newest; index++) {
      total -= this.#costs[this.#slot(index)] ?? 0;
      if (total + needed <= limit) break;
    }
    return Math.max(1, Math.ceil((index + this.#buckets + 1) * this.#bucketMs - now));
  }

  /** `at` may lie in the past; what has left the window by then is ignored. No bucket falls below 0. */
  add(amount: number, at: number): void {
    const index = Math.floor(at / this.#bucketMs);
    if (index > this.#newest) this.#advance(at);
    if (index < this.#newest - this.#buckets) return;
    const slot = this.#slot(index);
    const before = this.#costs[slot] ?? 0;
    const after = Math.max(0, before + amount);
    this.#costs[slot] = after;
    this.#total += after - before;
  }

  #advance(now: number): void {
    const index = Math.floor(now / this.#bucketMs);
    if (index - this.#newest >= this.#costs.length) {
      this.#costs.fill(0);
      this.#total = 0;
      this.#newest = index;
    }
    while (this.#newest < index) {
      const slot = this.#slot(++this.#newest);
      this.#total -= this.#costs[slot] ?? 0;
      this.#costs[slot] = 0;
    }
  }

  /** Indices may be negative: a monotonic clock starts anywhere, and past calls lie before it. */
  #slot(index: number): number {
    const size = this.#costs.length;
    return ((index % size) + size) % size;
  }
}
