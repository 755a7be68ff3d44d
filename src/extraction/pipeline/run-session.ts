// Runs a session of a vault: opens or resumes it, runs the pipeline, and finishes it.
import type { Emitter } from '../../core/index.ts';
import { CoreError, every } from '../../core/index.ts';
import { isSqliteBusy } from '../../platform/sqlite/open-sqlite.ts';
import type { RateLimiterSnapshot } from '../../resilience/index.ts';
import type { ExtractionEvents, ProgressFigures, TypeFigures } from '../events.ts';
import type {
  OpenSession,
  RunTotals,
  SessionSpec,
  SessionState,
  SessionTotals,
  ContentType,
  TypeProgress,
  TypeState,
  VaultSessions,
} from '../types.ts';
import { vaultLockTimeoutMs, waitForVaultLock } from '../vault/file.ts';
import type { WorkerMetricsSnapshot } from '../worker-metrics.ts';
import { WorkerMetrics } from '../worker-metrics.ts';
import type { ExtractionSpec, RunDeps, RunEnd } from './page-pipeline.ts';
import { PagePipeline } from './page-pipeline.ts';
import type { ListProblem } from './paginator.ts';
import { Planner } from './planner.ts';

export interface TypeResult extends TypeFigures {
  /** All stored items of the type, from any session. */
  readonly held: number;
}

/** Figures of this run, except `totals`. */
export interface ExtractionResult {
  readonly session: string;
  readonly state: Exclude<SessionState, 'running'>;
  readonly isResumed: boolean;
  /** The session was complete before: no call was made. */
  readonly wasComplete: boolean;
  readonly endedBy: RunEnd;
  /** Pages of the session failed or items were rejected: `retryFailed` requests those again. */
  readonly canRetry: boolean;
  /** Lists ended too early or repeat themselves: only a new session, usually with other pagination, reads them. */
  readonly hasBrokenLists: boolean;
  readonly types: readonly TypeResult[];
  readonly calls: number;
  /** Calls that received a 429. */
  readonly rateLimitedCalls: number;
  readonly metrics: WorkerMetricsSnapshot;
  readonly rateLimiter: RateLimiterSnapshot;
  readonly itemsPerSecond: number | null;
  /** Totals of the session: this and the previous runs. */
  readonly totals: SessionTotals;
}

const vaultLocked = (vault: string) =>
  ({
    reason: 'vault-locked',
    why: `another program has locked ${vault}; end it, or wait until it has finished`,
    waitMs: null,
  }) as const;

const progressMs = 250;

/**
 * Resumes the existing session or starts one. Resolves when it has ended or was stopped (`endedBy`); rejects when it
 * cannot continue, the session then being `failed` and resumable.
 */
