// The pipeline with test doubles for source, vault, threads and time.
import type { EmittedEvent, HeadworksError } from '../../src/core/index.ts';
import { EventBus, seededRandom } from '../../src/core/index.ts';
import { VirtualClock } from './core/virtual-clock.ts';
import type {
  RawPage,
  OpenSession,
  CommittedPage,
  PagePosition,
  PageRequest,
  RunTotals,
  SessionSpec,
  SessionTotals,
  Source,
  ContentType,
  TypeState,
  VaultSessions,
} from '../../src/extraction/index.ts';
import type { ExtractionResult } from '../../src/extraction/pipeline/run-session.ts';
import type { ExtractionSpec } from '../../src/extraction/pipeline/page-pipeline.ts';
import type { PageProcessor } from '../../src/extraction/pipeline/worker-pool.ts';
import type { ParallelConfig } from '../../src/extraction/parallel-config.ts';
import { extractionEvents, FetchError } from '../../src/extraction/index.ts';
import { parallelConfig } from './extraction/parallel-config.ts';
import { runExtraction } from '../../src/extraction/pipeline/run-session.ts';
import type { OnDeath, Processed } from '../../src/extraction/pipeline/worker-pool.ts';
import { WorkerDiedError } from '../../src/extraction/pipeline/worker-pool.ts';
import type { FailureKind } from '../../src/resilience/index.ts';
import { createRateLimiter } from './resilience/memory-rate-limiter.ts';
import { elementsAt, typeOf } from './extraction/pages.ts';
import { limitedSource } from './limited-source.ts';

const transient = new Set<FailureKind>(['rate-limit', 'server-error', 'timeout', 'network']);

/** A call that failed, as a source reports it. */
export function failure(kind: FailureKind, status?: number, retryAfterMs?: number): FetchError {
  const hint = retryAfterMs === undefined ? undefined : ({ retryAfterMs, source: 'retry-after' } as const);
  return new FetchError({ kind, isTransient: transient.has(kind), status, hint }, `made-up ${kind}`);
}

export interface WorldOptions {
  /** How many items each type has. */
  readonly types?: Readonly<Record<string, number>>;
  readonly hasTotal?: boolean;
  readonly parallel?: Partial<ParallelConfig>;
  readonly retries?: number;
  readonly maxCalls?: number | null;
  readonly threads?: number;
  readonly latencyMs?: number;
  readonly processingMs?: number;
  readonly pageBytes?: number;
  /** Throws for a call that fails; `attempt` counts the calls for this page from 1. */
  readonly call?: (request: PageRequest, attempt: number) => void;
  /** What a thread does instead of committing. */
  readonly process?: (request: PageRequest, thread: string) => 'dies' | 'refuses' | Error | undefined;
}

/** Records the calls of the pipeline. */
export class MemorySessions implements VaultSessions {
  readonly failed: { request: PageRequest; cause: string; message: string }[] = [];
  readonly states = new Map<string, TypeState>();
  readonly done: CommittedPage[] = [];
  spec: SessionSpec | null = null;
  finished: { state: string; run: RunTotals } | null = null;

  open(spec: SessionSpec): OpenSession {
    this.spec = spec;
    const progress = spec.types.map(({ name }) => ({
      type: name,
      state: this.states.get(name) ?? 'queued',
      itemsSeen: this.countItems(name),
      done: this.done.filter(({ request }) => request.list.type === name),
      failed: this.failed.map(({ request }) => request).filter(({ list }) => list.type === name),
    }));
    const isComplete = progress.every(({ state }) => state === 'completed');
    const isResumed = this.done.length > 0;
    return {
      id: 'session',
      isResumed,
      isComplete,
      lost: [],
      changedTypes: [],
      progress,
      totals: this.#totals(),
    };
  }
  fail(_session: string, request: PageRequest, cause: string, message: string): void {
    this.failed.push({ request, cause, message });
  }
  finishType(_session: string, type: string): TypeState {
    const state = this.failed.some(({ request }) => request.list.type === type) ? 'incomplete' : 'completed';
    this.states.set(type, state);
    return state;
  }
  finish(_session: string, state: string, run: RunTotals): SessionTotals {
    this.finished = { state, run };
    return this.#totals();
  }
  countItems(type: string): number {
    return this.done
      .filter(({ request }) => request.list.type === type)
      .reduce((sum, { itemCount }) => sum + itemCount, 0);
  }
  #totals(): SessionTotals {
    const run = this.finished?.run ?? { calls: 0, errors: 0, activeMs: 0 };
    const items = this.done.reduce((sum, { itemCount }) => sum + itemCount, 0);
    return { ...run, items, throughputItemsPerSecond: null };
  }
}

export class ExtractionWorld {
  readonly clock = new VirtualClock();
  readonly sessions = new MemorySessions();
  readonly events: EmittedEvent[] = [];
  readonly calls: { readonly request: PageRequest; readonly at: number }[] = [];
  /** Maximum number of pages that were fetched and not yet committed. */
  maxUnsettled = 0;
  #unsettled = 0;
  /** When the threads were terminated. */
  terminatedAt: number | null = null;
  readonly #interrupt = new AbortController();
  readonly #termination = new AbortController();
  readonly #attempts = new Map<string, number>();
  readonly options: WorldOptions;

  constructor(options: WorldOptions = {}) {
    this.options = options;
  }

  get types(): readonly ContentType[] {
    return Object.keys(this.options.types ?? { things: 100 }).map((name) => typeOf(name));
  }

