// One run: fetchers, the queue and the worker threads, from the first page until nothing is left or somebody stops it.
//
// Every page is in exactly one place: planned, waiting to be asked for again, in flight, queued, or with a thread. It
// permits as committed or failed. What is left when a run is stopped is simply asked for by the next run.
import type { Clock, Emitter, Random } from '../../core/index.ts';
import { onAbort } from '../../core/index.ts';
import { busyRetryPauseMs, isSqliteBusy } from '../../platform/sqlite/retry-busy.ts';
import { BoundedQueue } from '../../resilience/index.ts';
import { FetchError } from '../errors.ts';
import type { ExtractionEvents, FailedPageCause } from '../events.ts';
import { queueBytes } from '../parallel-config.ts';
import type { RawPage, CommittedPage, PageRequest, Source, TypeStatus, VaultSessions } from '../types.ts';
import { vaultLockTimeoutMs } from '../vault/file.ts';
import { WorkItem } from '../work-item.ts';
import type { WorkerMetrics } from '../worker-metrics.ts';
import type { ListProblem } from './paginator.ts';
import type { FinishedType, Planner } from './planner.ts';
import type { RetryPolicy, Attempts } from './retry-policy.ts';
import { decideRetry, pageRejected } from './retry-policy.ts';
import type { PageProcessor, Processed } from './worker-pool.ts';
import { PageBuffers, WorkerDiedError } from './worker-pool.ts';

export interface PagePipelineDeps extends FetchDeps {
  readonly sessions: VaultSessions;
  readonly threads: PageProcessor;
  readonly planner: Planner;
  readonly metrics: WorkerMetrics;
  readonly random: Random;
  readonly types: ReadonlySet<string>;
  /** Pages in flight. */
  readonly workers: number;
  readonly queueSize: number;
  readonly maxCalls: number | null;
  readonly rules: RetryPolicy;
}

/** Why a run ended. */
export type RunEnd = 'done' | 'interrupted' | 'max-calls';

interface Task {
  readonly request: PageRequest;
  readonly attempts: Attempts;
}

interface Queued extends Task {
  readonly work: WorkItem;
}

const noAttempts: Attempts = { failures: 0, rateLimitedCalls: 0 };
/** After a stop: how long what was fetched may take to be committed, and then how long until threads end by force. */
const drainMs = 600;
const lastPageMs = 250;
/** A page that killed so many threads is given up: it would kill them all. */
const mostDeaths = 2;

export class PagePipeline {
  readonly statuses = new Map<string, TypeStatus>();
  /** Of the types that have finished. */
  readonly problems: ListProblem[] = [];
  readonly #parts: PagePipelineDeps;
  readonly #queue: BoundedQueue<Queued>;
  readonly #buffers = new PageBuffers(queueBytes);
  /** To be asked for again, before anything new. */
  readonly #again: Task[] = [];
  readonly #stopping = new AbortController();
  readonly #over = Promise.withResolvers<RunEnd>();
  #calls = 0;
  #rateLimitedCalls = 0;
  #hasLeftSome = false;
  /** Types are being finished, or wait for a vault that another process holds. */
  #isFinishing = false;
  /** When another process was first found to hold the vault. */
  #busySince: number | null = null;
  #batches = 0;
  #inFlight = 0;
  /** Pages that were fetched and are not settled yet. */
  #inPipe = 0;
  #isOutOfCalls = false;

  constructor(parts: PagePipelineDeps) {
    this.#parts = parts;
    this.#queue = new BoundedQueue({ maxItems: parts.queueSize, maxBytes: queueBytes });
  }

  /** Of this run. */
  get calls(): number {
    return this.#calls;
  }
  /** Calls of this run that were answered 429. */
  get rateLimitedCalls(): number {
    return this.#rateLimitedCalls;
  }
  /** Pages were given up, or items not taken in, in this run. */
  get hasLeftSome(): boolean {
    return this.#hasLeftSome;
  }
  get queuedPages(): number {
    return this.#queue.length;
  }
  get queuedBytes(): number {
    return this.#queue.bytes;
  }

