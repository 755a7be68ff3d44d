// One thread of a pool: starts, does one thing at a time, and ends when told or when it breaks.
//
//   starting ──ready──► idle ◄──answer── working ──time, memory, abort──► ended
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../core/index.ts';
import { CoreError, messageOf, onAbort } from '../../core/index.ts';
import type { FromThread, ThreadCall } from './thread-protocol.ts';
import { ThreadStopped, ThreadThrew } from './thread-stopped.ts';
import { watchThread } from './thread-watch.ts';

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
