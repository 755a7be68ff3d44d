// headworks/resilience: rate limiting, retries, circuit breaking and bounded queues, for any program.
import { systemClock, systemRandom } from '../core/index.ts';
import { checkNames } from './check-names.ts';
import type { Permit, RetryHint } from '../resilience/index.ts';
import {
  AdaptiveRateLimiter,
  CircuitBreaker as ClockedCircuitBreaker,
  exponentialBackoff,
  MemoryRateWindow,
  readRetryHint,
  retry as retryWith,
} from '../resilience/index.ts';

export { BoundedQueue } from '../resilience/bounded-queue.ts';
export type { Permit } from '../resilience/rate-limiter/limiter.ts';
export type { RetryHint } from '../resilience/retry-hints.ts';

/**
 * Settings of {@link createRateLimiter}.
 *
 * @example const options: RateLimiterOptions = { perSecond: 10, perMinute: 100 };
 */
export interface RateLimiterOptions {
  /** Calls in any second. Default: no limit. */
  readonly perSecond?: number;
  /** Calls in any minute. Default: no limit. */
  readonly perMinute?: number;
  /** Slow down after a 429 and recover with successes. Default: true. */
  readonly isAdaptive?: boolean;
}

/**
 * A rate limiter of this process. One implementation: what `createRateLimiter` returns, without its internals.
 *
 * @example
 * const limiter: RateLimiter = createRateLimiter({ perSecond: 10 });
 * const permit = await limiter.acquire(AbortSignal.timeout(5_000));
 * permit.succeeded();
 */
export interface RateLimiter {
  /** Resolves when the next call may be made, in the order of the calls. Rejects with the signal's reason. */
  acquire(signal?: AbortSignal): Promise<Permit>;
  /** Callers that wait for a permit. */
  readonly waiting: number;
}

/**
 * Creates a rate limiter: no sliding second or minute contains more grants than permitted.
 *
 * @example
 * const limiter = createRateLimiter({ perSecond: 10, perMinute: 100 });
 * const permit = await limiter.acquire();
 * const response = await fetch('https://api.example.com/items');
 * if (response.status === 429) permit.rateLimited({ retryAfterMs: 1_000 });
 * else permit.succeeded();
 */
export function createRateLimiter(options: RateLimiterOptions): RateLimiter {
  checkNames('createRateLimiter', options, ['perSecond', 'perMinute', 'isAdaptive']);
  const { perSecond, perMinute, isAdaptive = true } = options;
  const limits = { perSecond, perMinute };
  return new AdaptiveRateLimiter(
    new MemoryRateWindow({ limits, adaptive: isAdaptive, clock: systemClock }),
    systemClock,
  );
}

/**
 * How {@link retry} retries.
 *
 * @example const options: RetryOptions = { retries: 3, isRetryable: (error) => error instanceof TypeError };
 */
export interface RetryOptions {
  /** Attempts after the first. */
  readonly retries: number;
  /** Which errors are worth another attempt. Default: all. */
  readonly isRetryable?: (error: unknown) => boolean;
  /** Milliseconds before the first retry; doubled for each further one, with jitter. Default: 500. */
  readonly initialDelayMs?: number;
  /** Longest delay. Default: 30,000. */
  readonly maxDelayMs?: number;
  readonly signal?: AbortSignal;
}

/**
 * Runs `work` until it succeeds. An error with a numeric `retryAfterMs` delays the next attempt at least that long.
 * Fails with the error of the last attempt, or with the signal's reason.
 *
 * @example const response = await retry(() => fetch('https://api.example.com'), { retries: 3 });
 */
export function retry<T>(work: (attempt: number) => Promise<T>, options: RetryOptions): Promise<T> {
  const { retries, isRetryable = () => true, initialDelayMs = 500, maxDelayMs = 30_000, signal } = options;
  return retryWith(
    (attempt) => work(attempt),
    { retries, isRetryable, backoff: exponentialBackoff({ initialMs: initialDelayMs, maxMs: maxDelayMs }) },
    { clock: systemClock, random: systemRandom, signal },
  );
}

/**
 * Settings of {@link createCircuitBreaker}.
 *
 * @example const options: CircuitBreakerOptions = { failureThreshold: 5, resetTimeoutMs: 30_000 };
 */
export interface CircuitBreakerOptions {
  /** Consecutive failures that open the circuit. */
  readonly failureThreshold: number;
  /** Milliseconds until one call probes the dependency again. */
  readonly resetTimeoutMs: number;
}

/**
 * Stops calling a dependency that keeps failing.
 *
 * @example
 * const breaker: CircuitBreaker = createCircuitBreaker({ failureThreshold: 5, resetTimeoutMs: 30_000 });
 * const response = await breaker.execute(() => fetch('https://api.example.com'));
 */
export interface CircuitBreaker {
  /** Fails as `work` does; while the circuit is open it fails at once with the last error. */
  execute<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/**
 * Creates a circuit breaker.
 *
 * @example
 * const breaker = createCircuitBreaker({ failureThreshold: 5, resetTimeoutMs: 30_000 });
 * const response = await breaker.execute(() => fetch('https://api.example.com'));
 */
export function createCircuitBreaker(options: CircuitBreakerOptions): CircuitBreaker {
  return new ClockedCircuitBreaker({ ...options, clock: systemClock });
}

/**
 * When the server allows the next request, from `Retry-After`, rate-limit headers or the body of an error response in
 * the forms that APIs and AI providers use. Undefined if the response has no hint.
 *
 * @example
 * const response = await fetch('https://api.example.com');
 * const hint = await retryHintOf(response);
 * if (hint) console.log(`${hint.source} says: wait ${hint.retryAfterMs} ms`);
 */
export async function retryHintOf(response: Response): Promise<RetryHint | undefined> {
  const headers = Object.fromEntries(response.headers);
  const body = response.ok ? '' : await response.clone().text();
  return readRetryHint({ headers, body, isRateLimited: response.status === 429 }, systemClock.now());
}
