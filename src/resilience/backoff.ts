// How long to wait before the next try: strategies, apart from the loop that uses them.
import type { Random } from '../core/random.ts';

export interface Backoff {
  /** Milliseconds before retry number `retry`; 1 is the first retry, which is the second try. */
  delayMs(retry: number, random: Random): number;
}

/** The same wait each time. */
export function fixedBackoff(delayMs: number): Backoff {
  requireDelay('delayMs', delayMs);
  return { delayMs: () => delayMs };
}

export interface ExponentialBackoffOptions {
  /** The wait before the first retry, without jitter. */
  readonly initialMs: number;
  /** No wait is longer. */
  readonly maxMs: number;
  /** Each wait is this many times the one before. Default 2. */
  readonly factor?: number;
  /**
   * `full`: anything from 0 to the wait; spreads a crowd best. `equal`: from half the wait to the wait.
   * `none`: exactly the wait. Default `full`.
   */
  readonly jitter?: 'full' | 'equal' | 'none';
}

/** Waits that grow, with jitter so that many who failed together do not come back together. */
export function exponentialBackoff(options: ExponentialBackoffOptions): Backoff {
  const { initialMs, maxMs, factor = 2, jitter = 'full' } = options;
  requireDelay('initialMs', initialMs);
  requireDelay('maxMs', maxMs);
  if (!(factor >= 1 && Number.isFinite(factor)))
    throw new RangeError(`factor must be 1 or more, not ${factor}`);
  return {
    delayMs(retry, random) {
      const waitMs = Math.min(maxMs, initialMs * factor ** (retry - 1));
      if (jitter === 'none') return waitMs;
      return jitter === 'full' ? waitMs * random.next() : (waitMs / 2) * (1 + random.next());
    },
  };
}

function requireDelay(name: string, value: number): void {
  if (!(value >= 0 && Number.isFinite(value)))
    throw new RangeError(`${name} must be 0 or more, not ${value}`);
}