export async function runExtraction(
  spec: ExtractionSpec,
  deps: RunDeps,
  signal: AbortSignal,
): Promise<ExtractionResult> {
  const { clock, sessions, events, source } = deps;
  const { workers } = spec.parallel;
  const workerCount = workers === 1 ? null : workers;
  const { fresh, retryFailed, types, settings: config } = spec;
  const sessionSpec = { source: source.name, types, workerCount, config, fresh, retryFailed };
  const onWait = () => events.emit('extraction:waiting', vaultLocked(spec.vault));
  const session = await waitForVaultLock(() => sessions.open(sessionSpec), { clock, signal, onWait });
  const names = types.map(({ name }) => name);
  const metrics = new WorkerMetrics(names, clock);
  if (session.isComplete) return alreadyComplete(session, deps, metrics);
  const { id, isResumed } = session;
  emitRestartReason(events, spec.vault, spec, session);
  events.emit('extraction:started', {
    session: id,
    source: source.name,
    vault: spec.vault,
    types: names,
    isResumed,
    workerCount,
  });

  const planner = new Planner(types, session.progress, spec.parallel.batchSize);
  const threads = deps.startThreads(types, (worker, error, workersAlive) => {
    metrics.recordError(worker, error);
    events.emit('extraction:worker-died', { session: id, worker, error, workersAlive });
  });
  const run = new PagePipeline({ ...deps, spec, sessionId: id, threads, planner, metrics });
  const figures = (): ProgressFigures => ({
    types: typeFigures(session, planner, metrics, run.states),
    calls: run.calls,
    rateLimitedCalls: run.rateLimitedCalls,
    itemsPerSecond: throughput(metrics) ?? 0,
    rateLimiter: deps.limiter.snapshot(),
    workersAlive: threads.alive,
    workers: threads.size,
    queuedPages: run.queuedPages,
    queuedBytes: run.queuedBytes,
  });
  const report = () => events.emit('extraction:progress', { session: id, ...figures() });
  const stopReporting = every(clock, progressMs, async () => report());
  let state: ExtractionResult['state'] = 'failed';
  let endedBy: RunEnd;
  let totals: SessionTotals;
  try {
    // Before the first call: a starting thread would disturb the even pace of the calls.
    await threads.ready();
    endedBy = await run.run(signal);
    metrics.stop();
    report();
    state = endedBy === 'finished' ? stateOf(run.states) : 'interrupted';
  } finally {
    stopReporting();
    metrics.stop();
    await threads.close();
    totals = await end(session, state, run, metrics, deps);
  }
  const { types: byType, calls, rateLimitedCalls, rateLimiter } = figures();
  return {
    session: id,
    state,
    isResumed,
    wasComplete: false,
    endedBy,
    canRetry:
      run.hasMissingItems || session.progress.some((progress) => hasMissingItems(progress, run.problems)),
    hasBrokenLists: run.problems.some(({ cause }) => cause !== 'parent-incomplete'),
    types: withHeld(byType, sessions),
    calls,
    rateLimitedCalls,
    metrics: metrics.snapshot(),
    rateLimiter,
    itemsPerSecond: throughput(metrics),
    totals,
  };
}

/** Problems are stored like failed pages, but a retry does not solve them. */
function hasMissingItems({ type, failed, done }: TypeProgress, problems: readonly ListProblem[]): boolean {
  const problemPages = new Set(problems.map(({ request }) => `${request.list.type} ${request.key}`));
  return (
    failed.some(({ key }) => !problemPages.has(`${type} ${key}`)) ||
    done.some(({ rejectedCount }) => rejectedCount > 0)
  );
}

const withHeld = (types: readonly TypeFigures[], sessions: VaultSessions): readonly TypeResult[] =>
  types.map((figures) => ({ ...figures, held: sessions.countItems(figures.type) }));

/** A stopped run does not wait longer: the next one closes the session. */
const finishTimeoutMs = 200;

async function end(
  { id, totals: before }: OpenSession,
  state: ExtractionResult['state'],
  { calls }: PagePipeline,
  metrics: WorkerMetrics,
  { sessions, events, clock }: RunDeps,
): Promise<SessionTotals> {
  const { total: items, errors, duration: seconds } = metrics.snapshot();
  const itemsPerSecond = throughput(metrics);
  const isStopped = state === 'interrupted' || state === 'failed';
  const activeMs = seconds * 1000;
  const finish = () => sessions.finish(id, state, { calls, errors, activeMs });
  const wait = { clock, timeoutMs: isStopped ? finishTimeoutMs : vaultLockTimeoutMs };
  const totals = await waitForVaultLock(finish, wait).catch((error: unknown) => {
    if (isStopped && isSqliteBusy(error)) return withRun(before, { items, calls, errors, activeMs });
    throw error;
  });
  events.emit('extraction:finished', { session: id, state, items, calls, errors, seconds, itemsPerSecond });
  return totals;
}

