// One request under way: its deadline, its caller's signal, and how each candidate stands.
import type { Clock } from '../../core/index.ts';
import { CoreError } from '../../core/index.ts';
import type { GatewayRequest } from '../ports.ts';
import type { Candidate } from './select-candidates.ts';
import type { CandidateState } from './standing.ts';
import { newCandidateState } from './standing.ts';

/** Timers may fire a little early; nobody could answer in what is left then. */
const nothingLeftMs = 5;

/**
 * The deadline holds until an answer is there or a stream has begun: a stream that goes on is bounded by its silences
 * and by its caller, not cut in the middle of a sentence. It needs no timer: no attempt is given more time than is
 * left (attempt-limits.ts), and no sleep begins that would reach it.
 */
export class Run {
  readonly request: GatewayRequest;
  readonly candidateStates: readonly CandidateState[];
  /** Calls made so far. */
  calls = 0;
  /** How much longer it may wait for a model that cools. */
  waitLeftMs: number;
  /** There would have been another try, had the deadline been later. */
  hitDeadline = false;
  readonly #clock: Clock;
  readonly #endsAt: number;

  constructor(request: GatewayRequest, candidates: readonly Candidate[], clock: Clock) {
    this.request = request;
    this.candidateStates = candidates.map(newCandidateState);
    this.waitLeftMs = request.waitMs;
    this.#clock = clock;
    this.#endsAt = clock.monotonic() + request.deadlineMs;
  }

  get isOver(): boolean {
    return this.remainingMs() === 0;
  }

  /** Nobody waits for an answer any more. */
  get isCanceledOrExpired(): boolean {
    return this.request.signal.aborted || this.isOver;
  }

  remainingMs(): number {
    const leftMs = this.#endsAt - this.#clock.monotonic();
    return leftMs < nothingLeftMs ? 0 : leftMs;
  }

  /** Throws CANCELED once the caller has gone, and SHUTTING_DOWN when it is this server that goes. */
  throwIfCancelled(): void {
    const { aborted, reason } = this.request.signal;
    if (!aborted) return;
    if (reason instanceof CoreError && reason.code === 'SHUTTING_DOWN') throw reason;
    throw new CoreError('CANCELED', 'The caller went away before a model had answered.', {
      cause: reason,
    });
  }

  /** False, at once, when so long a sleep would reach the deadline. */
  async sleep(ms: number): Promise<boolean> {
    if (ms >= this.remainingMs()) {
      this.hitDeadline ||= Number.isFinite(ms);
      return false;
    }
    try {
      await this.#clock.sleep(ms, this.request.signal);
    } catch (error) {
      this.throwIfCancelled();
      throw error;
    }
    return true;
  }
}

/** Deadlines that were passed on are what is left of somebody's: nobody wants to read their fractions. */
export const secondsText = (ms: number): string => `${Number((ms / 1_000).toPrecision(3))} s`;

export function deadlineExceeded(deadlineMs: number): CoreError {
  return new CoreError(
    'DEADLINE_EXCEEDED',
    `The ${secondsText(deadlineMs)} of this request ran out before a model could answer. Try again, or give it more time.`,
    { isRetryable: true, details: { deadlineMs } },
  );
}