  callsFor(key: string): number {
    return this.calls.filter(({ request }) => request.key === key).length;
  }

  eventsNamed(name: string): readonly Readonly<Record<string, unknown>>[] {
    return this.events.filter((event) => event.name === name).map(({ payload }) => payload);
  }

  interrupt(): void {
    this.#interrupt.abort(new Error('interrupted'));
  }

  /** On virtual time. */
  run(more: Partial<ExtractionSpec> = {}): Promise<ExtractionResult> {
    return this.clock.run(this.start(more));
  }

  start(more: Partial<ExtractionSpec> = {}): Promise<ExtractionResult> {
    const { parallel: given, retries = 2, maxCalls = null, threads = 2 } = this.options;
    const parallel = parallelConfig({
      workers: 4,
      batchSize: 10,
      rateLimitPerMinute: 1_000_000,
      rateLimitPerSecond: 100_000,
      ...given,
    });
    const { clock } = this;
    const events = new EventBus(extractionEvents);
    events.listen((event) => this.events.push(event));
    const { rateLimitPerMinute: perMinute, rateLimitPerSecond: perSecond } = parallel;
    const limiter = createRateLimiter({
      limits: { perMinute, perSecond },
      clock,
      adaptive: parallel.adaptiveRateLimiting,
    });
    const spec: ExtractionSpec = {
      types: this.types,
      parallel,
      maxCalls,
      retries,
      retryDelayMs: 1_000,
      fresh: false,
      retryFailed: false,
      vault: 'memory',
      settings: {},
      ...more,
    };
    return runExtraction(
      spec,
      {
        source: limitedSource(this.#source(), limiter),
        sessions: this.sessions,
        limiter,
        startThreads: (_types, onDeath) => this.#threads(threads, onDeath),
        clock,
        random: seededRandom(1),
        events,
      },
      this.#interrupt.signal,
    );
  }

  #source(): Source {
    return {
      name: 'made up',
      types: this.types,
      connect: () => Promise.resolve(),
      close: () => Promise.resolve(),
      fetch: (request, signal) => this.#fetch(request, signal),
    };
  }

  async #fetch(request: PageRequest, signal: AbortSignal): Promise<RawPage> {
    const name = `${request.list.type} ${request.key}`;
    const attempt = (this.#attempts.get(name) ?? 0) + 1;
    this.#attempts.set(name, attempt);
    this.calls.push({ request, at: this.clock.monotonic() });
    await this.clock.sleep(this.options.latencyMs ?? 1, signal);
    this.options.call?.(request, attempt);
    this.#unsettled++;
    this.maxUnsettled = Math.max(this.maxUnsettled, this.#unsettled);
    const bytes = new Uint8Array(this.options.pageBytes ?? 1).fill(byteOf(request));
    return { request, bytes, total: null, nextLink: null };
  }

  #threads(count: number, onDeath: OnDeath): PageProcessor {
    const alive = new Set(Array.from({ length: count }, (_, index) => `worker-${index + 1}`));
    const free = [...alive];
    const { clock, options } = this;
    return {
      size: count,
      capacity: count,
      get alive() {
        return alive.size;
      },
      ready: () => Promise.resolve(),
      process: async (_session, { request, bytes }): Promise<Processed> => {
        while (free.length === 0) {
          if (alive.size === 0)
            throw Object.assign(new Error('all dead'), { code: 'INTERNAL' }) as HeadworksError;
          await clock.sleep(1);
        }
        const thread = free.pop() ?? '';
        await clock.sleep(options.processingMs ?? 1, this.#termination.signal);
        if (bytes[0] !== byteOf(request) || bytes.at(-1) !== byteOf(request))
          throw new TypeError(`The bytes of ${request.key} changed while it was processed.`);
        const fate = options.process?.(request, thread);
        if (fate === 'dies') {
          alive.delete(thread);
          onDeath(thread, 'made-up death', alive.size);
          throw new WorkerDiedError(thread, 'made-up death', true);
        }
        free.push(thread);
        if (fate instanceof Error) throw fate;
        this.#unsettled--;
        if (fate === 'refuses') return { kind: 'rejected', cause: 'unexpected-shape', message: 'no list' };
        return { kind: 'committed', page: this.#commit(request) };
      },
      close: () => Promise.resolve(),
      terminate: async () => {
        this.terminatedAt = clock.monotonic();
        this.#termination.abort(new WorkerDiedError('worker-1', 'terminated', true));
      },
    };
  }

  #commit(request: PageRequest): CommittedPage {
    const count = (this.options.types ?? { things: 100 })[request.list.type] ?? 0;
    const { offset, limit } = request.position as Extract<PagePosition, { kind: 'offset' }>;
    const itemCount = Math.max(0, Math.min(limit, count - offset));
    const outcome: CommittedPage = {
      request,
      itemCount,
      rejectedCount: 0,
      written: { added: itemCount, changed: 0, unchanged: 0, repeated: 0 },
      total: (this.options.hasTotal ?? true) ? count : null,
      next: null,
      children: [],
      elements: elementsAt(offset, itemCount),
    };
    this.sessions.done.push(outcome);
    return outcome;
  }
}

/** What the body of a page consists of. */
function byteOf({ position }: PageRequest): number {
  const { offset, limit } = position as Extract<PagePosition, { kind: 'offset' }>;
  return 1 + (Math.floor(offset / limit) % 255);
}
