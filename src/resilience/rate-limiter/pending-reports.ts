// What callers told and the window has not heard yet.
import type { Demand } from './ports.ts';

export type Reports = Omit<Demand, 'wanted' | 'late' | 'held'>;

const nothing: Reports = {
  successes: 0,
  successEpoch: 0,
  refusals: 0,
  refusalEpoch: 0,
  pauseMs: 0,
  returned: 0,
  returnedStamp: '',
};

/** A server that says "in a year" is not believed for longer than this. */
const longestPauseMs = 31 * 24 * 3_600_000;

export class PendingReports {
  #reports: Reports = nothing;

  /** Must the window hear of it before it grants anything more, here or elsewhere? */
  get areUrgent(): boolean {
    return this.#reports.refusals > 0 || this.#reports.returned > 0;
  }

  succeeded(epoch: number): void {
    this.#add({ ...nothing, successes: 1, successEpoch: epoch });
  }

  refused(epoch: number, retryAfterMs: number): void {
    const pauseMs = retryAfterMs > 0 ? Math.min(Math.ceil(retryAfterMs), longestPauseMs) : 0;
    this.#add({ ...nothing, refusals: 1, refusalEpoch: epoch, pauseMs });
  }

  returned(count: number, stamp: string): void {
    this.#reports = { ...this.#reports, returned: count, returnedStamp: stamp };
  }

  /** Everything so far; from now on it is the caller's to tell. */
  drain(): Reports {
    const reports = this.#reports;
    this.#reports = nothing;
    return reports;
  }

  /**
   * Takes back what an exchange failed to tell. Nobody knows whether it arrived: told twice, successes and refusals do
   * no harm, but returned grants would be taken from others, so they are forgotten and cost a little of the rate.
   */
  restore(untold: Reports): void {
    this.#add(untold);
  }

  /** Successes of an older epoch no longer matter. */
  #add(more: Reports): void {
    const mine = this.#reports;
    const successEpoch = Math.max(
      mine.successes > 0 ? mine.successEpoch : 0,
      more.successes > 0 ? more.successEpoch : 0,
    );
    const current = [mine, more].filter((reports) => reports.successEpoch === successEpoch);
    this.#reports = {
      successes: current.reduce((sum, reports) => sum + reports.successes, 0),
      successEpoch,
      refusals: mine.refusals + more.refusals,
      refusalEpoch: Math.max(mine.refusalEpoch, more.refusalEpoch),
      pauseMs: Math.max(mine.pauseMs, more.pauseMs),
      returned: mine.returned,
      returnedStamp: mine.returnedStamp,
    };
  }
}
