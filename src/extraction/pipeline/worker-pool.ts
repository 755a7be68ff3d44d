// The worker threads as seen by the main thread, their shared page buffers, and the messages between them.
import { Worker } from 'node:worker_threads';
import { CoreError, HeadworksError, messageOf } from '../../core/index.ts';
import type { FailedPageCause } from '../events.ts';
import type { CommittedPage, NamedSecret, ContentType, RawPage } from '../types.ts';

export type Processed = Extract<WorkerReply, { kind: 'committed' | 'rejected' }>;

/** The thread with the page died; another one can process it. */
export class WorkerDiedError extends Error {
  override readonly name = 'WorkerDiedError';
  readonly thread: string;
  /** It was processing this page; otherwise the page was only assigned to it. */
  readonly wasProcessing: boolean;

  constructor(thread: string, reason: string, wasProcessing: boolean) {
    super(reason);
    this.thread = thread;
    this.wasProcessing = wasProcessing;
  }
}

/** Processes pages in threads. */
export interface PageProcessor {
  /** Threads that were started. */
  readonly size: number;
  readonly alive: number;
  /** Pages that can be assigned at once. */
  readonly capacity: number;
  /** Resolves when each thread is ready or dead; rejects when none is left. */
  ready(): Promise<void>;
  /**
   * Waits for capacity and then for the result. Rejects with WorkerDiedError, with the error of a vault that is not
   * writable, or with INTERNAL when no thread is left. The bytes must not change until then; those of `PageBuffers` are
   * shared, others are copied.
   */
  process(sessionId: string, page: RawPage): Promise<Processed>;
  /** Ends the threads after their current pages. */
  close(): Promise<void>;
  /** Ends the threads at once: a running transaction is rolled back. */
  terminate(): Promise<void>;
}

interface Thread {
  readonly name: string;
  readonly worker: Worker;
  readonly started: PromiseWithResolvers<void>;
  readonly exited: PromiseWithResolvers<void>;
  /** The replies about its assigned pages, in the order of processing. */
  readonly pages: PromiseWithResolvers<WorkerReply>[];
  isReady: boolean;
  lastError: string | null;
}

/** Called when a thread died: its name, the reason, and how many run, its replacement included. */
export type OnDeath = (thread: string, reason: string, alive: number) => void;

export interface WorkerPoolOptions {
  readonly count: number;
  readonly onDeath: OnDeath;
}

/** The next page is assigned before a thread has finished one: without that it idles 5% of the time. */
const pagesPerThread = 2;
/**
 * Deaths without a processed page between them, after which threads are not replaced any more: then it is not the pages.
 * A page that kills threads is given up after two.
 */
const maxDeathsInSuccession = 10;

/** Starts threads of the module `entry`, and replaces those that die of a page. */
export class WorkerPool implements PageProcessor {
  readonly size: number;
  readonly capacity: number;
  readonly #threads = new Set<Thread>();
  readonly #waiting: PromiseWithResolvers<Thread>[] = [];
  readonly #onDeath: OnDeath;
  readonly #entry: URL;
  readonly #settings: WorkerSettings;
  #started = 0;
  #deathsInSuccession = 0;
  #lastDeath = 'none was started';
  #isClosing = false;

  constructor(entry: URL, settings: WorkerSettings, { count, onDeath }: WorkerPoolOptions) {
    this.size = count;
    this.capacity = count * pagesPerThread;
    this.#onDeath = onDeath;
    this.#entry = entry;
    this.#settings = settings;
    for (let number = 1; number <= count; number++) this.#start();
  }

  get alive(): number {
    return this.#threads.size;
  }

