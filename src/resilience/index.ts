// Resilience: rate limiting, retries, queues and failure classification on an injected clock.
export { BoundedQueue, LinkedQueue } from './bounded-queue.ts';
export { CircuitBreaker } from './circuit-breaker.ts';
export { classifyHttpFailure, failureKinds } from './http-failure.ts';
export type { ErrorResponse, FailureKind, HttpFailureClass } from './http-failure.ts';
export { FallbackRateWindow } from './rate-limiter/fallback-window.ts';
export { AdaptiveRateLimiter } from './rate-limiter/limiter.ts';
export type { Permit, RateLimiterSnapshot } from './rate-limiter/limiter.ts';
export { MemoryRateWindow } from './rate-limiter/memory-window.ts';
export type { MemoryRateWindowOptions } from './rate-limiter/memory-window.ts';
export type {
  LateGrant,
  LocalRateWindow,
  RateLimits,
  RateWindow,
  WindowReply,
  WindowRequest,
  WindowState,
} from './rate-limiter/policy.ts';
export { exponentialBackoff, retry } from './retry.ts';
export type { Backoff, FailedAttempt } from './retry.ts';
export { quotaWindows, readRetryHint } from './retry-hints.ts';
export type { RetryHint } from './retry-hints.ts';
export { Mirror, Reload, WriteBehind } from './store-sync.ts';
export type { ChangeFeed, MirrorSource, WriteBehindSource } from './store-sync.ts';
