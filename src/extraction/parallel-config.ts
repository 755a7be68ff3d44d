// The ParallelConfig of document 001 with its validation.
import { availableParallelism } from 'node:os';

export interface ParallelConfig {
  /** Pages in flight. 1 is the sequential mode. */
  readonly workers: number;
  /** Most pages queued for worker threads. */
  readonly queueSize: number;
  /** Items per page. */
  readonly batchSize: number;
  readonly rateLimitPerMinute: number;
  readonly rateLimitPerSecond: number;
  /** Slow down on 429. */
  readonly adaptiveRateLimiting: boolean;
}

export const parallelBounds = {
  workers: { min: 1, max: 50 },
  queueSize: { min: 10, max: 1_000_000 },
  batchSize: { min: 10, max: 1000 },
  rateLimitPerMinute: { min: 1, max: 1_000_000 },
  rateLimitPerSecond: { min: 1, max: 1_000_000 },
} as const;

/**
 * Most bytes queued for worker threads. Enough that threads never wait for a page: a larger queue only uses more memory
 * (64 MB: 40 MB more, and no higher throughput).
 */
export const queueBytes = 8 * 1024 * 1024;

export const defaultWorkers = Math.min(availableParallelism(), 8);
export const defaultQueueSize = (workers: number): number => workers * 100;

export const parallelDefaults: Omit<ParallelConfig, 'queueSize'> = {
  workers: defaultWorkers,
  batchSize: 100,
  rateLimitPerMinute: 100,
  rateLimitPerSecond: 10,
  adaptiveRateLimiting: true,
};

export interface ParallelProblem {
  readonly field: keyof ParallelConfig;
  readonly problem: string;
}

/** Rules between fields; a missing field (because its own value is invalid) violates none. */
export function rulesBetween(config: Partial<ParallelConfig>): readonly ParallelProblem[] {
  const { workers, queueSize, rateLimitPerMinute, rateLimitPerSecond } = config;
  const problems: ParallelProblem[] = [];
  if (workers !== undefined && queueSize !== undefined && queueSize < workers * 10)
    problems.push({
      field: 'queueSize',
      problem: `must be at least ${workers * 10}, ten times the ${workers} workers, so that no worker idles`,
    });
  if (
    rateLimitPerMinute !== undefined &&
    rateLimitPerSecond !== undefined &&
    rateLimitPerSecond > rateLimitPerMinute
  )
    problems.push({
      field: 'rateLimitPerSecond',
      problem: `must not be above the ${rateLimitPerMinute} per minute`,
    });
  return problems;
}