  /** Runs to the end, or until the signal aborts. Rejects with whatever else stopped it, all at rest. */
  async run(signal: AbortSignal): Promise<RunEnd> {
    const release = onAbort(signal, () => this.#over.resolve('interrupted'));
    const consumers = Array.from({ length: this.#parts.threads.places }, () => this.#consume());
    const consumed = Promise.all(consumers);
    consumed.catch((error: unknown) => this.#over.reject(error));
    try {
      this.#pump();
      const end = await this.#over.promise;
      this.#stopping.abort(new Error('The extraction was stopped.'));
      this.#queue.close();
      await (end === 'interrupted' ? this.#drain(consumed) : consumed);
      return end;
    } catch (error) {
      this.#stopping.abort(error);
      this.#queue.abort(error);
      await Promise.allSettled(consumers);
      throw error;
    } finally {
      release();
    }
  }

  /** Starts whatever can be started. Called after everything that happens. */
  #pump(): void {
    if (this.#stopping.signal.aborted || this.#isFinishing) return;
    const { planner, workers } = this.#parts;
    this.#isFinishing = true;
    this.#write(
      () => planner.takeFinished((finished) => this.#finish(finished)),
      () => {
        this.#isFinishing = false;
        while (this.#inFlight < workers && this.#startNext());
        if (planner.isFinished) this.#over.resolve('done');
        else if (this.#isOutOfCalls && this.#inFlight + this.#inPipe === 0) this.#over.resolve('max-calls');
      },
    );
  }

  /** Writes to the vault and goes on with `then`: at once, or when another process no longer holds the vault. */
  #write(write: () => unknown, then: () => void): void {
    const { clock } = this.#parts;
    const { signal } = this.#stopping;
    try {
      write();
      this.#busySince = null;
      then();
    } catch (error) {
      const since = (this.#busySince ??= clock.monotonic());
      if (!isSqliteBusy(error) || clock.monotonic() - since >= vaultLockTimeoutMs)
        return this.#over.reject(error);
      const again = () => this.#write(write, then);
      // After a stop nothing is left to do: the next run asks for the page again, or finishes the type.
      void clock.sleep(busyRetryPauseMs, signal).then(again, () => undefined);
    }
  }

  #startNext(): boolean {
    const { planner, maxCalls } = this.#parts;
    if (this.#isOutOfCalls) return false;
    const task = this.#again.shift() ?? newTask(planner.next());
    if (!task) return false;
    if (maxCalls !== null && this.#calls >= maxCalls) {
      this.#isOutOfCalls = true;
      return false;
    }
    this.#calls++;
    this.#inFlight++;
    void this.#fetch(task).finally(() => {
      this.#inFlight--;
      this.#pump();
    });
    return true;
  }

  /** A fetcher is busy until its page is in the queue: a full queue holds the fetchers back. */
  async #fetch(task: Task): Promise<void> {
    const { signal } = this.#stopping;
    try {
      // The page as it came is let go of here: while the queue is full, only the copy in shared memory waits.
      const queued = this.#hold(await fetchPage(task.request, this.#parts, signal), task);
      await this.#queue.put(queued, queued.work.page.bytes.byteLength, signal);
    } catch (error) {
      if (error instanceof FetchError && error.failure.kind === 'rate-limit') this.#rateLimitedCalls++;
      if (!signal.aborted) this.#decideRetry(error, task);
    }
  }

  #hold(page: RawPage, task: Task): Queued {
    if (page.bytes.byteLength === 0) throw pageRejected('The answer is empty.');
    const held = { ...page, bytes: this.#buffers.hold(page.bytes) };
    const fields = { contentType: task.request.list.type, page: held, batchNumber: this.#batches++ };
    const work = new WorkItem(fields, this.#parts.types);
    work.become('queued');
    this.#inPipe++;
    return { ...task, work };
  }

  /** What a failure means for its page; what is no failure of a page ends the run. */
  #decideRetry(error: unknown, task: Task, cause?: FailedPageCause): void {
    const { rules, random, events, sessionId: session } = this.#parts;
    const {
      list: { type },
      key: page,
    } = task.request;
    const decision = decideRetry(error, task.attempts, rules, random);
    if (decision.do === 'stop') return this.#over.reject(decision.error);
    if (decision.do === 'give-up')
      return this.#giveUp(task.request, cause ?? decision.cause, decision.message, decision.isTransient);
    const { attempts, waitMs } = decision;
    const attempt = attempts.failures + attempts.rateLimitedCalls;
    const told = { session, type, page, cause: cause ?? decision.cause, attempt, waitMs: Math.round(waitMs) };
    events.emit('extraction:page-retried', told);
    void this.#askAgain({ request: task.request, attempts }, waitMs);
  }

  async #askAgain(task: Task, waitMs: number): Promise<void> {
    const { signal } = this.#stopping;
    await this.#parts.clock.sleep(waitMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    this.#again.push(task);
    this.#pump();
  }

  #giveUp(request: PageRequest, cause: FailedPageCause, message: string, isTransient: boolean): void {
    const { sessions, sessionId, planner, metrics, events } = this.#parts;
    const {
      list: { type },
      key: page,
    } = request;
    this.#hasLeftSome = true;
    this.#inPipe++;
    this.#write(
      () => sessions.fail(sessionId, request, cause, message),
      () => {
        this.#inPipe--;
        planner.failed(request, isTransient);
        metrics.recordError('fetch', `${type} ${page}: ${message}`);
        events.emit('extraction:page-failed', { session: sessionId, type, page, cause, error: message });
        this.#pump();
      },
    );
  }

  /** Hands pages to the threads, one at a time; as many of these run as there are places with the threads. */
  async #consume(): Promise<void> {
    for await (const queued of this.#queue) {
      const processed = await this.#process(queued);
      this.#buffers.release(queued.work.page.bytes);
      this.#inPipe--;
      if (processed?.kind === 'committed') this.#committed(processed.page, queued.work);
      else if (processed?.kind === 'rejected') {
        queued.work.become('failed');
        this.#decideRetry(pageRejected(processed.message), queued, processed.cause);
      }
      this.#pump();
    }
  }

  /** Until a thread has an answer; null when the page is given up because threads die of it. */
  async #process({ work, request }: Queued): Promise<Processed | null> {
    const { threads, sessionId } = this.#parts;
    for (;;) {
      work.become('processing');
      try {
        return await threads.process(sessionId, work.page);
      } catch (error) {
        // After a stop threads are ended by us: no page is to blame, and the next run asks for it.
        if (!(error instanceof WorkerDiedError) || this.#stopping.signal.aborted) throw error;
        if (error.wasProcessing) work.deaths++;
        if (work.deaths < mostDeaths) {
          work.become('queued');
          continue;
        }
        work.become('failed');
        this.#giveUp(request, 'worker-died', `Worker threads died of this page: ${error.message}`, false);
        return null;
      }
    }
  }

  #committed(page: CommittedPage, work: WorkItem): void {
    const { metrics, planner, events, sessionId } = this.#parts;
    const { request, itemCount, rejectedCount, written, total } = page;
    const { type } = request.list;
    work.become('completed');
    if (rejectedCount > 0) this.#hasLeftSome = true;
    const items = itemCount - written.repeated;
    metrics.incrementProcessed(type, items);
    for (let rejected = 0; rejected < rejectedCount; rejected++)
      metrics.recordError('parse', `${type} ${request.key}: an item was rejected`);
    planner.committed(page);
    const told = { session: sessionId, type, page: request.key, items };
    events.emit('extraction:page-committed', { ...told, ...written, rejected: rejectedCount, total });
  }

