// Exact counts over the last second or minute.

/** What happened less than `spanMs` ago; times are given in order. */
export class SlidingWindow {
  readonly #spanMs: number;
  #times: number[] = [];
  #first = 0;

  constructor(spanMs: number) {
    this.#spanMs = spanMs;
  }

  count(now: number): number {
    while (this.#first < this.#times.length && (this.#times[this.#first] ?? 0) <= now - this.#spanMs)
      this.#first += 1;
    if (this.#first > 4_096 && this.#first * 2 > this.#times.length) {
      this.#times = this.#times.slice(this.#first);
      this.#first = 0;
    }
    return this.#times.length - this.#first;
  }

  add(now: number): void {
    this.#times.push(now);
  }

  /** When there will be fewer than `limit`, if nothing more happens. */
  below(limit: number, now: number): number {
    return this.count(now) < limit ? now : (this.#times[this.#times.length - limit] ?? now) + this.#spanMs;
  }
}
