// Fetchers, queue and worker threads of one run, from the first page until nothing is left or the run is stopped.
//
// Every page is in exactly one place: planned, waiting for a retry, in flight, queued, or with a thread. It ends as
// committed or failed. Pages that are left when a run is stopped are requested by the next run.
import type { Clock, Emitter, Random } from '../../core/index.ts';
import { onAbort } from '../../core/index.ts';
import { busyRetryPauseMs, isSqliteBusy } from '../../platform/sqlite/open-sqlite.ts';
import type { AdaptiveRateLimiter } from '../../resilience/index.ts';
import { BoundedQueue } from '../../resilience/index.ts';
import { FetchError } from '../errors.ts';
import type { ExtractionEvents, FailedPageCause } from '../events.ts';
import type { ParallelConfig } from '../parallel-config.ts';
import { queueBytes } from '../parallel-config.ts';
import { Pacer } from '../rate-limiter.ts';
import type {
  CommittedPage,
  ContentType,
  PageRequest,
  RawPage,
  SessionSpec,
  Source,
  TypeState,
  VaultSessions,
} from '../types.ts';
import { vaultLockTimeoutMs } from '../vault/file.ts';
import { WorkItem } from '../work-item.ts';
import type { WorkerMetrics } from '../worker-metrics.ts';
import type { ListProblem } from './paginator.ts';
import type { FinishedType, Planner } from './planner.ts';
import type { RetryPolicy, Attempts } from './retry-policy.ts';
import { decideRetry, noAttempts, pageRejected, retryPolicy } from './retry-policy.ts';
import type { OnDeath, PageProcessor, Processed } from './worker-pool.ts';
import { PageBuffers, WorkerDiedError } from './worker-pool.ts';

export interface ExtractionSpec {
  readonly types: readonly ContentType[];
  readonly parallel: ParallelConfig;
  readonly maxCalls: number | null;
  readonly retries: number;
  readonly retryDelayMs: number;
  readonly fresh: SessionSpec['fresh'];
  readonly retryFailed: boolean;
  /** The path of the vault, for events. */
  readonly vault: string;
  /** Settings as given, without secrets: stored with the session. */
  readonly settings: Readonly<Record<string, unknown>>;
}

export interface RunDeps {
  /** A connected source. */
  readonly source: Source;
  readonly sessions: VaultSessions;
  readonly limiter: AdaptiveRateLimiter;
  /** Called only when there is something to request. */
  readonly startThreads: (types: readonly ContentType[], onDeath: OnDeath) => PageProcessor;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: Emitter<ExtractionEvents>;
}

export interface PagePipelineDeps extends RunDeps {
  readonly spec: ExtractionSpec;
  readonly sessionId: string;
  readonly threads: PageProcessor;
  readonly planner: Planner;
  readonly metrics: WorkerMetrics;
}

/** Why a run ended. */
export type RunEnd = 'finished' | 'interrupted' | 'max-calls';

interface Task {
  readonly request: PageRequest;
  readonly attempts: Attempts;
}

interface Queued extends Task {
  readonly work: WorkItem;
}

/** After a stop: the time for committing fetched pages, and then the time until threads are terminated. */
const drainMs = 600;
const lastPageMs = 250;
/** A page that killed this many threads is given up, because it would kill them all. */
const maxDeaths = 2;

export class PagePipeline {
  readonly states = new Map<string, TypeState>();
  /** Problems of the types that have finished. */
  readonly problems: ListProblem[] = [];
  /** Calls of this run. */
  calls = 0;
  /** Calls of this run that received a 429. */
  rateLimitedCalls = 0;
  /** Pages failed or items were rejected in this run. */
  hasMissingItems = false;
  readonly #deps: PagePipelineDeps;
  readonly #types: ReadonlySet<string>;
  readonly #pacer: Pacer;
  readonly #rules: RetryPolicy;
  readonly #queue: BoundedQueue<Queued>;
  readonly #buffers = new PageBuffers(queueBytes);
  /** Requested before anything new. */
  readonly #retries: Task[] = [];
  readonly #stopping = new AbortController();
  readonly #over = Promise.withResolvers<RunEnd>();
  /** Types are being finished, or wait for a vault that another process has locked. */
  #isFinishing = false;
  /** When the vault was first found locked by another process. */
  #busySince: number | null = null;
  #batches = 0;
  #inFlight = 0;
  /** Fetched pages that are neither committed nor failed yet. */
  #unsettled = 0;
  #isOutOfCalls = false;

