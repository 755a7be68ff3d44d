// Resilience: rate limiting, retries, queues and failure classification on an injected clock.
export { BoundedQueue, LinkedQueue } from './bounded-queue.ts';
export type { BoundedQueueOptions, QueueNode } from './bounded-queue.ts';
export { CircuitBreaker } from './circuit-breaker.ts';
export type { CircuitBreakerOptions, CircuitState } from './circuit-breaker.ts';
export { classifyHttpFailure, failureKinds } from './http-failure.ts';
export type { ErrorResponse, FailureKind, HttpFailureClass } from './http-failure.ts';
export { MemoryChangeFeed, Mirror, Reload } from './mirror.ts';
export type { ChangeFeed, MirrorSource, ReloadDeps, ReloadSource } from './mirror.ts';
export { FallbackRateWindow } from './rate-limiter/fallback-window.ts';
export type { FallbackRateWindowOptions } from './rate-limiter/fallback-window.ts';
export { AdaptiveRateLimiter } from './rate-limiter/limiter.ts';
export type { AcquireOptions, Permit, RateLimiterSnapshot } from './rate-limiter/limiter.ts';
export { createRateLimiter, MemoryRateWindow } from './rate-limiter/memory-window.ts';
export type { MemoryRateWindowOptions } from './rate-limiter/memory-window.ts';
export type {
  GrantJournal,
  JournaledGrants,
  JournaledState,
  LocalRateWindow,
  RateLimits,
  RateWindow,
  WindowReply,
  WindowRequest,
  WindowState,
} from './rate-limiter/policy.ts';
export { exponentialBackoff, retry, storeBackoff } from './retry.ts';
export type {
  Backoff,
  ExponentialBackoffOptions,
  FailedAttempt,
  RetryContext,
  RetryPolicy,
} from './retry.ts';
export { hasNoQuota, quotaWindows, readRetryHint } from './retry-hints.ts';
export type { HintInput, QuotaWindow, RetryHint } from './retry-hints.ts';
export { WriteBehind } from './write-behind.ts';
export type { WriteBehindDeps, WriteBehindSource } from './write-behind.ts';
