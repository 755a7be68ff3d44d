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
  /** Of the processor, for the work alone; ten times as long by the clock. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  readonly transfer: readonly ArrayBuffer[];
}

/** Reading its modules takes a thread a fraction of a second; on a machine that is drowning, much longer. */
const longestStartMs = 60_000;
/** A machine that gives a thread less than a tenth of a processor has other worries. */
const longestByTheClock = 10;
/** Beyond what the watch lets pass, so that it is the watch that ends the thread: see thread-watch.ts. */
const hardLimitMb = 4_096;

export class PooledThread {
  readonly exited: Promise<void>;
  readonly #settings: ThreadSettings;
  readonly #worker: Worker;
  readonly #ready = Promise.withResolvers<void>();
  #answer: PromiseWithResolvers<FromThread> | undefined;
  #isGone = false;

  constructor(settings: ThreadSettings) {
    this.#settings = settings;
    this.#worker = new Worker(settings.entry, {
      // Work on what strangers sent needs no keys, and says nothing on the terminal.
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
      else this.#answer?.resolve(message);
    });
    this.#worker.on('error', (error) => this.#lose(stopOf(error)));
    this.#worker.on('exit', (code) => {
      this.#lose(new ThreadStopped('died', `The thread ended with code ${code}.`));
      resolve();
    });
  }

  /** It takes no more work. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** Rejects with ThreadStopped, ThreadThrew, the signal's reason, SHUTTING_DOWN or INTERNAL. One call at a time. */
  async run(work: ThreadWork): Promise<unknown> {
    const { clock, memoryMb } = this.#settings;
    work.signal?.throwIfAborted(); // nothing has begun: the thread stays as it is
    const { promise } = (this.#answer = Promise.withResolvers<FromThread>());
    promise.catch(() => undefined);
    this.#worker.ref();
    const undo = [onAbort(work.signal, (reason) => this.#end(reason))];
    try {
      const stopStartTimer = clock.after(longestStartMs, () => this.#end(tooLong('start', longestStartMs)));
      undo.push(stopStartTimer);
      await this.#ready.promise.catch(notStarted);
      stopStartTimer();
      const stop = (what: 'time' | 'memory') =>
        this.#end(what === 'time' ? tooLong('work', work.timeoutMs) : tooLarge(memoryMb));
      undo.push(
        clock.after(work.timeoutMs * longestByTheClock, () => stop('time')),
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

  /** Ends it where it stands. Resolves when it is gone. */
  async terminate(): Promise<void> {
    this.#end(poolClosed());
    await this.exited;
  }

  #end(reason: unknown): void {
    this.#lose(reason);
    void this.#worker.terminate();
  }

  #lose(reason: unknown): void {
    this.#isGone = true;
    this.#ready.reject(reason);
    this.#answer?.reject(reason);
  }
}

export function poolClosed(): CoreError {
  return new CoreError('SHUTTING_DOWN', 'The threads are being ended; try again in a moment.', {
    isRetryable: true,
  });
}

/** That is nobody's fault who gave it work. */
function notStarted(error: unknown): never {
  if (!(error instanceof ThreadStopped)) throw error;
  throw new CoreError('INTERNAL', `A thread could not be started. ${error.message}`, {
    isRetryable: true,
    cause: error,
  });
}

function valueOf(message: FromThread): unknown {
  if (message.kind === 'returned') return message.value;
  if (message.kind === 'threw') throw new ThreadThrew(message.name, message.message);
  throw new TypeError('A thread answered out of turn.');
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
    : new ThreadStopped('died', `The thread broke: ${messageOf(error)}`, error);
}

export interface WatchLimits {
  /** Heap and buffers together. */
  readonly memoryMb: number;
  /** Time of the processor, not of the clock: a busy machine makes nobody slower by that measure. */
  readonly cpuMs: number;
}

const everyMs = 50;
const bytesPerMb = 1_048_576;

/**
 * Calls `onExceeded` once when the thread has more than it may; the returned function ends the watch. The thread is
 * looked at between two steps of its code, however busy it is.
 *
 * V8's own limit of memory does not do: it knows nothing of buffers, and one large allocation beyond it ends the whole
 * process ("FATAL ERROR: Reached heap limit"), not the thread. So that limit is set far above, and this one is looked at.
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
  const look = async () => {
    try {
      const [memory, cpu] = await Promise.all([worker.getHeapStatistics(), cpuMsOf(worker, clock)]);
      if (isOver) return;
      cpuBefore ??= cpu;
      if (memory.used_heap_size + memory.external_memory > limits.memoryMb * bytesPerMb)
        return onExceeded('memory');
      if (cpu - cpuBefore > limits.cpuMs) return onExceeded('time');
    } catch {
      return; // the thread is gone; its end is noticed elsewhere
    }
    cancel = clock.after(everyMs, () => void look());
  };
  void look();
  return () => {
    isOver = true;
    cancel();
  };
}

async function cpuMsOf(worker: Worker, clock: Clock): Promise<number> {
  // Node has it since 24.6; before, the clock must do.
  if (typeof (worker as Partial<Worker>).cpuUsage !== 'function') return clock.monotonic();
  const { user, system } = await worker.cpuUsage();
  return (user + system) / 1_000;
}

/**
 * - `time`: it took longer than it was given; the thread was ended.
 * - `memory`: it took more memory than it was given; the thread was ended.
 * - `died`: the thread ended by itself.
 */
export type StopReason = 'time' | 'memory' | 'died';

/** Work in a thread was ended before it had a result. Nothing else was harmed. */
export class ThreadStopped extends Error {
  override readonly name = 'ThreadStopped';
  readonly reason: StopReason;

  constructor(reason: StopReason, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
  }
}

/** The function in the thread threw: its error's name and message, as far as they can be cloned. */
export class ThreadThrew extends Error {
  override readonly name = 'ThreadThrew';
  readonly errorName: string;

  constructor(errorName: string, message: string) {
    super(message);
    this.errorName = errorName;
  }
}
