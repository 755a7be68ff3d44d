// One thread of a pool: starts, runs one function at a time, and ends on request or when it fails.
//
//   starting ──ready──► idle ◄──reply── working ──time, memory, abort──► ended
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../core/index.ts';
import { CoreError, messageOf, onAbort } from '../../core/index.ts';
import type { FromThread, ThreadCall } from './serve-thread.ts';

export interface ThreadSettings {
  readonly entry: URL;
  readonly clock: Clock;
  /** Heap and buffers together. */
  readonly memoryMb: number;
}

export interface ThreadWork extends ThreadCall {
  /** CPU time of the work; the wall-clock time may be ten times as long. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  readonly transfer: readonly ArrayBuffer[];
}

/** A thread loads its modules in a fraction of a second; on an overloaded machine it takes much longer. */
const startTimeoutMs = 60_000;
/** Maximum ratio of wall-clock time to CPU time. */
const maxWallClockFactor = 10;
/** Far above the limit of `watchThread`, which terminates the thread first. */
const hardLimitMb = 4_096;

export class PooledThread {
  readonly exited: Promise<void>;
  readonly #settings: ThreadSettings;
  readonly #worker: Worker;
  readonly #ready = Promise.withResolvers<void>();
  #reply: PromiseWithResolvers<FromThread> | undefined;
  #hasEnded = false;

  constructor(settings: ThreadSettings) {
    this.#settings = settings;
    this.#worker = new Worker(settings.entry, {
      // Work on untrusted input gets no secrets and no terminal.
      env: {},
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: Math.max(hardLimitMb, settings.memoryMb * 4) },
    });
    this.#worker.stdout.resume();
    this.#worker.stderr.resume();
    this.#ready.promise.catch(() => undefined);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.exited = promise;
    this.#worker.on('message', (message: FromThread) => {
      if (message.kind === 'ready') this.#ready.resolve();
      else this.#reply?.resolve(message);
    });
    this.#worker.on('error', (error) => this.#markLost(stopOf(error)));
    this.#worker.on('exit', (code) => {
      this.#markLost(new ThreadStopped('died', `The thread ended with code ${code}.`));
      resolve();
    });
  }

  /** It accepts no more work. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Rejects with ThreadStopped, ThreadThrew, the signal's reason, SHUTTING_DOWN or INTERNAL. One call at a time. */
  async run(work: ThreadWork): Promise<unknown> {
    const { clock, memoryMb } = this.#settings;
    work.signal?.throwIfAborted(); // nothing has started: the thread stays usable
    const { promise } = (this.#reply = Promise.withResolvers<FromThread>());
    promise.catch(() => undefined);
    this.#worker.ref();
    const undo = [onAbort(work.signal, (reason) => this.#end(reason))];
    try {
      const stopStartTimer = clock.after(startTimeoutMs, () => this.#end(tooLong('start', startTimeoutMs)));
      undo.push(stopStartTimer);
      await this.#ready.promise.catch(notStarted);
      stopStartTimer();
      const stop = (what: 'time' | 'memory') =>
        this.#end(what === 'time' ? tooLong('work', work.timeoutMs) : tooLarge(memoryMb));
      undo.push(
        clock.after(work.timeoutMs * maxWallClockFactor, () => stop('time')),
        watchThread(this.#worker, { memoryMb, cpuMs: work.timeoutMs }, clock, stop),
      );
      this.#worker.postMessage({ name: work.name, input: work.input } satisfies ThreadCall, [
        ...work.transfer,
      ]);
      return valueOf(await promise);
    } finally {
      for (const release of undo) release();
      this.#worker.unref();
    }
  }

  /** Resolves when the thread has ended. */
  async terminate(): Promise<void> {
    this.#end(poolClosed());
    await this.exited;
  }

  #end(reason: unknown): void {
    this.#markLost(reason);
    void this.#worker.terminate();
  }

  #markLost(reason: unknown): void {
    this.#hasEnded = true;
    this.#ready.reject(reason);
    this.#reply?.reject(reason);
  }
}

