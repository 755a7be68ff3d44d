// A limiter for one process, in one call.
import { AdaptiveRateLimiter } from './adaptive-rate-limiter.ts';
import type { MemoryRateWindowOptions } from './memory-rate-window.ts';
import { MemoryRateWindow } from './memory-rate-window.ts';

/** Counts in this process; with a journal its grants and backoff survive a restart. */
export function createRateLimiter(options: MemoryRateWindowOptions): AdaptiveRateLimiter {
  return new AdaptiveRateLimiter(new MemoryRateWindow(options), options.clock);
}
