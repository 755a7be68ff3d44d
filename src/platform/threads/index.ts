// Threads for work that may not be trusted to end.
export { serveThread } from './serve-thread.ts';
export { ThreadPool } from './thread-pool.ts';
export type { ThreadPoolOptions, WorkLimits } from './thread-pool.ts';
export type { ThreadFunctions } from './thread-protocol.ts';
export { ThreadStopped, ThreadThrew } from './thread-stopped.ts';
export type { StopReason } from './thread-stopped.ts';
