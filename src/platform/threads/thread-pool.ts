// Runs work that may never end, or eat all memory, in threads that can be ended: the process and its loop go on.
import { availableParallelism } from 'node:os';
import type { Clock } from '../../core/index.ts';
import { onAbort } from '../../core/index.ts';
import { PooledThread, poolClosed } from './pooled-thread.ts';
import type { ThreadFunctions } from './serve-thread.ts';

export interface ThreadPoolOptions {
  /** A module that calls `serveThread`; see `threadModule`. */
  readonly entry: URL;
  readonly clock: Clock;
  /** What one piece of work may have: heap and buffers together. */
  readonly memoryMb: number;
  /** Threads at most. Default: as many as the machine has cores. */
  readonly size?: number;
  /** A thread that had nothing to do for so long is ended. */
  readonly idleMs?: number;
}

export interface WorkLimits {
  /** Time of the processor, for the work alone: waiting for a thread is not counted. At most ten times that by the clock. */
  readonly timeoutMs: number;
  /** Ends the work, and its thread. */
  readonly signal?: AbortSignal | undefined;
  /** Buffers that are handed over instead of copied. */
  readonly transfer?: readonly ArrayBuffer[];
}

interface Waiter {
  readonly take: (thread: PooledThread) => void;
  readonly giveUp: (reason: unknown) => void;
}

const usualIdleMs = 60_000;

/** Threads start at first need, are used again, and are replaced when they were ended or broke. */
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

  /** Threads there are now, busy, idle or about to end. */
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
      this.#giveBack(thread);
    }
  }

  /** Ends all threads; work under way is rejected. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { giveUp } of this.#waiting) giveUp(poolClosed());
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
        giveUp: (reason) => {
          undo();
          this.#waiting.delete(waiter);
          reject(reason);
        },
      };
      this.#waiting.add(waiter);
      const undo = onAbort(signal, waiter.giveUp);
    });
  }

  #takeIdle(): PooledThread | undefined {
    for (const [thread, stopTimer] of this.#idle) {
      stopTimer();
      this.#idle.delete(thread);
      if (!thread.isGone) return thread;
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
    if (another) this.#handOver(another);
  }

  #giveBack(thread: PooledThread): void {
    if (thread.isGone) return; // its exit makes room
    if (this.#handOver(thread)) return;
    const { clock, idleMs = usualIdleMs } = this.#options;
    this.#idle.set(
      thread,
      clock.after(idleMs, () => void thread.terminate()),
    );
  }

  /** To whoever has waited longest; false when nobody waits. */
  #handOver(thread: PooledThread): boolean {
    const [first] = this.#waiting;
    if (!first) return false;
    this.#waiting.delete(first);
    first.take(thread);
    return true;
  }
}