  constructor(deps: PagePipelineDeps) {
    const { types, parallel, retries, retryDelayMs } = deps.spec;
    this.#deps = deps;
    this.#types = new Set(types.map(({ name }) => name));
    this.#pacer = new Pacer(parallel.rateLimitPerSecond, deps.clock);
    this.#rules = retryPolicy(retries, retryDelayMs);
    this.#queue = new BoundedQueue({ maxItems: parallel.queueSize, maxBytes: queueBytes });
  }

  get queuedPages(): number {
    return this.#queue.length;
  }
  get queuedBytes(): number {
    return this.#queue.bytes;
  }

  /** Runs to the end, or until the signal aborts. Rejects with the error that stopped it, after everything has ended. */
  async run(signal: AbortSignal): Promise<RunEnd> {
    const release = onAbort(signal, () => this.#over.resolve('interrupted'));
    const consumers = Array.from({ length: this.#deps.threads.capacity }, () => this.#consume());
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

  /** Starts whatever can be started. Called after every change of state. */
  #pump(): void {
    if (this.#stopping.signal.aborted || this.#isFinishing) return;
    const { planner, spec } = this.#deps;
    this.#isFinishing = true;
    this.#write(
      () => planner.takeFinished((finished) => this.#finish(finished)),
      () => {
        this.#isFinishing = false;
        while (this.#inFlight < spec.parallel.workers && this.#startNext());
        if (planner.isFinished) this.#over.resolve('finished');
        else if (this.#isOutOfCalls && this.#inFlight + this.#unsettled === 0)
          this.#over.resolve('max-calls');
      },
    );
  }

  /** Writes to the vault and then calls `then`: at once, or when no other process locks the vault. */
  #write(write: () => unknown, then: () => void): void {
    const { clock } = this.#deps;
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
      // After a stop nothing is left to do: the next run requests the page again, or finishes the type.
      void clock.sleep(busyRetryPauseMs, signal).then(again, () => undefined);
    }
  }

  #startNext(): boolean {
    const { planner, spec } = this.#deps;
    if (this.#isOutOfCalls) return false;
    const task = this.#retries.shift() ?? newTask(planner.next());
    if (!task) return false;
    if (spec.maxCalls !== null && this.calls >= spec.maxCalls) {
      this.#isOutOfCalls = true;
      return false;
    }
    this.calls++;
    this.#inFlight++;
    void this.#fetch(task).finally(() => {
      this.#inFlight--;
      this.#pump();
    });
    return true;
  }

  /** A fetcher is busy until its page is in the queue: a full queue delays the fetchers. */
  async #fetch(task: Task): Promise<void> {
    const { signal } = this.#stopping;
    try {
      // The response is released here: while the queue is full, only the copy in shared memory is kept.
      const queued = this.#enqueue(await this.#call(task.request, signal), task);
      await this.#queue.put(queued, queued.work.page.bytes.byteLength, signal);
    } catch (error) {
      if (error instanceof FetchError && error.failure.kind === 'rate-limit') this.rateLimitedCalls++;
      if (!signal.aborted) this.#handleFailure(error, task);
    }
  }

  /** One call. Fails with a FetchError, with the limiter's error, or with the signal's reason. */
  async #call(request: PageRequest, signal: AbortSignal): Promise<RawPage> {
    const { sessionId: session, source, clock, events } = this.#deps;
    await this.#pacer.wait(signal);
    // Waiting for a permit is not part of the call.
    let sentAt = clock.monotonic();
    const report = (outcome: string) => {
      const durationMs = clock.monotonic() - sentAt;
      events.emit('extraction:call', { session, type: request.list.type, outcome, durationMs });
    };
    try {
      const page = await source.fetch(request, signal, () => (sentAt = clock.monotonic()));
      report('responded');
      return page;
    } catch (error) {
      report(error instanceof FetchError ? error.failure.kind : 'broken');
      throw error;
    }
  }

