// Threads for work that may not be trusted to end.
export { serveThread } from './serve-thread.ts';
export { ThreadPool } from './thread-pool.ts';
export type { ThreadPoolOptions, WorkLimits } from './thread-pool.ts';
export type { ThreadFunctions } from './serve-thread.ts';
export { ThreadStopped, ThreadThrew } from './pooled-thread.ts';
export type { StopReason } from './pooled-thread.ts';
