// Runs work that may never end, or use too much memory, in threads that can be terminated without blocking the process.
import { availableParallelism } from 'node:os';
import type { Clock } from '../../core/index.ts';
import { onAbort } from '../../core/index.ts';
import { PooledThread, poolClosed } from './pooled-thread.ts';
import type { ThreadFunctions } from './serve-thread.ts';
import { extname } from 'node:path';
import { setFlagsFromString } from 'node:v8';

export interface ThreadPoolOptions {
  /** A module that calls `serveThread`; see `threadModule`. */
  readonly entry: URL;
  readonly clock: Clock;
  /** For one call: heap and buffers together. */
  readonly memoryMb: number;
  /** Maximum number of threads. Default and maximum: the number of cores, at least two. */
  readonly size?: number;
  /** An idle thread ends after this time. Default: 60 s. */
  readonly idleMs?: number;
}

export interface WorkLimits {
  /** CPU time, without the wait for a thread; the wall-clock time may be ten times as long. */
  readonly timeoutMs: number;
  /** Terminates the work and its thread. */
  readonly signal?: AbortSignal | undefined;
  /** Groups, such as organizations, take turns, and each leaves one thread to the others. Default: none. */
  readonly group?: string | undefined;
  /** Buffers that are transferred instead of copied. */
  readonly transfer?: readonly ArrayBuffer[];
}

interface Waiter {
  readonly take: (thread: PooledThread) => void;
  readonly reject: (reason: unknown) => void;
}

/** Calls without a group. */
const ungrouped = '';

const defaultIdleMs = 60_000;

/** Threads start when needed, are reused, and are replaced when they end. */
export class ThreadPool<Functions extends ThreadFunctions> {
  readonly #options: ThreadPoolOptions;
  readonly #size: number;
  readonly #threads = new Set<PooledThread>();
  readonly #idle = new Map<PooledThread, () => void>();
  /** Waiting calls by group; the group that was served last is the last one. */
  readonly #waiting = new Map<string, Set<Waiter>>();
  /** The number of threads that work for a group. */
  readonly #busy = new Map<string, number>();
  #isClosed = false;

  constructor(options: ThreadPoolOptions) {
    this.#options = options;
    const largest = Math.max(2, availableParallelism());
    this.#size = Math.max(1, Math.min(options.size ?? largest, largest));
  }

  /** The number of threads: busy, idle or ending. */
  get threads(): number {
    return this.#threads.size;
  }

  /** Rejects with ThreadStopped, ThreadThrew, the signal's reason or SHUTTING_DOWN. */
  async run<Name extends keyof Functions & string>(
    name: Name,
    input: Parameters<Functions[Name]>[0],
    { timeoutMs, signal, transfer = [], group = ungrouped }: WorkLimits,
  ): Promise<Awaited<ReturnType<Functions[Name]>>> {
    const thread = await this.#take(group, signal);
    try {
      const value = await thread.run({ name, input, timeoutMs, signal, transfer });
      return value as Awaited<ReturnType<Functions[Name]>>;
    } finally {
      this.#release(thread, group);
    }
  }

  /** Terminates all threads; running work is rejected. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const waiters of this.#waiting.values()) for (const { reject } of waiters) reject(poolClosed());
    await Promise.all([...this.#threads].map((thread) => thread.terminate()));
  }

  #take(group: string, signal: AbortSignal | undefined): Promise<PooledThread> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      if (this.#isClosed) throw poolClosed();
      const waiters = this.#waiting.get(group) ?? new Set();
      const waiter: Waiter = {
        take: (given) => {
          undo();
          resolve(given);
        },
        reject: (reason) => {
          undo();
          waiters.delete(waiter);
          if (waiters.size === 0) this.#waiting.delete(group);
          reject(reason);
        },
      };
      const undo = onAbort(signal, waiter.reject);
      this.#waiting.set(group, waiters.add(waiter));
      this.#serve();
    });
  }

  /** Assigns threads to waiting calls, as far as there are threads. */
  #serve(): void {
    for (;;) {
      const next = [...this.#waiting].find(([group]) => this.#mayStart(group));
      const thread = next && (this.#takeIdle() ?? this.#start());
      if (!thread) return;
      const [group, waiters] = next;
      const [waiter] = waiters;
      if (!waiter) throw new TypeError('A group without calls is waiting.');
      waiters.delete(waiter);
      this.#waiting.delete(group);
      if (waiters.size > 0) this.#waiting.set(group, waiters);
      this.#busy.set(group, (this.#busy.get(group) ?? 0) + 1);
      waiter.take(thread);
    }
  }

  #mayStart(group: string): boolean {
    return group === ungrouped || (this.#busy.get(group) ?? 0) < Math.max(1, this.#size - 1);
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
    void thread.exited.then(() => this.#removeThread(thread));
    return thread;
  }

  #removeThread(thread: PooledThread): void {
    this.#threads.delete(thread);
    this.#idle.get(thread)?.();
    this.#idle.delete(thread);
    this.#serve();
  }

  #release(thread: PooledThread, group: string): void {
    const busy = (this.#busy.get(group) ?? 1) - 1;
    if (busy > 0) this.#busy.set(group, busy);
    else this.#busy.delete(group);
    // The exit of an ended thread frees its slot.
    if (!thread.hasEnded) {
      const { clock, idleMs = defaultIdleMs } = this.#options;
      this.#idle.set(
        thread,
        clock.after(idleMs, () => void thread.terminate()),
      );
    }
    this.#serve();
  }
}

/** The URL of the module `name` (without its ending, such as './pglite-worker') beside `importMetaUrl`. */
export function threadModule(name: string, importMetaUrl: string): URL {
  const ending = extname(new URL(importMetaUrl).pathname);
  if (ending === '.ts') keepWrappers();
  return new URL(name + ending, importMetaUrl);
}

/**
 * Every thread that loads TypeScript runs WebAssembly to strip types. When V8 replaces its wrappers by faster ones while
 * another thread ends, it may crash or deadlock ("Check failed: jit_page.has_value()", nodejs/node#64500): in one of
 * twenty runs of one test file here. So they are not replaced.
 */
function keepWrappers(): void {
  setFlagsFromString('--wasm-wrapper-tiering-budget=2147483647');
}
