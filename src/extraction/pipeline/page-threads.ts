// The worker threads as the main thread sees them: give a page, get what became of it.
import { Worker } from 'node:worker_threads';
import { CoreError, HeadworksError, messageOf } from '../../core/index.ts';
import type { FetchedPage } from '../ports.ts';
import type { FromThread, PageWork, ThreadSettings, ToThread } from './thread-protocol.ts';

export type Processed = Extract<FromThread, { kind: 'committed' | 'refused' }>;

/** The thread that had the page died; the page can be given to another one. */
export class ThreadDied extends Error {
  override readonly name = 'ThreadDied';
  readonly thread: string;
  /** It was at this page; else the page only waited for it. */
  readonly wasAtIt: boolean;

  constructor(thread: string, reason: string, wasAtIt: boolean) {
    super(reason);
    this.thread = thread;
    this.wasAtIt = wasAtIt;
  }
}

/** What a run needs of them. */
export interface PageProcessor {
  /** Threads that were started. */
  readonly size: number;
  readonly alive: number;
  /** Pages that can be with them at once. */
  readonly places: number;
  /** Resolves when each is ready for work or dead; rejects when none is left. */
  ready(): Promise<void>;
  /**
   * Waits for a place and then for the answer. Rejects with ThreadDied, with the error of a vault that cannot be written
   * to, or with INTERNAL when no thread is left. The bytes stay the caller's, and must not change until then; those of
   * `PageBuffers` are read where they are, others are copied.
   */
  process(sessionId: string, page: FetchedPage): Promise<Processed>;
  /** Lets them finish what they do, and ends them. */
  close(): Promise<void>;
  /** Ends them where they are: a transaction under way is rolled back. */
  terminate(): Promise<void>;
}

interface Waiting {
  readonly resolve: (message: FromThread) => void;
  readonly reject: (error: Error) => void;
}

interface Thread {
  readonly name: string;
  readonly started: PromiseWithResolvers<void>;
  readonly worker: Worker;
  readonly exited: Promise<void>;
  /** The pages it has, the one it is at first; it answers in this order. */
  readonly pages: Waiting[];
  isReady: boolean;
  lastError: string | null;
}

/** Told of a thread that ended by itself: its name, why, and how many are left. */
export type OnDeath = (thread: string, reason: string, alive: number) => void;

export interface PageThreadsOptions {
  readonly count: number;
  readonly onDeath: OnDeath;
}

/** The next page lies with the thread already when it is done with one: without that it idles 5% of the time. */
const pagesPerThread = 2;

/** Starts threads of the module `entry`. */
export class PageThreads implements PageProcessor {
  readonly size: number;
  readonly places: number;
  readonly #threads = new Set<Thread>();
  readonly #waiting: { resolve: (thread: Thread) => void; reject: (error: Error) => void }[] = [];
  readonly #onDeath: OnDeath;
  #lastDeath = 'none was started';
  #isClosing = false;

  constructor(entry: URL, settings: ThreadSettings, { count, onDeath }: PageThreadsOptions) {
    this.size = count;
    this.places = count * pagesPerThread;
    this.#onDeath = onDeath;
    for (let number = 1; number <= count; number++) this.#start(entry, settings, `worker-${number}`);
  }

  get alive(): number {
    return this.#threads.size;
  }

  async ready(): Promise<void> {
    await Promise.all([...this.#threads].map(({ started }) => started.promise));
    if (this.#threads.size === 0) throw this.#noneLeft();
  }

  async process(sessionId: string, page: FetchedPage): Promise<Processed> {
    const thread = await this.#take();
    const message = await this.#ask(thread, sessionId, page);
    this.#admit();
    if (message.kind === 'unwritable') throw new HeadworksError(message.code, message.message);
    if (message.kind === 'ready') throw new TypeError('a thread answered out of turn');
    return message;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    const threads = [...this.#threads];
    for (const { worker } of threads) post(worker, { kind: 'close' });
    await Promise.all(threads.map(({ exited }) => exited));
  }

  async terminate(): Promise<void> {
    this.#isClosing = true;
    await Promise.all([...this.#threads].map(({ worker }) => worker.terminate()));
  }

  #start(entry: URL, settings: ThreadSettings, name: string): void {
    const worker = new Worker(entry, { workerData: settings, name });
    const { promise: exited, resolve } = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const thread: Thread = {
      name,
      started,
      worker,
      exited,
      pages: [],
      isReady: false,
      lastError: null,
    };
    this.#threads.add(thread);
    worker.on('message', (message: FromThread) => {
      if (message.kind !== 'ready') return thread.pages.shift()?.resolve(message);
      thread.isReady = true;
      started.resolve();
      this.#admit();
    });
    worker.on('error', (error) => (thread.lastError = messageOf(error)));
    worker.on('exit', (code) => {
      this.#lose(thread, thread.lastError ?? `it ended with code ${code}`);
      started.resolve();
      resolve();
    });
  }

  /** The bytes are not handed over: should the thread die, the page is still here and costs no second call. */
  #ask(thread: Thread, sessionId: string, page: FetchedPage): Promise<FromThread> {
    const work: PageWork = { kind: 'page', sessionId, ...page };
    return new Promise<FromThread>((resolve, reject) => {
      thread.pages.push({ resolve, reject });
      post(thread.worker, work);
    });
  }

  #take(): Promise<Thread> {
    const thread = this.#leastBusy();
    if (thread) return Promise.resolve(thread);
    if (this.#threads.size === 0) return Promise.reject(this.#noneLeft());
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  #leastBusy(): Thread | undefined {
    const open = [...this.#threads].filter(({ isReady, pages }) => isReady && pages.length < pagesPerThread);
    return open.sort((one, other) => one.pages.length - other.pages.length)[0];
  }

  #admit(): void {
    const thread = this.#waiting.length > 0 ? this.#leastBusy() : undefined;
    if (thread) this.#waiting.shift()?.resolve(thread);
  }

  #lose(thread: Thread, reason: string): void {
    this.#threads.delete(thread);
    this.#lastDeath = reason;
    if (!this.#isClosing) this.#onDeath(thread.name, reason, this.alive);
    for (const [index, { reject }] of thread.pages.splice(0).entries())
      reject(new ThreadDied(thread.name, reason, index === 0));
    if (this.#threads.size > 0) return;
    for (const { reject } of this.#waiting.splice(0)) reject(this.#noneLeft());
  }

  #noneLeft(): CoreError {
    return new CoreError(
      'INTERNAL',
      `Every worker thread died, the last one of this: ${this.#lastDeath}. ` +
        'What was committed stays; run the same command again to go on.',
    );
  }
}

function post(worker: Worker, message: ToThread): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  worker.postMessage(message);
}
