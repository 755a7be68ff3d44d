// The use case: brings a session of a vault to its end, or as far as it goes.
import type { Clock, Emitter, Random } from '../../core/index.ts';
import type { AdaptiveRateLimiter, RateLimiterSnapshot } from '../../resilience/index.ts';
import { exponentialBackoff } from '../../resilience/index.ts';
import type { ExtractionEvents, ProgressFigures, TypeFigures } from '../events.ts';
import type { ParallelConfig } from '../parallel-config.ts';
import type { OpenSession, SessionStatus, Source, SourceType, TypeStatus, VaultSessions } from '../ports.ts';
import type { WorkerMetricsSnapshot } from '../worker-metrics.ts';
import { WorkerMetrics } from '../worker-metrics.ts';
import type { RunEnd } from './page-run.ts';
import { PageRun } from './page-run.ts';
import { Pacer } from './pacer.ts';
import type { OnDeath, PageProcessor } from './page-threads.ts';
import { Planner } from './planner.ts';

export interface ExtractionSpec {
  readonly types: readonly SourceType[];
  readonly parallel: ParallelConfig;
  readonly maxCalls: number | null;
  readonly retries: number;
  readonly retryDelayMs: number;
  readonly fresh: boolean;
  readonly retryFailed: boolean;
  /** Where the vault is, for those who watch. */
  readonly vault: string;
  /** Settings as given, without secrets: kept with the session. */
  readonly settings: Readonly<Record<string, unknown>>;
}

export interface ExtractionParts {
  /** Connected. */
  readonly source: Source;
  readonly sessions: VaultSessions;
  readonly limiter: AdaptiveRateLimiter;
  /** Called only when there is something to do. */
  readonly startThreads: (types: readonly SourceType[], onDeath: OnDeath) => PageProcessor;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: Emitter<ExtractionEvents>;
}

export interface ExtractionResult {
  readonly session: string;
  readonly status: Exclude<SessionStatus, 'running'>;
  readonly isResumed: boolean;
  /** Everything was there already, and nothing was asked for. */
  readonly wasComplete: boolean;
  readonly endedBy: RunEnd;
  readonly types: readonly TypeFigures[];
  readonly calls: number;
  readonly metrics: WorkerMetricsSnapshot;
  readonly rateLimiter: RateLimiterSnapshot;
  readonly itemsPerSecond: number | null;
}

const longestRetryMs = 30_000;
const progressMs = 250;

/**
 * Goes on with the session that is there, or begins one. Resolves when it is at its end or was stopped (`endedBy`);
 * rejects when it could not go on, the session then being `failed` and fit to be resumed.
 */
