// headworks/resilience: rate limiting, retries, circuit breaking and bounded queues, for any program.
import { z } from 'zod';
import { systemClock, systemRandom } from '../core/index.ts';
import type { RetryHint } from '../resilience/index.ts';
import {
  AdaptiveRateLimiter,
  BoundedQueue as UncheckedQueue,
  CircuitBreaker as ClockedCircuitBreaker,
  exponentialBackoff,
  MemoryRateWindow,
  readRetryHint,
  retry as retryWith,
} from '../resilience/index.ts';
import { amount, callback, checkInput, object, signal, whole } from './boundary.ts';

export { HeadworksError } from '../core/errors.ts';
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
 * Permission for one call. Report exactly one outcome; only the first one counts.
 *
 * @example const finish = (permit: Permit, isOk: boolean) => (isOk ? permit.succeeded() : permit.failed());
 */
export interface Permit {
  /** The server responded, and not with a rate limit. */
  succeeded(): void;
  /** The server responded with 429 or an equivalent. `retryAfterMs` pauses every caller until then. */
  rateLimited(hint?: { readonly retryAfterMs?: number | undefined }): void;
  /** The call failed for another reason or was not made: no information about the rate. */
  failed(): void;
}

/**
 * A rate limiter of this process.
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
  const { perSecond, perMinute, isAdaptive } = checkInput('createRateLimiter', rateLimiterInput, options);
  const limits = { perSecond, perMinute };
  const limiter = new AdaptiveRateLimiter(
    new MemoryRateWindow({ limits, adaptive: isAdaptive ?? true, clock: systemClock }),
    systemClock,
  );
  return {
    acquire: async (stopped) => {
      checkInput('acquire', signalInput, { signal: stopped });
      const permit = await limiter.acquire(stopped);
      return {
        succeeded: () => permit.succeeded(),
        rateLimited: (hint) => {
          checkInput('rateLimited', hintInput, { hint });
          permit.rateLimited(hint);
        },
        failed: () => permit.failed(),
      };
    },
    get waiting() {
      return limiter.waiting;
    },
  };
}

const rate = whole(1, 1_000_000).optional();
const rateLimiterInput = object({
  perSecond: rate,
  perMinute: rate,
  isAdaptive: z.boolean().optional(),
}).refine(({ perSecond, perMinute }) => perSecond !== undefined || perMinute !== undefined, {
  path: ['perSecond or perMinute'],
});
const signalInput = object({ signal: signal.optional() });
/** Not strict: what `retryHintOf` returns fits. */
const hintInput = object({
  hint: z
    .looseObject({ retryAfterMs: amount(0).optional() }, 'must be an object with retryAfterMs')
    .optional(),
});

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
export async function retry<T>(work: (attempt: number) => Promise<T>, options: RetryOptions): Promise<T> {
  const given = checkInput('retry', retryInput, { work, options });
  const { retries, isRetryable, initialDelayMs, maxDelayMs, signal: stopped } = given.options;
  return retryWith(
    (attempt) => work(attempt),
    {
      retries,
      isRetryable: isRetryable ?? (() => true),
      backoff: exponentialBackoff({ initialMs: initialDelayMs ?? 500, maxMs: maxDelayMs ?? 30_000 }),
    },
    { clock: systemClock, random: systemRandom, signal: stopped },
  );
}

const retryInput = object({
  work: callback(),
  options: object({
    retries: whole(0),
    isRetryable: callback<(error: unknown) => boolean>().optional(),
    initialDelayMs: amount(0).optional(),
    maxDelayMs: amount(0).optional(),
    signal: signal.optional(),
  }),
});

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
  const given = checkInput('createCircuitBreaker', circuitBreakerInput, options);
  const breaker = new ClockedCircuitBreaker({ ...given, clock: systemClock });
  return {
    execute: async (work, stopped) => {
      checkInput('execute', executeInput, { work, signal: stopped });
      return breaker.execute(work, stopped);
    },
  };
}

const circuitBreakerInput = object({ failureThreshold: whole(1), resetTimeoutMs: amount(0) });
const executeInput = object({ work: callback(), signal: signal.optional() });

/**
 * Settings of {@link BoundedQueue}.
 *
 * @example const options: BoundedQueueOptions = { maxItems: 100, maxBytes: 1_000_000 };
 */
export interface BoundedQueueOptions {
  /** Most items in the queue. */
  readonly maxItems: number;
  /** Most bytes in the queue; a larger item is accepted when the queue is empty. Default: no limit. */
  readonly maxBytes?: number;
}

/**
 * A queue between producers and consumers: producers wait while it is full.
 *
 * @example
 * const queue = new BoundedQueue<string>({ maxItems: 100, maxBytes: 1_000_000 });
 * await queue.put('page', 4);
 * queue.close();
 * for await (const page of queue) console.log(page);
 */
export class BoundedQueue<T> extends UncheckedQueue<T> {
  constructor(options: BoundedQueueOptions) {
    super(checkInput('BoundedQueue', queueInput, options));
  }

  override async put(item: T, bytes = 0, stopped?: AbortSignal): Promise<void> {
    checkInput('put', putInput, { bytes, signal: stopped });
    return super.put(item, bytes, stopped);
  }

  override async take(stopped?: AbortSignal): Promise<IteratorResult<T, undefined>> {
    checkInput('take', signalInput, { signal: stopped });
    return super.take(stopped);
  }
}

const queueInput = object({ maxItems: whole(1), maxBytes: amount(1, Number.POSITIVE_INFINITY).optional() });
const putInput = object({ bytes: amount(0), signal: signal.optional() });

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
  checkInput('retryHintOf', responseInput, { response });
  const headers = Object.fromEntries(response.headers);
  const body = response.ok ? '' : await response.clone().text();
  return readRetryHint({ headers, body, isRateLimited: response.status === 429 }, systemClock.now());
}

const responseInput = object({
  response: z.custom<Response>((given) => {
    const { status, headers, clone } = (given ?? {}) as Partial<Response>;
    return typeof status === 'number' && typeof headers?.get === 'function' && typeof clone === 'function';
  }, 'must be a Response of fetch'),
});