  async ready(): Promise<void> {
    await Promise.all([...this.#threads].map(({ started }) => started.promise));
    if (this.#threads.size === 0) throw this.#noneLeft();
  }

  async process(sessionId: string, page: RawPage): Promise<Processed> {
    const thread = await this.#take();
    const message = await this.#send(thread, sessionId, page);
    this.#admit();
    if (message.kind === 'unwritable') throw new HeadworksError(message.code, message.message);
    if (message.kind === 'ready') throw new TypeError('a thread replied out of order');
    return message;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    const threads = [...this.#threads];
    for (const { worker } of threads) post(worker, { kind: 'close' });
    await Promise.all(threads.map(({ exited }) => exited.promise));
  }

  async terminate(): Promise<void> {
    this.#isClosing = true;
    await Promise.all([...this.#threads].map(({ worker }) => worker.terminate()));
  }

  #start(): void {
    const name = `worker-${++this.#started}`;
    const worker = new Worker(this.#entry, { workerData: this.#settings, name });
    const started = Promise.withResolvers<void>();
    const exited = Promise.withResolvers<void>();
    const thread: Thread = { name, worker, started, exited, pages: [], isReady: false, lastError: null };
    this.#threads.add(thread);
    worker.on('message', (message: WorkerReply) => {
      if (message.kind !== 'ready') {
        this.#deathsInSuccession = 0;
        return thread.pages.shift()?.resolve(message);
      }
      thread.isReady = true;
      started.resolve();
      this.#admit();
    });
    worker.on('error', (error) => (thread.lastError = messageOf(error)));
    worker.on('exit', (code) => {
      this.#markLost(thread, thread.lastError ?? `it ended with code ${code}`);
      started.resolve();
      exited.resolve();
    });
  }

  /** The bytes are not transferred: if the thread dies, the page costs no second call. */
  #send(thread: Thread, sessionId: string, page: RawPage): Promise<WorkerReply> {
    const reply = Promise.withResolvers<WorkerReply>();
    thread.pages.push(reply);
    post(thread.worker, { kind: 'page', sessionId, ...page });
    return reply.promise;
  }

  #take(): Promise<Thread> {
    const thread = this.#leastBusy();
    if (thread) return Promise.resolve(thread);
    if (this.#threads.size === 0) return Promise.reject(this.#noneLeft());
    const waiting = Promise.withResolvers<Thread>();
    this.#waiting.push(waiting);
    return waiting.promise;
  }

  #leastBusy(): Thread | undefined {
    const open = [...this.#threads].filter(({ isReady, pages }) => isReady && pages.length < pagesPerThread);
    return open.sort((one, other) => one.pages.length - other.pages.length)[0];
  }

  #admit(): void {
    const thread = this.#waiting.length > 0 ? this.#leastBusy() : undefined;
    if (thread) this.#waiting.shift()?.resolve(thread);
  }

  #markLost(thread: Thread, reason: string): void {
    this.#threads.delete(thread);
    this.#lastDeath = reason;
    if (!this.#isClosing) {
      // One that never became ready would not the next time either.
      if (thread.isReady && ++this.#deathsInSuccession < maxDeathsInSuccession) this.#start();
      this.#onDeath(thread.name, reason, this.alive);
    }
    for (const [index, { reject }] of thread.pages.splice(0).entries())
      reject(new WorkerDiedError(thread.name, reason, index === 0));
    if (this.#threads.size > 0) return;
    for (const { reject } of this.#waiting.splice(0)) reject(this.#noneLeft());
  }

  #noneLeft(): CoreError {
    return new CoreError(
      'INTERNAL',
      `Every worker thread died, the last one with: ${this.#lastDeath}. ` +
        'Committed pages are kept; run the same command again to continue.',
    );
  }
}

function post(worker: Worker, message: WorkerRequest): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  worker.postMessage(message);
}

/** Buffer sizes are multiples of at least this. */
const smallestStep = 16 * 1024;

/**
 * Reused shared memory for pages from their arrival until they are committed. Left to the garbage collector, queued pages
 * of a megabyte each fragment the heap and the process grows; posted to a thread, each would be copied once more.
 */
export class PageBuffers {
  readonly #maxFreeBytes: number;
  /** The most recently used one is the last. */
  readonly #free: SharedArrayBuffer[] = [];
  #freeBytes = 0;

  /** Keeps at most `maxFreeBytes` bytes for later pages. */
  constructor(maxFreeBytes: number) {
    this.#maxFreeBytes = maxFreeBytes;
  }

  /** A copy of `bytes` that threads share, until it is released. */
  share(bytes: Uint8Array): Uint8Array {
    const held = new Uint8Array(this.#take(bytes.byteLength), 0, bytes.byteLength);
    held.set(bytes);
    return held;
  }

  /** Releases a copy, once: it must not be read any more. */
  release({ buffer }: Uint8Array): void {
    if (!(buffer instanceof SharedArrayBuffer)) throw new TypeError('these bytes are not a shared copy');
    this.#free.push(buffer);
    this.#freeBytes += buffer.byteLength;
    while (this.#freeBytes > this.#maxFreeBytes) this.#freeBytes -= this.#free.shift()?.byteLength ?? 0;
  }

  #take(size: number): SharedArrayBuffer {
    const room = hasCapacity(size);
    const index = this.#free.findLastIndex(({ byteLength }) => byteLength >= size && byteLength <= 2 * room);
    const [free] = index < 0 ? [] : this.#free.splice(index, 1);
    if (!free) return new SharedArrayBuffer(room);
    this.#freeBytes -= free.byteLength;
    return free;
  }
}

/** Up to a quarter more than needed, because the next page is rarely of exactly the same size. */
function hasCapacity(size: number): number {
  const step = Math.max(smallestStep, 2 ** (Math.floor(Math.log2(Math.max(size, 1))) - 2));
  return Math.max(1, Math.ceil(size / step)) * step;
}

/** Passed to a thread when it starts. */
export interface WorkerSettings {
  readonly vaultPath: string;
  /** `Vault.writeLock`. */
  readonly writeLock: SharedArrayBuffer;
  /** All types of the run. */
  readonly types: readonly ContentType[];
  /** `Source.secrets`. */
  readonly secrets?: readonly NamedSecret[];
}

/**
 * A page for a thread. Its bytes are shared with the main thread: they must not be changed, nor read after the reply.
 */
export interface PageWork extends RawPage {
  readonly kind: 'page';
  readonly sessionId: string;
}

export type WorkerRequest = PageWork | { readonly kind: 'close' };

export type WorkerReply =
  | { readonly kind: 'ready' }
  | { readonly kind: 'committed'; readonly page: CommittedPage }
  /** The page is not what was requested; nothing was written. */
  | { readonly kind: 'rejected'; readonly cause: FailedPageCause; readonly message: string }
  /** The vault is not writable: the run cannot continue. */
  | { readonly kind: 'unwritable'; readonly code: string; readonly message: string };
