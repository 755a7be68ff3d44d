// How long a provider took for its stream, without the time in which its reader kept it waiting.
import type { Clock } from '../../core/index.ts';

/**
 * A piece that is there so soon after it was asked for had come before. After a long pause of the reader a busy machine
 * may need longer to hand it over: a hundredth of the pause.
 */
const atOnceMs = 1;
const atOnceShare = 0.01;

/**
 * Between two pieces we wait for the reader, who takes the first, and then for the provider, who sends the next. If the
 * next one was there already, that time was the reader's; if not, the provider was at work during all of it.
 */
export class SpeakingTime {
  readonly #clock: Clock;
  #ms = 0;
  /** Monotonic: when the last piece came. */
  #heardAt: number;
  /** Monotonic: when the next one was asked for; undefined while the reader is waited for. */
  #askedAt: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#heardAt = clock.monotonic();
  }

  /** Up to the last piece. */
  get ms(): number {
    return this.#ms;
  }

  /** Up to now while the next piece is waited for, else up to the last. */
  get msSoFar(): number {
    return this.#askedAt === undefined ? this.#ms : this.#ms + this.#since(this.#askedAt);
  }

  /** The reader wants more. */
  ask(): void {
    this.#askedAt = this.#clock.monotonic();
  }

  /** More has come. */
  hear(): void {
    if (this.#askedAt === undefined) return;
    this.#ms += this.#since(this.#askedAt);
    this.#heardAt = this.#clock.monotonic();
    this.#askedAt = undefined;
  }

  #since(askedAt: number): number {
    const waitedMs = this.#clock.monotonic() - askedAt;
    const readersMs = askedAt - this.#heardAt;
    const isAtOnce = waitedMs < Math.max(atOnceMs, readersMs * atOnceShare);
    return isAtOnce && readersMs >= atOnceMs ? waitedMs : waitedMs + readersMs;
  }
}