  #enqueue(page: RawPage, task: Task): Queued {
    if (page.bytes.byteLength === 0) throw pageRejected('The response is empty.');
    const shared = { ...page, bytes: this.#buffers.share(page.bytes) };
    const fields = { contentType: task.request.list.type, page: shared, batchNumber: this.#batches++ };
    const work = new WorkItem(fields, this.#types);
    work.become('queued');
    this.#unsettled++;
    return { ...task, work };
  }

  /** Retries the page, fails it, or stops the run. */
  #handleFailure(error: unknown, { request, attempts: before }: Task, cause?: FailedPageCause): void {
    const { random, events, sessionId: session } = this.#deps;
    const decision = decideRetry(error, before, this.#rules, random);
    if (decision.action === 'stop') return this.#over.reject(decision.error);
    if (decision.action === 'give-up')
      return this.#giveUp(request, cause ?? decision.cause, decision.message, decision.isTransient);
    const { attempts, delayMs } = decision;
    const attempt = attempts.failures + attempts.rateLimitedCalls;
    events.emit('extraction:page-retried', {
      session,
      type: request.list.type,
      page: request.key,
      cause: cause ?? decision.cause,
      attempt,
      waitMs: Math.round(delayMs),
    });
    void this.#retry({ request, attempts }, delayMs);
  }

  async #retry(task: Task, waitMs: number): Promise<void> {
    const { signal } = this.#stopping;
    await this.#deps.clock.sleep(waitMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    this.#retries.push(task);
    this.#pump();
  }

  #giveUp(request: PageRequest, cause: FailedPageCause, message: string, isTransient: boolean): void {
    const { sessions, sessionId, planner, metrics, events } = this.#deps;
    const { list, key: page } = request;
    const { type } = list;
    this.hasMissingItems = true;
    this.#unsettled++;
    this.#write(
      () => sessions.fail(sessionId, request, cause, message),
      () => {
        this.#unsettled--;
        planner.failed(request, isTransient);
        metrics.recordError('fetch', `${type} ${page}: ${message}`);
        events.emit('extraction:page-failed', { session: sessionId, type, page, cause, error: message });
        this.#pump();
      },
    );
  }

  /** Passes pages to the threads one at a time; one loop runs per page that the pool accepts. */
  async #consume(): Promise<void> {
    for await (const queued of this.#queue) {
      const processed = await this.#process(queued);
      this.#buffers.release(queued.work.page.bytes);
      this.#unsettled--;
      if (processed?.kind === 'committed') this.#committed(processed.page, queued.work);
      else if (processed?.kind === 'rejected') {
        queued.work.become('failed');
        this.#handleFailure(pageRejected(processed.message), queued, processed.cause);
      }
      this.#pump();
    }
  }

  /** Until a thread has processed the page; null when it is given up because threads die while processing it. */
  async #process({ work, request }: Queued): Promise<Processed | null> {
    const { threads, sessionId } = this.#deps;
    for (;;) {
      work.become('processing');
      try {
        return await threads.process(sessionId, work.page);
      } catch (error) {
        // After a stop threads are terminated by us, not by the page; the next run requests it again.
        if (!(error instanceof WorkerDiedError) || this.#stopping.signal.aborted) throw error;
        if (error.wasProcessing) work.deaths++;
        if (work.deaths < maxDeaths) {
          work.become('queued');
          continue;
        }
        work.become('failed');
        this.#giveUp(
          request,
          'worker-died',
          `Worker threads died while processing this page: ${error.message}`,
          false,
        );
        return null;
      }
    }
  }

  #committed(page: CommittedPage, work: WorkItem): void {
    const { metrics, planner, events, sessionId } = this.#deps;
    const { request, itemCount, rejectedCount, written, total } = page;
    const { type } = request.list;
    work.become('completed');
    if (rejectedCount > 0) this.hasMissingItems = true;
    const items = itemCount - written.repeated;
    metrics.incrementProcessed(type, items);
    for (let rejected = 0; rejected < rejectedCount; rejected++)
      metrics.recordError('parse', `${type} ${request.key}: an item was rejected`);
    planner.committed(page);
    const payload = { session: sessionId, type, page: request.key, items };
    events.emit('extraction:page-committed', { ...payload, ...written, rejected: rejectedCount, total });
  }

  #finish({ type, total, problems, ...end }: FinishedType): TypeState {
    const { sessions, sessionId, metrics, events } = this.#deps;
    for (const { request, cause, message } of problems) sessions.fail(sessionId, request, cause, message);
    const state = sessions.finishType(sessionId, type, { expectedTotal: total, ...end });
    this.states.set(type, state);
    this.problems.push(...problems);
    const counts = { items: sessions.countItems(type), itemsThisRun: metrics.itemsOf(type), total };
    events.emit('extraction:type-finished', { session: sessionId, type, state, ...counts });
    return state;
  }

  /** Commits fetched pages within the time after Ctrl-C; the next run requests the others again. */
  async #drain(consumed: Promise<unknown>): Promise<void> {
    const { clock, threads } = this.#deps;
    // Not withTimeout: running out of time is an expected result here, not an error, and leads to the next step.
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
