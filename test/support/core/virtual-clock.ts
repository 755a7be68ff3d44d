// A clock that moves only when a test advances it.
import type { Clock } from '../../../src/core/clock.ts';

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

export class VirtualClock implements Clock {
  readonly #startedAt: number;
  #elapsed = 0;
  #order = 0;
  #timers: Timer[] = [];

  constructor(startAtMs = 1_700_000_000_000) {
    this.#startedAt = startAtMs;
  }

  now(): number {
    return this.#startedAt + this.#elapsed;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error);
      const onAbort = () => {
        cancel();
        reject(signal?.reason as Error);
      };
      const cancel = this.after(ms, () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      });
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  after(ms: number, run: () => void): () => void {
    const timer: Timer = { at: this.#elapsed + Math.max(ms, 0), order: this.#order++, run };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Timers that have not fired. */
  get pending(): number {
    return this.#timers.length;
  }

  /** Advances time by `ms`: runs due timers in order and settles promises in between. */
  async advance(ms: number): Promise<void> {
    const target = this.#elapsed + ms;
    await settle();
    for (let next = this.#takeDue(target); next; next = this.#takeDue(target)) {
      this.#elapsed = Math.max(this.#elapsed, next.at);
      next.run();
      await settle();
    }
    this.#elapsed = target;
  }

  /** Jumps from timer to timer until `work` has settled. Fails when nothing is left that could wake it. */
  async run<T>(work: Promise<T>): Promise<T> {
    let done = false;
    const finish = () => (done = true);
    work.then(finish, finish);
    await settle();
    while (!done) {
      const next = this.#takeDue(Number.POSITIVE_INFINITY);
      if (!next)
        throw new Error(
          `Virtual time stops at ${this.#elapsed} ms: no timer is pending that could complete the work.`,
        );
      this.#elapsed = Math.max(this.#elapsed, next.at);
      next.run();
      await settle();
    }
    return work;
  }

  #takeDue(target: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.at > target) continue;
      if (!first || timer.at < first.at || (timer.at === first.at && timer.order < first.order))
        first = timer;
    }
    if (first) this.#timers = this.#timers.filter((timer) => timer !== first);
    return first;
  }
}

/** Settles every promise that can settle now: a macrotask runs only after all microtasks. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
