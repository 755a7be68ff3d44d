// How often something went wrong, of all times it was tried, over the last quarter of an hour.
import type { Clock } from '../../core/index.ts';

interface Minute {
  readonly at: number;
  total: number;
  bad: number;
}

const minuteMs = 60_000;

export class RateWindow {
  readonly #clock: Clock;
  readonly #lengthMs: number;
  #minutes: Minute[] = [];

  constructor(clock: Clock, lengthMs: number) {
    this.#clock = clock;
    this.#lengthMs = lengthMs;
  }

  add(isBad: boolean): void {
    const at = Math.floor(this.#clock.monotonic() / minuteMs);
    let last = this.#minutes.at(-1);
    if (last?.at !== at) {
      this.#forget(at);
      last = { at, total: 0, bad: 0 };
      this.#minutes.push(last);
    }
    last.total += 1;
    if (isBad) last.bad += 1;
  }

  /** A rate of 0 when nothing was tried. */
  read(): { readonly total: number; readonly bad: number; readonly rate: number } {
    this.#forget(Math.floor(this.#clock.monotonic() / minuteMs));
    const total = this.#minutes.reduce((sum, minute) => sum + minute.total, 0);
    const bad = this.#minutes.reduce((sum, minute) => sum + minute.bad, 0);
    return { total, bad, rate: total === 0 ? 0 : bad / total };
  }

  #forget(now: number): void {
    const oldest = now - this.#lengthMs / minuteMs;
    this.#minutes = this.#minutes.filter(({ at }) => at > oldest);
  }
}
