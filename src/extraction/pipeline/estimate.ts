// Estimates the calls and minutes of an extraction with at most one small call per list.
import type { Clock, Random } from '../../core/index.ts';
import { messageOf } from '../../core/index.ts';
import { FetchError } from '../errors.ts';
import { PageRejectedError, parsePage } from '../parsing/parse-page.ts';
import type { ParallelConfig } from '../parallel-config.ts';
import type { ContentType, Endpoint, PagePosition, PageRequest, RawPage, TypeProgress } from '../types.ts';
import { Planner } from './planner.ts';
import type { Attempts, RetryPolicy } from './retry-policy.ts';
import { decideRetry, noAttempts, pageRejected } from './retry-policy.ts';

export interface TypeEstimate {
  readonly type: string;
  /** Null when unknown before it is read. */
  readonly items: number | null;
  readonly calls: number;
  /** `calls` is a lower bound. */
  readonly isAtLeast: boolean;
  /** Why it could not be estimated; absent if it could. */
  readonly error?: string;
}

export interface Estimate {
  readonly types: readonly TypeEstimate[];
  readonly calls: number;
  readonly isAtLeast: boolean;
  /** Fewer than `calls` when maxCalls is lower. */
  readonly callsThisRun: number;
  /** For `callsThisRun`. */
  readonly minutes: number;
  /** Calls that were made for the estimate. */
  readonly probes: number;
}

/** Probing a type with more lists than this (one per folder) would cost nearly as much as reading it. */
const maxProbesPerType = 2;

export interface EstimateOptions {
  /** What the vault has of the session that would be resumed. */
  readonly progress?: readonly TypeProgress[];
  readonly maxCalls?: number | null;
  /** The current rate of the source, which may be below the configured one. Default: the configured one. */
  readonly rate?: Rate;
  /** Failed calls are retried as in a run. Default: they are not. */
  readonly retries?: {
    readonly policy: RetryPolicy;
    readonly clock: Clock;
    readonly random: Random;
    readonly signal: AbortSignal;
  };
}

interface Rate {
  readonly perMinute: number;
  readonly perSecond: number;
  /** Until the first call. */
  readonly pauseMs: number;
}

/**
 * `fetch` makes one call, within the rate limit. A type whose call fails for good is reported with its error; rejected
 * credentials fail the estimate.
 */
export async function estimate(
  types: readonly ContentType[],
  parallel: ParallelConfig,
  fetch: (request: PageRequest) => Promise<RawPage>,
  { progress = [], maxCalls = null, rate, retries }: EstimateOptions = {},
): Promise<Estimate> {
  const remaining = remainingCalls(types, progress, parallel.batchSize);
  let probes = 0;
  const totalOf = async (type: ContentType, endpoint: Endpoint): Promise<number | null> => {
    const request = probeOf(type, endpoint);
    if (!request) return null;
    for (let attempts = noAttempts; ;) {
      probes++;
      try {
        return totalIn(await fetch(request), types);
      } catch (error) {
        attempts = await attemptsAfter(error, attempts, retries);
      }
    }
  };
  const found: TypeEstimate[] = [];
  for (const type of types)
    found.push(
      remaining.get(type.name) ??
        (await estimateType(type, parallel.batchSize, totalOf, found).catch((error: unknown) =>
          failedEstimate(type, error),
        )),
    );
  const calls = found.reduce((sum, one) => sum + one.calls, 0);
  const callsThisRun = Math.min(calls, maxCalls ?? calls);
  return {
    types: found,
    calls,
    isAtLeast: found.some((one) => one.isAtLeast),
    callsThisRun,
    minutes: minutesFor(callsThisRun, rate ?? rateOf(parallel)),
    probes,
  };
}

const rateOf = (parallel: ParallelConfig): Rate => ({
  perMinute: parallel.rateLimitPerMinute,
  perSecond: parallel.rateLimitPerSecond,
  pauseMs: 0,
});

function totalIn(page: RawPage, types: readonly ContentType[]): number | null {
  if (page.isEmpty) return 0;
  try {
    return page.total ?? parsePage(page.request, page.bytes, types).total;
  } catch (error) {
    throw error instanceof PageRejectedError ? pageRejected(error.message) : error;
  }
}

