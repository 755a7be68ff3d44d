// What operators see of a limiter: the RateLimiterState of the founding document 001, under its own field names.
import type { RateLimits, WindowState } from './ports.ts';

export interface RateLimiterSnapshot {
  readonly backoff_multiplier: number;
  /** ISO 8601, or null if there never was one. */
  readonly last_429_timestamp: string | null;
  /** Successes in a row since the last refusal or the last step of recovery. */
  readonly consecutive_successes: number;
  readonly total_429_count: number;
  /** ISO 8601, or null when nobody is held back by a Retry-After. */
  readonly paused_until: string | null;
  /** Callers in line in this process. */
  readonly waiting: number;
  /** The limit divided by the multiplier; null when there is no such limit. */
  readonly permitted_per_second: number | null;
  readonly permitted_per_minute: number | null;
}

export function snapshotOf(
  state: WindowState,
  limits: RateLimits,
  waiting: number,
  now: number,
): RateLimiterSnapshot {
  const permitted = (limit: number | undefined) => (limit === undefined ? null : limit / state.multiplier);
  return {
    backoff_multiplier: state.multiplier,
    last_429_timestamp: state.last429At === 0 ? null : new Date(state.last429At).toISOString(),
    consecutive_successes: state.consecutiveSuccesses,
    total_429_count: state.total429,
    paused_until: state.pausedUntil > now ? new Date(state.pausedUntil).toISOString() : null,
    waiting,
    permitted_per_second: permitted(limits.perSecond),
    permitted_per_minute: permitted(limits.perMinute),
  };
}
