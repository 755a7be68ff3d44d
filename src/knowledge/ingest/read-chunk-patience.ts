// How long a model that reads or settles names is waited for: one that failed twice in a row is left alone for a while.
import type { Clock } from '../../core/index.ts';
import { HeadworksError } from '../../core/index.ts';

/** So many failures in a row: the next would wait as long for the same. */
const mostFailures = 2;

/** Codes of answers that came and could not be used. */
const unusable: ReadonlySet<string> = new Set(['KNOWLEDGE_READING_FAILED', 'KNOWLEDGE_CONFIRMATION_FAILED']);

/**
 * Shared by all jobs of a process. After two failures in a row nobody is asked for `cooldownMs`; then one chunk
 * finds out whether it is back, and the others go on without until it is.
 */
export class ReadingPatience {
  readonly #clock: Clock;
  readonly #cooldownMs: number;
  readonly #asked = new Set<Promise<void>>();
  #failures = 0;
  #lastFailure: unknown = null;
  #restsUntil = 0;

  constructor(clock: Clock, cooldownMs: number) {
    this.#clock = clock;
    this.#cooldownMs = cooldownMs;
  }

  /** Fails as `read` does; while the model is left alone at once, with its last failure. */
  async ask<T>(read: () => Promise<T>, signal: AbortSignal): Promise<T> {
    // One has failed while others are out: they tell soon whether it is away, or was only that chunk's fault.
    while (this.#failures === 1 && this.#asked.size > 0) await Promise.race(this.#asked);
    if (this.#failures >= mostFailures) {
      const now = this.#clock.monotonic();
      if (now < this.#restsUntil) throw this.#lastFailure;
      this.#restsUntil = now + this.#cooldownMs;
    }
    const reading = read();
    const outcome = reading.then(
      () => this.#answered(),
      (error: unknown) => this.#failed(error, signal),
    );
    this.#asked.add(outcome);
    try {
      await outcome;
      return await reading;
    } finally {
      this.#asked.delete(outcome);
    }
  }

  #answered(): void {
    this.#failures = 0;
  }

  #failed(error: unknown, signal: AbortSignal): void {
    if (signal.aborted) return;
    // An answer that cannot be used is one: the model is there.
    const isAnswer = error instanceof HeadworksError && unusable.has(error.code) && !error.isRetryable;
    if (isAnswer) return this.#answered();
    this.#failures += 1;
    this.#lastFailure = error;
    this.#restsUntil = this.#clock.monotonic() + this.#cooldownMs;
  }
}