  #finish({ type, total, ends, problems }: FinishedType): TypeStatus {
    const { sessions, sessionId, metrics, events } = this.#parts;
    for (const { request, cause, message } of problems) sessions.fail(sessionId, request, cause, message);
    const status = sessions.finishType(sessionId, type, { expectedTotal: total, ends });
    this.statuses.set(type, status);
    this.problems.push(...problems);
    const counts = { items: sessions.countItems(type), itemsThisRun: metrics.itemsOf(type), total };
    events.emit('extraction:type-finished', { session: sessionId, type, status, ...counts });
    return status;
  }

  /** Commits what was fetched, as far as the time after a Ctrl-C allows; the rest is dropped and asked for again. */
  async #drain(consumed: Promise<unknown>): Promise<void> {
    const { clock, threads } = this.#parts;
    const settled = consumed.then(
      () => true,
      () => true,
    );
    const after = (ms: number) =>
      new Promise<boolean>((resolve) => {
        clock.after(ms, () => resolve(false));
      });
    if (await Promise.race([settled, after(drainMs)])) return;
    this.#queue.abort(new Error('The extraction was stopped.'));
    if (await Promise.race([settled, after(lastPageMs)])) return;
    await threads.terminate();
    await settled;
  }
}

function newTask(request: PageRequest | null): Task | undefined {
  return request === null ? undefined : { request, attempts: noAttempts };
}

// One page: the turn to ask for it, the asking, and the news of how it went. The source itself asks the limiter for leave.

export interface FetchDeps {
  readonly sessionId: string;
  readonly source: Source;
  readonly pacer: Pacer;
  readonly clock: Clock;
  readonly events: Emitter<ExtractionEvents>;
}

/** Fails with a FetchError, with the limiter's error, or with the signal's reason while it waits for its turn. */
export async function fetchPage(
  request: PageRequest,
  { sessionId, source, pacer, clock, events }: FetchDeps,
  signal: AbortSignal,
): Promise<RawPage> {
  await pacer.turn(signal);
  // Waiting for leave is no part of a call.
  let sentAt = clock.monotonic();
  const tell = (outcome: string) => {
    const durationMs = clock.monotonic() - sentAt;
    events.emit('extraction:call', { session: sessionId, type: request.list.type, outcome, durationMs });
  };
  try {
    const page = await source.fetch(request, signal, () => (sentAt = clock.monotonic()));
    tell('answered');
    return page;
  } catch (error) {
    tell(error instanceof FetchError ? error.failure.kind : 'broken');
    throw error;
  }
}

// Spreads calls over the second instead of making them all at its beginning.
//
// A server counts arrivals. Calls of a burst wait for each other on the way, the next burst's do not, and the limit that
// we kept is broken at the other end (measured: 5 to 25 ms apart in bursts of 50, with 10 ms to spare).

/** Of the second: the rest is room to catch up in. */
const share = 0.8;
/** Timers cannot wait less. */
const shortestMs = 1;

export class Pacer {
  readonly #clock: Clock;
  readonly #spacingMs: number;
  #nextAt = Number.NEGATIVE_INFINITY;

  constructor(perSecond: number, clock: Clock) {
    this.#clock = clock;
    this.#spacingMs = (share * 1000) / perSecond;
  }

  /** Resolves when it is this caller's turn; the limiter still has to agree. Rejects when the signal aborts first. */
  async turn(signal: AbortSignal): Promise<void> {
    if (this.#spacingMs < shortestMs) return;
    const now = this.#clock.monotonic();
    const at = Math.max(now, this.#nextAt);
    this.#nextAt = at + this.#spacingMs;
    if (at > now) await this.#clock.sleep(at - now, signal);
  }
}