export async function runExtraction(
  spec: ExtractionSpec,
  parts: ExtractionParts,
  signal: AbortSignal,
): Promise<ExtractionResult> {
  const { clock, sessions, events, source } = parts;
  const { workers } = spec.parallel;
  const workerCount = workers === 1 ? null : workers;
  const { fresh, retryFailed, types, settings: config } = spec;
  const session = sessions.open({ source: source.name, types, workerCount, config, fresh, retryFailed });
  const names = types.map(({ name }) => name);
  const metrics = new WorkerMetrics(names, clock);
  if (session.isComplete) return alreadyComplete(session, parts, metrics);
  const { id, isResumed } = session;
  events.emit('extraction:started', {
    session: id,
    source: source.name,
    vault: spec.vault,
    types: names,
    isResumed,
    workerCount,
  });

  const planner = new Planner(types, session.progress, spec.parallel.batchSize);
  const threads = parts.startThreads(types, (worker, error, workersAlive) => {
    metrics.recordError(worker, error);
    events.emit('extraction:worker-died', { session: id, worker, error, workersAlive });
  });
  const backoff = exponentialBackoff({
    initialMs: spec.retryDelayMs,
    maxMs: longestRetryMs,
    jitter: 'equal',
  });
  const run = new PageRun({
    ...parts,
    sessionId: id,
    threads,
    pacer: new Pacer(spec.parallel.rateLimitPerSecond, clock),
    planner,
    metrics,
    types: new Set(names),
    workers,
    queueSize: spec.parallel.queueSize,
    maxCalls: spec.maxCalls,
    rules: { retries: spec.retries, backoff },
  });
  const figures = (): ProgressFigures => ({
    types: typeFigures(session, planner, metrics, run.statuses),
    calls: run.calls,
    itemsPerSecond: throughput(metrics) ?? 0,
    rateLimiter: parts.limiter.snapshot(),
    workersAlive: threads.alive,
    workers: threads.size,
    queuedPages: run.queuedPages,
    queuedBytes: run.queuedBytes,
  });
  const tell = () => events.emit('extraction:progress', { session: id, ...figures() });
  const stopTelling = everyNowAndThen(clock, tell);
  let status: ExtractionResult['status'] = 'failed';
  try {
    // Before the first call: a thread that starts takes the time that the calls' even pace needs.
    await threads.ready();
    const endedBy = await run.run(signal);
    metrics.stop();
    tell();
    status = endedBy === 'done' ? statusOf(run.statuses) : 'interrupted';
    const { types: byType, calls, rateLimiter } = figures();
    return {
      session: id,
      status,
      isResumed,
      wasComplete: false,
      endedBy,
      types: byType,
      calls,
      metrics: metrics.snapshot(),
      rateLimiter,
      itemsPerSecond: throughput(metrics),
    };
  } finally {
    stopTelling();
    metrics.stop();
    await threads.close();
    end(session, status, run, metrics, parts);
  }
}

function end(
  { id }: OpenSession,
  status: ExtractionResult['status'],
  { calls }: PageRun,
  metrics: WorkerMetrics,
  { sessions, events }: ExtractionParts,
): void {
  const { total: items, errors, duration: seconds } = metrics.snapshot();
  const itemsPerSecond = throughput(metrics);
  sessions.finish(id, status, { items, calls, errors, throughputItemsPerSecond: itemsPerSecond });
  events.emit('extraction:finished', { session: id, status, items, calls, errors, seconds, itemsPerSecond });
}

function alreadyComplete(
  session: OpenSession,
  { limiter }: ExtractionParts,
  metrics: WorkerMetrics,
): ExtractionResult {
  return {
    session: session.id,
    status: 'completed',
    isResumed: true,
    wasComplete: true,
    endedBy: 'done',
    types: session.progress.map(({ type, status, done }) => ({
      type,
      status,
      items: itemsIn(done),
      total: null,
    })),
    calls: 0,
    metrics: metrics.snapshot(),
    rateLimiter: limiter.snapshot(),
    itemsPerSecond: null,
  };
}

function typeFigures(
  { progress }: OpenSession,
  planner: Planner,
  metrics: WorkerMetrics,
  statuses: ReadonlyMap<string, TypeStatus>,
): readonly TypeFigures[] {
  return progress.map(({ type, done }) => {
    const items = itemsIn(done) + metrics.itemsOf(type);
    const status = statuses.get(type) ?? (items > 0 ? 'running' : 'pending');
    return { type, items, total: planner.totalOf(type), status };
  });
}

const itemsIn = (done: readonly { readonly itemCount: number }[]): number =>
  done.reduce((sum, { itemCount }) => sum + itemCount, 0);

function statusOf(statuses: ReadonlyMap<string, TypeStatus>): 'completed' | 'incomplete' {
  return statuses.values().every((status) => status === 'completed') ? 'completed' : 'incomplete';
}

/** Items per second of this run; null when there were none. */
function throughput(metrics: WorkerMetrics): number | null {
  const { total, duration } = metrics.snapshot();
  return total > 0 && duration > 0 ? total / duration : null;
}

function everyNowAndThen(clock: Clock, tell: () => void): () => void {
  let cancel = clock.after(progressMs, again);
  function again(): void {
    tell();
    cancel = clock.after(progressMs, again);
  }
  return () => cancel();
}
