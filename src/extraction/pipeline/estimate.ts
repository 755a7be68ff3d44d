// Says how many calls and minutes an extraction would take, from at most one small call per list.
import { pageReadings } from '../parsing/page-reading.ts';
import { parsePage } from '../parsing/parse-page.ts';
import type { ParallelConfig } from '../parallel-config.ts';
import type { FetchedPage, PageRequest, SourceType } from '../ports.ts';

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
  readonly minutes: number;
  /** Calls that were made to find out. */
  readonly probes: number;
}

/** A type with more lists than this (one per folder) would cost nearly as much to ask about as to read. */
const mostProbesPerType = 2;

/** `fetch` makes one call, within the rate limit. */
export async function estimate(
  types: readonly SourceType[],
  parallel: ParallelConfig,
  fetch: (request: PageRequest) => Promise<FetchedPage>,
): Promise<Estimate> {
  const readings = pageReadings(types);
  let probes = 0;
  const totalOf = async (type: SourceType, listing: string): Promise<number | null> => {
    const request = probeOf(type, listing);
    const reading = readings[type.name];
    if (!request || !reading) return null;
    probes++;
    const page = await fetch(request);
    return page.total ?? parsePage(page.request, page.bytes, reading).total;
  };
  const found: TypeEstimate[] = [];
  for (const type of types) found.push(await estimateType(type, parallel.batchSize, totalOf, found));
  const calls = found.reduce((sum, one) => sum + one.calls, 0);
  return {
    types: found,
    calls,
    isAtLeast: found.some((one) => one.isAtLeast),
    minutes: minutesFor(calls, parallel),
    probes,
  };
}

async function estimateType(
  type: SourceType,
  batchSize: number,
  totalOf: (type: SourceType, listing: string) => Promise<number | null>,
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
  return { type: name, items, calls: pages + members, isAtLeast: !isKnown && type.paging !== 'whole' };
}

/** A call that can tell the total; none for types of which one call is all there is. */
function probeOf({ name: type, paging, pageSize }: SourceType, listing: string): PageRequest | null {
  const limit = pageSize ?? 1;
  const head = { type, key: 'probe', ...(listing === '' ? {} : { listing }) };
  if (paging === 'offset') return { ...head, kind: 'offset', offset: 0, limit };
  if (paging === 'page') return { ...head, kind: 'page', page: 0, limit };
  return paging === 'whole' ? null : { ...head, kind: 'cursor', cursor: null, index: 0, limit };
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
