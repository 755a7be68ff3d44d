// Says what an extraction waits for while it has no progress to show: a login may wait a minute for its turn.
import type { Clock, Emitter } from '../core/index.ts';
import type { ExtractionEvents, WaitReason } from '../extraction/index.ts';
import type { AdaptiveRateLimiter, RateLimiterSnapshot } from '../resilience/index.ts';

/** A wait that is shorter is not worth a word. */
const silentMs = 1_000;

export class WaitReporter {
  readonly #events: Emitter<ExtractionEvents>;
  readonly #clock: Clock;
  #told = 0;
  #isOver = false;

  constructor(events: Emitter<ExtractionEvents>, clock: Clock) {
    this.#events = events;
    this.#clock = clock;
  }

  tell(reason: WaitReason, why: string, waitMs: number | null = null): void {
    if (this.#isOver) return;
    this.#told += 1;
    this.#events.emit('extraction:waiting', { reason, why, waitMs });
  }

  /** Runs `acquire`, which waits for leave of the limiter, and says so when it takes long and nobody said why. */
  async whileAcquiring<T>(limiter: AdaptiveRateLimiter, acquire: () => Promise<T>): Promise<T> {
    const toldBefore = this.#told;
    const cancel = this.#clock.after(silentMs, () => {
      if (this.#told === toldBefore) this.tell('rate-limit', whyLimited(limiter.snapshot()));
    });
    try {
      return await acquire();
    } finally {
      cancel();
    }
  }

  /** From now on there is progress, which shows what is waited for. */
  end(): void {
    this.#isOver = true;
  }
}

function whyLimited(snapshot: RateLimiterSnapshot): string {
  const { paused_until: pausedUntil, permitted_per_second: second, permitted_per_minute: minute } = snapshot;
  if (pausedUntil !== null) return `the source asked for a pause until ${pausedUntil}`;
  const rates = [
    ...(minute === null ? [] : [`${rounded(minute)} calls a minute`]),
    ...(second === null ? [] : [`${rounded(second)} a second`]),
  ];
  return `calls that were made before have used up the rate limit (${rates.join(', ')})`;
}

const rounded = (rate: number): string => String(Math.round(rate * 10) / 10);