/** An estimate for a locked vault: items of an earlier run count twice. */
function withRun(before: SessionTotals, run: RunTotals & { readonly items: number }): SessionTotals {
  const items = before.items + run.items;
  const activeMs = before.activeMs + run.activeMs;
  return {
    items,
    calls: before.calls + run.calls,
    errors: before.errors + run.errors,
    activeMs,
    throughputItemsPerSecond: items > 0 && activeMs > 0 ? (items * 1000) / activeMs : null,
  };
}

/** The result of a run without any call. */
function alreadyComplete(
  { id, progress, totals }: OpenSession,
  { limiter, sessions }: RunDeps,
  metrics: WorkerMetrics,
): ExtractionResult {
  const types = progress.map(({ type, state, itemsSeen: items }) => {
    return { type, state, items, itemsThisRun: 0, total: null };
  });
  return {
    session: id,
    state: 'completed',
    isResumed: true,
    wasComplete: true,
    endedBy: 'finished',
    canRetry: false,
    hasBrokenLists: false,
    types: withHeld(types, sessions),
    calls: 0,
    rateLimitedCalls: 0,
    metrics: metrics.snapshot(),
    rateLimiter: limiter.snapshot(),
    itemsPerSecond: null,
    totals,
  };
}

function typeFigures(
  { progress }: OpenSession,
  planner: Planner,
  metrics: WorkerMetrics,
  states: ReadonlyMap<string, TypeState>,
): readonly TypeFigures[] {
  return progress.map(({ type, itemsSeen }) => {
    const itemsThisRun = metrics.itemsOf(type);
    const items = itemsSeen + itemsThisRun;
    const state = states.get(type) ?? (items > 0 ? 'running' : 'queued');
    return { type, items, itemsThisRun, total: planner.totalOf(type), state };
  });
}

function stateOf(states: ReadonlyMap<string, TypeState>): 'completed' | 'incomplete' {
  return states.values().every((state) => state === 'completed') ? 'completed' : 'incomplete';
}

/** Items per second of this run; null without items. */
function throughput(metrics: WorkerMetrics): number | null {
  const { total, duration } = metrics.snapshot();
  return total > 0 && duration > 0 ? total / duration : null;
}

/** Reports why a run starts a new session although there was one to resume. */
export function emitRestartReason(
  events: Emitter<ExtractionEvents>,
  vault: string,
  { fresh, retryFailed }: Pick<SessionSpec, 'fresh' | 'retryFailed'>,
  { isResumed, lost, changedTypes }: Pick<OpenSession, 'isResumed' | 'lost' | 'changedTypes'>,
): void {
  if (isResumed) return;
  if (lost.length > 0) events.emit('extraction:rows-lost', { vault, types: lost });
  else if (changedTypes.length > 0) events.emit('extraction:types-changed', { vault, types: changedTypes });
  else if (retryFailed && fresh !== true)
    events.emit('extraction:setting-ignored', {
      setting: '--retry-failed',
      reason: 'there is no unfinished extraction of exactly these types: everything is extracted',
    });
}

/**
 * The named types in the source's order, with their parents; all when none is named. Fails with CONFIG_INVALID for names
 * that the source does not have.
 */
export function selectTypes(all: readonly ContentType[], named: readonly string[]): readonly ContentType[] {
  const unknown = named.filter((name) => !all.some((type) => type.name === name));
  if (unknown.length > 0)
    throw new CoreError(
      'CONFIG_INVALID',
      `extraction.types (--types, HEADWORKS_EXTRACTION_TYPES): there is no type "${unknown.join('" or "')}"; ` +
        `this source has ${all.map(({ name }) => name).join(', ')}.`,
    );
  const wanted = new Set(named.length === 0 ? all.map(({ name }) => name) : named);
  // A Set iterates over elements added meanwhile: parents of parents too.
  for (const name of wanted) {
    const parent = all.find((type) => type.name === name)?.parent?.type;
    if (parent !== undefined) wanted.add(parent);
  }
  return all.filter(({ name }) => wanted.has(name));
}
