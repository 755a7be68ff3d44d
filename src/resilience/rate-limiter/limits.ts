// The permitted rate as sliding windows, and what a backoff multiplier makes of them.
import type { RateLimits } from './ports.ts';

export interface SlidingWindow {
  readonly limit: number;
  readonly windowMs: number;
  /** Added to every span of this window. */
  readonly guardMs: number;
}

/** At most `count` grants in any `spanMs`. */
export interface EffectiveWindow {
  readonly count: number;
  readonly spanMs: number;
}

/**
 * Two calls that leave 1,000 ms apart may arrive 990 ms apart, and the server counts arrivals. The guard absorbs what
 * differs on the way and costs 1.8% of a rate per second, 0.5% of one per minute. What makes a call leave late is not
 * its part: such a call counts from when it left (`Demand.late`).
 */
const windows = [
  { name: 'perSecond', windowMs: 1_000, guardMs: 18 },
  { name: 'perMinute', windowMs: 60_000, guardMs: 300 },
] as const;

const largestLimit = 1_000_000;

/** The windows of these limits. Throws RangeError naming a limit that is not a whole number from 1. */
export function slidingWindows(limits: RateLimits): readonly SlidingWindow[] {
  const found: SlidingWindow[] = [];
  for (const { name, windowMs, guardMs } of windows) {
    const limit = limits[name];
    if (limit === undefined) continue;
    if (!(Number.isInteger(limit) && limit >= 1 && limit <= largestLimit))
      throw new RangeError(`${name} must be a whole number from 1 to ${largestLimit}, not ${limit}`);
    found.push({ limit, windowMs, guardMs });
  }
  if (found.length === 0) throw new RangeError('perSecond or perMinute must be given');
  return found;
}

/**
 * The window slowed by the multiplier: count / span is limit / multiplier per window, exactly. The count falls first,
 * because a server that allows half as much refuses the second half of a full burst however long we pause after it;
 * the span takes up what rounding the count leaves, and all of it for a limit of 1. No span is below the window, so
 * the limit itself holds in every window, whatever the multiplier did in between.
 */
export function effectiveWindow(
  { limit, windowMs, guardMs }: SlidingWindow,
  multiplier: number,
): EffectiveWindow {
  const count = Math.max(1, Math.ceil(limit / multiplier - 1e-9));
  // Whole milliseconds, so that it comes out alike here and in Lua.
  const spanMs = Math.max(windowMs, Math.ceil((windowMs * count * multiplier) / limit - 1e-6));
  return { count, spanMs: spanMs + guardMs };
}
