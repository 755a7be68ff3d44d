// A rate limiter of one process, for tests and benchmarks.
import type { MemoryRateWindowOptions } from '../../../src/resilience/index.ts';
import { AdaptiveRateLimiter, MemoryRateWindow } from '../../../src/resilience/index.ts';

/** With a journal its grants and backoff survive a restart. */
export const createRateLimiter = (options: MemoryRateWindowOptions): AdaptiveRateLimiter =>
  new AdaptiveRateLimiter(new MemoryRateWindow(options), options.clock);
