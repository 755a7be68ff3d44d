// Only a caller that waits for a permit keeps this process running.
import { systemClock } from '../../src/core/system.ts';
import { AdaptiveRateLimiter, MemoryRateWindow } from '../../src/resilience/index.ts';

const limiter = new AdaptiveRateLimiter(
  new MemoryRateWindow({ limits: { perSecond: 1 }, clock: systemClock }),
  systemClock,
);
for (let grants = 1; grants <= 2; grants++) {
  (await limiter.acquire()).succeeded();
  process.stdout.write(`granted ${grants}\n`);
}
