// One request under way: its deadline, its caller's signal, and how each candidate stands.
import type { Clock, LinkedSignal } from '../../core/index.ts';
import { CoreError, linkSignals } from '../../core/index.ts';
import type { GatewayRequest } from '../ports.ts';
import type { Candidate } from './select-candidates.ts';
import type { Standing } from './standing.ts';
import { newStanding } from './standing.ts';

/**
 * The deadline holds until an answer is there or a stream has begun: a stream that goes on is bounded by its silences
 * and by its caller, not cut in the middle of a sentence.
 */
export class Run {
  readonly request: GatewayRequest;
  readonly standings: readonly Standing[];
  /** Calls made so far. */
  calls = 0;
  /** How much longer it may wait for a model that cools. */
  waitLeftMs: number;
  readonly #clock: Clock;
  readonly #link: LinkedSignal;
  readonly #endsAt: number;
  readonly #stopTimer: () => void;
  #hasExpired = false;

  constructor(request: GatewayRequest, candidates: readonly Candidate[], clock: Clock) {
    this.request = request;
    this.standings = candidates.map(newStanding);
    this.waitLeftMs = request.waitMs;
    this.#clock = clock;
    this.#link = linkSignals(request.signal);
    this.#endsAt = clock.monotonic() + request.deadlineMs;
    this.#stopTimer = clock.after(request.deadlineMs, () => {
      this.#hasExpired = true;
      this.#link.abort(deadlineExceeded(request.deadlineMs));
    });
  }

  /** Aborts with the caller, and with the deadline unless a stream has begun. */
  get signal(): AbortSignal {
    return this.#link.signal;
  }

  get isOver(): boolean {
    return this.#hasExpired || this.remainingMs() === 0;
  }

  remainingMs(): number {
    return Math.max(0, this.#endsAt - this.#clock.monotonic());
  }

  /** Throws CANCELLED once the caller has gone. */
  throwIfCancelled(): void {
    if (!this.request.signal.aborted) return;
    throw new CoreError('CANCELLED', 'The caller went away before a model had answered.', {
      cause: this.request.signal.reason,
    });
  }

  /** False, at once, when so long a sleep would reach the deadline. */
  async sleep(ms: number): Promise<boolean> {
    if (ms >= this.remainingMs()) return false;
    try {
      await this.#clock.sleep(ms, this.signal);
    } catch (error) {
      this.throwIfCancelled();
      // A timer that fired late: the deadline came first.
      if (!this.isOver) throw error;
    }
    return true;
  }

  /** From now on only the caller ends it. */
  liftDeadline(): void {
    this.#stopTimer();
  }

  /** Lets go of everything. Call it when the answer is over. */
  dispose(): void {
    this.#stopTimer();
    this.#link.dispose();
  }
}

export function deadlineExceeded(deadlineMs: number): CoreError {
  return new CoreError(
    'DEADLINE_EXCEEDED',
    `The ${deadlineMs / 1_000} s of this request ran out before a model could answer. Try again, or give it more time.`,
    { isRetryable: true, details: { deadlineMs } },
  );
}
