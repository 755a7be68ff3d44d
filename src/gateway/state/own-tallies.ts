// What this process saw since the store's tallies were read, so that scores move at once. A request counts once per
// model, by its last outcome there: so requests that failed are remembered, to be taken back when they succeed.
import type { Attempt, Tally } from '../ports.ts';
import { requestKey, speaksOfReliability } from './counting-attempts.ts';

interface Difference {
  requests: number;
  successes: number;
  successMs: number;
}

/** A request on a model that failed at least once; counted by the store or by us. */
interface FailedRequest {
  failures: number;
  isRescued: boolean;
}

/** A request whose failure was forgotten counts twice until tallies are read again; that takes this many between. */
const rememberedRequests = 10_000;

export class OwnTallies {
  readonly #differences = new Map<number, Difference>();
  /** By model and request, oldest first. */
  readonly #failed = new Map<string, FailedRequest>();

  count(attempt: Attempt): void {
    if (!speaksOfReliability(attempt)) return;
    const difference = this.#differenceOf(attempt.modelId);
    const failed = this.#failed.size === 0 ? undefined : this.#failed.get(requestKey(attempt));
    if (!failed || failed.isRescued) difference.requests += 1;
    if (attempt.outcome === 'success') {
      difference.successes += 1;
      difference.successMs += attempt.durationMs;
      if (failed) failed.isRescued = true;
    } else if (failed) {
      failed.failures += 1;
      failed.isRescued = false;
    } else {
      this.#remember(requestKey(attempt));
    }
  }

  /** Adds what came since to a tally that was read from the store. */
  addTo(tally: Tally, modelId: number): Tally {
    const difference = this.#differences.get(modelId);
    if (!difference) return tally;
    const successes = tally.successes + difference.successes;
    const totalMs = tally.averageSeconds * 1_000 * tally.successes + difference.successMs;
    return {
      requests: tally.requests + difference.requests,
      successes,
      averageSeconds: successes === 0 ? 0 : totalMs / successes / 1_000,
    };
  }

  /** The store's tallies were read and hold all but `unwritten`, oldest first. */
  restart(unwritten: readonly Attempt[]): void {
    this.#differences.clear();
    for (const attempt of unwritten) this.#takeBack(attempt);
    for (const attempt of unwritten) this.count(attempt);
  }

  #takeBack(attempt: Attempt): void {
    const failed = this.#failed.get(requestKey(attempt));
    if (!failed || !speaksOfReliability(attempt)) return;
    if (attempt.outcome === 'success') failed.isRescued = false;
    else failed.failures -= 1;
    if (failed.failures === 0) this.#failed.delete(requestKey(attempt));
  }

  #differenceOf(modelId: number): Difference {
    let difference = this.#differences.get(modelId);
    if (!difference) {
      difference = { requests: 0, successes: 0, successMs: 0 };
      this.#differences.set(modelId, difference);
    }
    return difference;
  }

  #remember(key: string): void {
    this.#failed.set(key, { failures: 1, isRescued: false });
    if (this.#failed.size <= rememberedRequests) return;
    const [oldest] = this.#failed.keys();
    if (oldest !== undefined) this.#failed.delete(oldest);
  }
}
