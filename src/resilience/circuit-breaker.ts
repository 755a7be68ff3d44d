// Stops calling a dependency that keeps failing, and probes it after a pause.
//
//   closed    → open       `failureThreshold` failures in a row
//   open      → half-open  after `resetTimeoutMs`: one call probes, the others still fail at once
//   half-open → closed     the probe succeeded
//   half-open → open       the probe failed
import type { Clock } from '../core/clock.ts';

export interface CircuitBreakerOptions {
  readonly clock: Clock;
  readonly failureThreshold: number;
  readonly resetTimeoutMs: number;
  /** False for errors that prove the dependency works (a reply that could not be used). Default: every error counts. */
  readonly isFailure?: (error: unknown) => boolean;
}

export type CircuitState =
  | { readonly is: 'closed' }
  | { readonly is: 'open'; readonly error: unknown; readonly retryAfterMs: number }
  | { readonly is: 'half-open' };

export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions;
  readonly #inFlight = new Set<Promise<void>>();
  #failures = 0;
  #lastError: unknown;
  #opensAgainAt = 0;

  constructor(options: CircuitBreakerOptions) {
    this.#options = options;
  }

  get state(): CircuitState {
    if (this.#failures < this.#options.failureThreshold) return { is: 'closed' };
    const retryAfterMs = this.#opensAgainAt - this.#options.clock.monotonic();
    return retryAfterMs > 0 ? { is: 'open', error: this.#lastError, retryAfterMs } : { is: 'half-open' };
  }

  /**
   * Fails as `work` does; while the circuit is open it fails at once with the last error and does not call `work`.
   * An aborted signal is not a failure of the dependency.
   */
  async execute<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    // One failure before opening, calls in flight will soon decide: do not add a call that would wait for the same.
    while (this.#isOneFailureBeforeOpening && this.#inFlight.size > 0) await Promise.race(this.#inFlight);
    const { state } = this;
    if (state.is === 'open') throw state.error;
    if (state.is === 'half-open') this.#keepOpen();
    const working = work();
    const outcome = working.then(
      () => this.#succeeded(),
      (error: unknown) => this.#failed(error, signal),
    );
    this.#inFlight.add(outcome);
    try {
      await outcome;
      return await working;
    } finally {
      this.#inFlight.delete(outcome);
    }
  }

  get #isOneFailureBeforeOpening(): boolean {
    return this.#failures > 0 && this.#failures === this.#options.failureThreshold - 1;
  }

  #keepOpen(): void {
    this.#opensAgainAt = this.#options.clock.monotonic() + this.#options.resetTimeoutMs;
  }

  #succeeded(): void {
    this.#failures = 0;
  }

  #failed(error: unknown, signal: AbortSignal | undefined): void {
    if (signal?.aborted) return;
    if (this.#options.isFailure?.(error) === false) return this.#succeeded();
    this.#failures += 1;
    this.#lastError = error;
    this.#keepOpen();
  }
}
