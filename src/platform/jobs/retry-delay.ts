// How long a failed job waits before its next try. The same on every store.
import type { JobDefinition, Random } from '../../core/index.ts';

/** A share of the delay that chance may add, so that jobs that failed together do not come back together. */
const jitter = 0.25;

type Timing = Pick<JobDefinition<unknown>, 'retryDelayMs' | 'retryBackoff' | 'retryDelayMaxMs'>;

/** Milliseconds to wait after try number `attempt` (1 for the first) has failed. */
export function retryDelay(timing: Timing, attempt: number, random: Random): number {
  if (!timing.retryBackoff) return timing.retryDelayMs;
  const doubled = timing.retryDelayMs * 2 ** Math.min(attempt - 1, 30);
  const spread = doubled * (1 + jitter * random.next());
  return Math.round(Math.min(spread, timing.retryDelayMaxMs ?? Number.POSITIVE_INFINITY));
}