/** Waits until a failed call may be made again. Fails with its error if it may not. */
async function attemptsAfter(
  error: unknown,
  attempts: Attempts,
  retries: EstimateOptions['retries'],
): Promise<Attempts> {
  if (!retries) throw error;
  const { policy, clock, random, signal } = retries;
  const decision = decideRetry(error, attempts, policy, random);
  if (decision.action !== 'retry') throw decision.action === 'stop' ? decision.error : error;
  await clock.sleep(decision.delayMs, signal);
  return decision.attempts;
}

function failedEstimate({ name, endpoints }: ContentType, error: unknown): TypeEstimate {
  if (!(error instanceof FetchError) || error.failure.kind === 'canceled') throw error;
  return { type: name, items: null, calls: endpoints.length, isAtLeast: true, error: messageOf(error) };
}

/** For types with stored pages: only what is left to request. */
function remainingCalls(
  types: readonly ContentType[],
  progress: readonly TypeProgress[],
  batchSize: number,
): ReadonlyMap<string, TypeEstimate> {
  const planner = new Planner(types, progress, batchSize);
  const calls = new Map<string, number>();
  for (let next = planner.next(); next; next = planner.next())
    calls.set(next.list.type, (calls.get(next.list.type) ?? 0) + 1);
  const hasEnded = (name: string) =>
    progress.some(({ type, state }) => type === name && (state === 'completed' || state === 'incomplete'));
  return new Map(
    types.flatMap(({ name, parent }) => {
      const own = progress.find(({ type }) => type === name);
      if (!own) return [];
      if (own.state === 'completed')
        return [[name, { type: name, items: own.itemsSeen, calls: 0, isAtLeast: false }]];
      const hasParentEnded = parent !== undefined && parent.type !== name && hasEnded(parent.type);
      if (own.done.length + own.failed.length === 0 && !hasParentEnded) return [];
      const items = planner.totalOf(name);
      const isAtLeast = items === null || (parent !== undefined && !hasParentEnded);
      return [[name, { type: name, items, calls: calls.get(name) ?? 0, isAtLeast }]];
    }),
  );
}

async function estimateType(
  type: ContentType,
  batchSize: number,
  totalOf: (type: ContentType, endpoint: Endpoint) => Promise<number | null>,
  before: readonly TypeEstimate[],
): Promise<TypeEstimate> {
  const { name, parent } = type;
  if (parent && parent.type !== name) {
    // One for every parent; lists named inside parents are known only when those are read.
    const parents = before.find((one) => one.type === parent.type)?.items ?? null;
    const isOneEach = parent.itemsAt === undefined && parents !== null;
    return { type: name, items: null, calls: isOneEach ? parents : 0, isAtLeast: true };
  }
  const lists = parent ? type.endpoints.filter(({ isListingOnly }) => isListingOnly) : type.endpoints;
  const totals: (number | null)[] = [];
  for (const endpoint of lists)
    totals.push(lists.length > maxProbesPerType ? null : await totalOf(type, endpoint));
  const pages = lists.map(({ pageSize = batchSize }, index) =>
    Math.max(1, Math.ceil((totals[index] ?? 1) / pageSize)),
  );
  const isKnown = totals.every((total) => total !== null);
  const items = isKnown ? totals.reduce((sum, total) => sum + total, 0) : null;
  const calls = pages.reduce((sum, count) => sum + count, parent ? (items ?? 0) : 0);
  const isAtLeast = !isKnown && lists.some(({ pagination }) => pagination !== 'single');
  return { type: name, items, calls, isAtLeast };
}

/** A call that can return the total; none for lists of a single page. */
function probeOf({ name: type }: ContentType, endpoint: Endpoint): PageRequest | null {
  const limit = endpoint.pageSize ?? 1;
  const list = { type, endpoint: endpoint.name, parents: [] };
  const probe = (position: PagePosition): PageRequest => ({ key: 'probe', list, position });
  if (endpoint.pagination === 'offset') return probe({ kind: 'offset', offset: 0, limit });
  if (endpoint.pagination === 'page') return probe({ kind: 'page', page: 0, limit });
  if (endpoint.pagination === 'single') return null;
  return probe({ kind: 'cursor', cursor: null, index: 0, limit });
}

/** The pause, full minutes at the rate per minute, and the rest at the rate per second. */
export function minutesFor(calls: number, { perMinute, perSecond, pauseMs }: Rate): number {
  if (calls === 0) return 0;
  const fullMinutes = Math.floor((calls - 1) / perMinute);
  const rest = (calls - 1) % perMinute;
  return pauseMs / 60_000 + fullMinutes + rest / perSecond / 60;
}