export function poolClosed(): CoreError {
  return new CoreError('SHUTTING_DOWN', 'The threads are closing; try again in a moment.', {
    isRetryable: true,
  });
}

/** A failed start is not the fault of the work. */
function notStarted(error: unknown): never {
  if (!(error instanceof ThreadStopped)) throw error;
  throw new CoreError('INTERNAL', `A thread could not be started. ${error.message}`, {
    isRetryable: true,
    cause: error,
  });
}

function valueOf(message: FromThread): unknown {
  if (message.kind === 'returned') return message.value;
  if (message.kind === 'threw') throw new ThreadThrew(message);
  throw new TypeError('A thread replied out of order.');
}

function tooLong(what: string, ms: number): ThreadStopped {
  return new ThreadStopped('time', `The ${what} of a thread took longer than ${ms} ms.`);
}

function tooLarge(mb: number, cause?: unknown): ThreadStopped {
  return new ThreadStopped('memory', `The work of a thread took more than ${mb} MB.`, cause);
}

function stopOf(error: unknown): ThreadStopped {
  const code: unknown = (error as { code?: unknown } | null)?.code;
  return code === 'ERR_WORKER_OUT_OF_MEMORY'
    ? tooLarge(hardLimitMb, error)
    : new ThreadStopped('died', `The thread crashed: ${messageOf(error)}`, error);
}

export interface WatchLimits {
  /** Heap and buffers together. */
  readonly memoryMb: number;
  /** Not wall-clock time, which is longer on a busy machine. */
  readonly cpuMs: number;
}

const checkEveryMs = 50;
const bytesPerMb = 1_048_576;

/**
 * Calls `onExceeded` once when the thread exceeds a limit; the returned function stops watching. A busy thread is checked
 * as well, between two steps of its code.
 *
 * V8's own memory limit is not enough: it does not count buffers, and one large allocation beyond it ends the whole
 * process ("FATAL ERROR: Reached heap limit"), not the thread. So that limit is set far above this one.
 */
export function watchThread(
  worker: Worker,
  limits: WatchLimits,
  clock: Clock,
  onExceeded: (what: 'time' | 'memory') => void,
): () => void {
  let isOver = false;
  let cancel: () => void = () => undefined;
  let cpuBefore: number | undefined;
  const check = async () => {
    try {
      const [memory, cpu] = await Promise.all([worker.getHeapStatistics(), cpuMsOf(worker, clock)]);
      if (isOver) return;
      cpuBefore ??= cpu;
      if (memory.used_heap_size + memory.external_memory > limits.memoryMb * bytesPerMb)
        return onExceeded('memory');
      if (cpu - cpuBefore > limits.cpuMs) return onExceeded('time');
    } catch {
      return; // the thread has ended, which its exit event reports
    }
    cancel = clock.after(checkEveryMs, () => void check());
  };
  void check();
  return () => {
    isOver = true;
    cancel();
  };
}

async function cpuMsOf(worker: Worker, clock: Clock): Promise<number> {
  // Available since Node 24.6; before that, the wall clock is used.
  if (typeof (worker as Partial<Worker>).cpuUsage !== 'function') return clock.monotonic();
  const { user, system } = await worker.cpuUsage();
  return (user + system) / 1_000;
}

/**
 * - `time`: it exceeded its time, and the thread was terminated.
 * - `memory`: it exceeded its memory, and the thread was terminated.
 * - `died`: the thread ended by itself.
 */
export type StopReason = 'time' | 'memory' | 'died';

/** Work in a thread ended without a result. Nothing else is affected. */
export class ThreadStopped extends Error {
  override readonly name = 'ThreadStopped';
  readonly reason: StopReason;

  constructor(reason: StopReason, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
  }
}

/** The function in the thread threw: its error's name, message and code, as far as they can be cloned. */
export class ThreadThrew extends Error {
  override readonly name = 'ThreadThrew';
  readonly errorName: string;
  readonly code: string | undefined;

  constructor({ name, message, code }: Extract<FromThread, { kind: 'threw' }>) {
    super(message);
    this.errorName = name;
    this.code = code;
  }
}
