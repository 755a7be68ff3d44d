// Runs work that may never end, or use too much memory, in threads that can be terminated without blocking the process.
import { availableParallelism } from 'node:os';
import type { Clock } from '../../core/index.ts';
import { onAbort } from '../../core/index.ts';
import { PooledThread, poolClosed } from './pooled-thread.ts';
import type { ThreadFunctions } from './serve-thread.ts';

export interface ThreadPoolOptions {
  /** A module that calls `serveThread`; see `threadModule`. */
  readonly entry: URL;
  readonly clock: Clock;
  /** For one call: heap and buffers together. */
  readonly memoryMb: number;
  /** Maximum number of threads. Default: the number of cores. */
  readonly size?: number;
  /** An idle thread ends after this time. Default: 60 s. */
  readonly idleMs?: number;
}

export interface WorkLimits {
  /** CPU time, without the wait for a thread; the wall-clock time may be ten times as long. */
  readonly timeoutMs: number;
  /** Terminates the work and its thread. */
  readonly signal?: AbortSignal | undefined;
  /** Buffers that are transferred instead of copied. */
  readonly transfer?: readonly ArrayBuffer[];
}

interface Waiter {
  readonly take: (thread: PooledThread) => void;
  readonly reject: (reason: unknown) => void;
}

const defaultIdleMs = 60_000;

/** Threads start when needed, are reused, and are replaced when they end. */
export class ThreadPool<Functions extends ThreadFunctions> {
  readonly #options: ThreadPoolOptions;
  readonly #size: number;
  readonly #threads = new Set<PooledThread>();
  readonly #idle = new Map<PooledThread, () => void>();
  readonly #waiting = new Set<Waiter>();
  #isClosed = false;

  constructor(options: ThreadPoolOptions) {
    this.#options = options;
    this.#size = Math.max(1, Math.min(options.size ?? Number.POSITIVE_INFINITY, availableParallelism()));
  }

  /** The number of threads: busy, idle or ending. */
  get threads(): number {
    return this.#threads.size;
  }

  /** First come, first served. Rejects with ThreadStopped, ThreadThrew, the signal's reason or SHUTTING_DOWN. */
  async run<Name extends keyof Functions & string>(
    name: Name,
    input: Parameters<Functions[Name]>[0],
    { timeoutMs, signal, transfer = [] }: WorkLimits,
  ): Promise<Awaited<ReturnType<Functions[Name]>>> {
    const thread = await this.#take(signal);
    try {
      const value = await thread.run({ name, input, timeoutMs, signal, transfer });
      return value as Awaited<ReturnType<Functions[Name]>>;
    } finally {
      this.#release(thread);
    }
  }

  /** Terminates all threads; running work is rejected. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { reject } of this.#waiting) reject(poolClosed());
    await Promise.all([...this.#threads].map((thread) => thread.terminate()));
  }

  #take(signal: AbortSignal | undefined): Promise<PooledThread> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      if (this.#isClosed) throw poolClosed();
      const thread = this.#takeIdle() ?? this.#start();
      if (thread) return resolve(thread);
      const waiter: Waiter = {
        take: (given) => {
          undo();
          resolve(given);
        },
        reject: (reason) => {
          undo();
          this.#waiting.delete(waiter);
          reject(reason);
        },
      };
      this.#waiting.add(waiter);
      const undo = onAbort(signal, waiter.reject);
    });
  }

  #takeIdle(): PooledThread | undefined {
    for (const [thread, stopTimer] of this.#idle) {
      stopTimer();
      this.#idle.delete(thread);
      if (!thread.hasEnded) return thread;
    }
    return undefined;
  }

  #start(): PooledThread | undefined {
    if (this.#isClosed || this.#threads.size >= this.#size) return undefined;
    const thread = new PooledThread(this.#options);
    this.#threads.add(thread);
    void thread.exited.then(() => this.#forget(thread));
    return thread;
  }

  #forget(thread: PooledThread): void {
    this.#threads.delete(thread);
    this.#idle.get(thread)?.();
    this.#idle.delete(thread);
    const another = this.#waiting.size > 0 ? this.#start() : undefined;
    if (another) this.#assign(another);
  }

  #release(thread: PooledThread): void {
    if (thread.hasEnded) return; // its exit frees the slot
    if (this.#assign(thread)) return;
    const { clock, idleMs = defaultIdleMs } = this.#options;
    this.#idle.set(
      thread,
      clock.after(idleMs, () => void thread.terminate()),
    );
  }

  /** To the caller that has waited longest; false when there is none. */
  #assign(thread: PooledThread): boolean {
    const [first] = this.#waiting;
    if (!first) return false;
    this.#waiting.delete(first);
    first.take(thread);
    return true;
  }
}
