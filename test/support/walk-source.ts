// Reads a source as the pipeline does, page after page, and keeps the items: planner, source and parser without a vault.
import { parsePage } from '../../src/extraction/parsing/parse-page.ts';
import { Planner } from '../../src/extraction/pipeline/planner.ts';
import type { PageRequest, ParsedItem, Source } from '../../src/extraction/types.ts';

export interface Walk {
  /** By type, in the order in which they arrived. */
  readonly items: Readonly<Record<string, readonly ParsedItem[]>>;
  /** As the vault would have them, by type, sorted. */
  readonly ids: Readonly<Record<string, readonly string[]>>;
  readonly requests: readonly PageRequest[];
  readonly rejected: number;
}

/** Connects, and requests everything that the planner plans, in pages of `batchSize`. */
export async function walkSource(source: Source, batchSize: number): Promise<Walk> {
  const { signal } = new AbortController();
  await source.connect(signal);
  const { types } = source;
  const planner = new Planner(types, [], batchSize);
  const items: Record<string, ParsedItem[]> = Object.fromEntries(types.map(({ name }) => [name, []]));
  const requests: PageRequest[] = [];
  let rejected = 0;
  for (let request = planner.next(); request; request = planner.next()) {
    requests.push(request);
    const page = await source.fetch(request, signal);
    const { type } = request.list;
    const parsed = parsePage(request, page.bytes, types);
    items[type]?.push(...parsed.items);
    rejected += parsed.rejected.length;
    planner.committed({
      request,
      itemCount: parsed.items.length,
      rejectedCount: parsed.rejected.length,
      total: page.total ?? parsed.total,
      next: parsed.nextCursor ?? page.nextLink,
      children: parsed.children,
      elements: parsed.elements,
    });
    planner.takeFinished();
  }
  const ids = Object.fromEntries(
    Object.entries(items).map(([type, all]) => [type, all.map(({ id }) => id).sort(byText)]),
  );
  return { items, ids, requests, rejected };
}

export const byText = (one: string, other: string): number => (one < other ? -1 : Number(one > other));
