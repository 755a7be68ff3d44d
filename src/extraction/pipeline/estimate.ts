// Says how many calls and minutes an extraction would take, from at most one small call per list.
import { pageFormats } from '../types.ts';
import { parsePage } from '../parsing/parse-page.ts';
import type { ParallelConfig } from '../parallel-config.ts';
import type { RawPage, PageRequest, ContentType, TypeProgress } from '../types.ts';
import { Planner } from './planner.ts';

export interface TypeEstimate {
  readonly type: string;
  /** Null when only reading it would tell. */
  readonly items: number | null;
  readonly calls: number;
  /** `calls` is only what is certain. */
  readonly isAtLeast: boolean;
}

export interface Estimate {
  readonly types: readonly TypeEstimate[];
  readonly calls: number;
  readonly isAtLeast: boolean;
  /** Fewer than `calls` where one run may not make them all. */
  readonly callsThisRun: number;
  /** For these. */
  readonly minutes: number;
  /** Calls that were made to find out. */
  readonly probes: number;
}

/** A type with more lists than this (one per folder) would cost nearly as much to ask about as to read. */
const mostProbesPerType = 2;

export interface EstimateOptions {
  /** What the vault has of the session that would go on. */
  readonly progress?: readonly TypeProgress[];
  readonly maxCalls?: number | null;
}

/** `fetch` makes one call, within the rate limit. */
export async function estimate(
  types: readonly ContentType[],
  parallel: ParallelConfig,
  fetch: (request: PageRequest) => Promise<RawPage>,
  { progress = [], maxCalls = null }: EstimateOptions = {},
): Promise<Estimate> {
  const left = whatIsLeft(types, progress, parallel.batchSize);
  const formats = pageFormats(types);
  let probes = 0;
  const totalOf = async (type: ContentType, listing: string): Promise<number | null> => {
    const request = probeOf(type, listing);
    const reading = formats[type.name];
    if (!request || !reading) return null;
    probes++;
    const page = await fetch(request);
    return page.total ?? parsePage(page.request, page.bytes, reading).total;
  };
  const found: TypeEstimate[] = [];
  for (const type of types)
    found.push(left.get(type.name) ?? (await estimateType(type, parallel.batchSize, totalOf, found)));
  const calls = found.reduce((sum, one) => sum + one.calls, 0);
  const callsThisRun = Math.min(calls, maxCalls ?? calls);
  return {
    types: found,
    calls,
    isAtLeast: found.some((one) => one.isAtLeast),
    callsThisRun,
    minutes: minutesFor(callsThisRun, parallel),
    probes,
  };
}

/** For types of which something is there: only what the pages that came leave to ask for. */
function whatIsLeft(
  types: readonly ContentType[],
  progress: readonly TypeProgress[],
  batchSize: number,
): ReadonlyMap<string, TypeEstimate> {
  const planner = new Planner(types, progress, batchSize);
  const calls = new Map<string, number>();
  for (let next = planner.next(); next; next = planner.next())
    calls.set(next.type, (calls.get(next.type) ?? 0) + 1);
  const isOver = (name: string) =>
    progress.some(({ type, status }) => type === name && (status === 'completed' || status === 'incomplete'));
  return new Map(
    types.flatMap(({ name, parent }) => {
      const own = progress.find(({ type }) => type === name);
      if (!own) return [];
      if (own.status === 'completed')
        return [[name, { type: name, items: own.itemsSeen, calls: 0, isAtLeast: false }]];
      const isParentOver = parent !== undefined && parent.from !== 'self' && isOver(parent.from);
      if (own.done.length + own.failed.length === 0 && !isParentOver) return [];
      const items = planner.totalOf(name);
      const isAtLeast = items === null || (parent !== undefined && !isParentOver);
      return [[name, { type: name, items, calls: calls.get(name) ?? 0, isAtLeast }]];
    }),
  );
}

async function estimateType(
  type: ContentType,
  batchSize: number,
  totalOf: (type: ContentType, listing: string) => Promise<number | null>,
  before: readonly TypeEstimate[],
): Promise<TypeEstimate> {
  const { name, parent } = type;
  if (parent && parent.from !== 'self') {
    // One each for every parent; what parents name inside is seen only when they are read.
    const parents = before.find((one) => one.type === parent.from)?.items ?? null;
    const isOneEach = parent.children === undefined && parents !== null;
    return { type: name, items: null, calls: isOneEach ? parents : 0, isAtLeast: true };
  }
  const listings = type.listings ?? [{ name: '' }];
  const totals: (number | null)[] = [];
  for (const listing of listings)
    totals.push(listings.length > mostProbesPerType ? null : await totalOf(type, listing.name));
  const pageSize = type.pageSize ?? batchSize;
  const pages = totals.reduce<number>(
    (sum, total) => sum + Math.max(1, Math.ceil((total ?? 1) / pageSize)),
    0,
  );
  const isKnown = totals.every((total) => total !== null);
  const items = isKnown ? totals.reduce((sum, total) => sum + total, 0) : null;
  const members = parent ? (items ?? 0) : 0;
  return { type: name, items, calls: pages + members, isAtLeast: !isKnown && type.pagination !== 'whole' };
}

/** A call that can tell the total; none for types of which one call is all there is. */
function probeOf({ name: type, pagination, pageSize }: ContentType, listing: string): PageRequest | null {
  const limit = pageSize ?? 1;
  const head = { type, key: 'probe', ...(listing === '' ? {} : { listing }) };
  if (pagination === 'offset') return { ...head, kind: 'offset', offset: 0, limit };
  if (pagination === 'page') return { ...head, kind: 'page', page: 0, limit };
  return pagination === 'whole' ? null : { ...head, kind: 'cursor', cursor: null, index: 0, limit };
}

/** Full minutes at the rate per minute, and the rest at the rate per second. */
export function minutesFor(
  calls: number,
  limits: Pick<ParallelConfig, 'rateLimitPerMinute' | 'rateLimitPerSecond'>,
): number {
  if (calls === 0) return 0;
  const { rateLimitPerMinute, rateLimitPerSecond } = limits;
  const fullMinutes = Math.floor((calls - 1) / rateLimitPerMinute);
  const rest = (calls - 1) % rateLimitPerMinute;
  return fullMinutes + rest / rateLimitPerSecond / 60;
}
