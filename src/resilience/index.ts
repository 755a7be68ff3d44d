// Resilience: pure parts on an injected clock. Redis and SQLite adapters are imported from their own folders.
export { exponentialBackoff, fixedBackoff } from './backoff.ts';
export type { Backoff, ExponentialBackoffOptions } from './backoff.ts';
export { BoundedQueue } from './bounded-queue.ts';
export type { BoundedQueueOptions } from './bounded-queue.ts';
export { budgetsWith, defaultBudgets, withBudget } from './budgets.ts';
export type { BudgetName, BudgetOptions, Budgets } from './budgets.ts';
export { MemoryChangeFeed } from './change-feed.ts';
export type { ChangeFeed } from './change-feed.ts';
export { cooldownRemainingMs, extendCooldown } from './cooldown.ts';
export type { Cooldown } from './cooldown.ts';
export { deadlineOf, linkDeadlines, withDeadline } from './deadline.ts';
export type { Deadline, SignalDeadline } from './deadline.ts';
export { every } from './every.ts';
export { filePauseMs, isFileBusy, onceFileIsFree } from './file-patience.ts';
export type { FileWait } from './file-patience.ts';
export { classifyHttpFailure, failureKinds } from './http-failure.ts';
export type { FailureKind, HttpFailureClass, RefusedAnswer } from './http-failure.ts';
export { Mirror } from './mirror.ts';
export type { MirrorSource } from './mirror.ts';
export { AdaptiveRateLimiter } from './rate-limiter/adaptive-rate-limiter.ts';
export type { AcquireOptions, Permit } from './rate-limiter/adaptive-rate-limiter.ts';
export { createRateLimiter } from './rate-limiter/create-rate-limiter.ts';
export { FallbackRateWindow } from './rate-limiter/fallback-rate-window.ts';
export type { FallbackRateWindowOptions } from './rate-limiter/fallback-rate-window.ts';
export { limiterKey, RateLimiterRegistry } from './rate-limiter/limiter-registry.ts';
export { MemoryRateWindow } from './rate-limiter/memory-rate-window.ts';
export type { MemoryRateWindowOptions } from './rate-limiter/memory-rate-window.ts';
export { PatientRateWindow } from './rate-limiter/patient-rate-window.ts';
export type {
  Demand,
  GrantJournal,
  JournaledGrants,
  JournaledState,
  LocalRateWindow,
  RateLimits,
  RateWindow,
  Taken,
  WindowState,
} from './rate-limiter/ports.ts';
export type { RateLimiterSnapshot } from './rate-limiter/snapshot.ts';
export { Reload } from './reload.ts';
export type { ReloadParts, ReloadSource } from './reload.ts';
export { hasNoQuota } from './retry-hints/quota-windows.ts';
export { readRetryHint } from './retry-hints/retry-hint.ts';
export type { HintedAnswer, RetryHint } from './retry-hints/retry-hint.ts';
export { RetriesExhaustedError, retry } from './retry.ts';
export type { FailedTry, RetryContext, RetryPolicy, RetryStop } from './retry.ts';
export { storeBackoff } from './store-backoff.ts';
