// Expands the first results through the graph: events that share an actor or a subject with the events of these results.
// After a failure only related items are missing; the response's warning and the ledger report it.
import type { Clock, Log } from '../../core/index.ts';
import { kindOf, messageOf, withTimeout } from '../../core/index.ts';
import type { LedgerRecorder } from '../../ledger/index.ts';
import { searchDegradations } from '../degradations.ts';
import type { ExpansionRequest, Graph, RelatedEvent } from '../graph/graph.ts';
import type { KnowledgeMonitor } from '../maintenance/monitor.ts';
import type { KnowledgeOptions } from '../options.ts';
import type { SearchStore } from './results.ts';
import type { RankedChunk, RelatedItem, SearchRequest } from './types.ts';

export interface ExpansionDeps {
  readonly graph: Pick<Graph, 'backend' | 'isSeparateStore' | 'expand' | 'missing'>;
  readonly store: Pick<SearchStore, 'eventIdsOf' | 'events' | 'countWaitingForGraph'>;
  readonly watch?: Pick<KnowledgeMonitor, 'expanded'>;
  /** Called when the graph lacks events that the tables have. */
  readonly onGraphBehind?: () => void;
  readonly ledger: LedgerRecorder;
  readonly clock: Clock;
  readonly log: Log;
  readonly options: Pick<KnowledgeOptions, 'expansionTimeoutMs' | 'chunkLookupTimeoutMs'>;
}

export interface ExpansionInput {
  readonly spaceId: number;
  readonly hits: readonly RankedChunk[];
  readonly request: Pick<SearchRequest, 'graphBudget' | 'graphSeedLimit' | 'graphFilters'>;
}

/**
 * Results are expanded in at most this many groups at once, so that a timeout keeps what some of them found: one group
 * for each of the default three results, and not more connections for many.
 */
const maxGroups = 4;

/**
 * Related items found in time, the nearest first; none when the graph is unavailable. Fails only with the caller's
 * signal.
 */
export async function expandByGraph(
  deps: ExpansionDeps,
  { spaceId, hits, request }: ExpansionInput,
  warnings: Set<string>,
  signal: AbortSignal,
): Promise<readonly RelatedItem[]> {
  const { graphBudget, graphSeedLimit, graphFilters } = request;
  if (graphBudget === 0 || graphSeedLimit === 0) return [];
  if (deps.graph.backend === 'off') {
    warnings.add('Graph expansion unavailable: the graph is switched off (GRAPH_BACKEND=off).');
    return [];
  }
  const seeds = await findSeeds(deps, spaceId, hits.slice(0, graphSeedLimit), warnings, signal);
  const exceptEventIds = seeds.flat();
  const timeout = {
    clock: deps.clock,
    timeoutMs: deps.options.expansionTimeoutMs,
    operation: 'graph expansion',
    signal,
  };
  const behind = withTimeout(
    (expired) => warnIfGraphIsBehind(deps, spaceId, exceptEventIds, warnings, expired),
    timeout,
  ).catch(() => undefined); // Reported by the expansion, which calls the same graph.
  const outcomes = await Promise.allSettled(
    groupSeeds(seeds).map((seedEventIds) => {
      const categories = graphFilters.length === 0 ? {} : { categories: graphFilters };
      const input = { spaceId, seedEventIds, exceptEventIds, budget: graphBudget, ...categories };
      return withTimeout((expired) => expandSeeds(deps, input, expired), timeout);
    }),
  );
  await behind;
  signal.throwIfAborted();
  for (const outcome of outcomes) deps.watch?.expanded(expansionOutcome(outcome));
  const found = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const failed = outcomes.find((one) => one.status === 'rejected');
  if (failed) report(deps, { spaceId, seeds: seeds.length }, failed.reason, found.length > 0, warnings);
  return mergeRelated(found, graphBudget);
}

function expansionOutcome(settled: PromiseSettledResult<unknown>): 'ok' | 'timeout' | 'failed' {
  if (settled.status === 'fulfilled') return 'ok';
  return kindOf(settled.reason) === 'DEADLINE_EXCEEDED' ? 'timeout' : 'failed';
}

/**
 * A separate graph may lack what the tables have: it is new, another backend was used for a while, or chunks wait for
 * repair. Fails as the graph does.
 */
async function warnIfGraphIsBehind(
  { graph, store, onGraphBehind }: ExpansionDeps,
  spaceId: number,
  eventIds: readonly string[],
  warnings: Set<string>,
  signal: AbortSignal,
): Promise<void> {
  if (!graph.isSeparateStore || eventIds.length === 0) return;
  const [missing, waiting] = await Promise.all([
    graph.missing(spaceId, eventIds, signal),
    store.countWaitingForGraph(spaceId, signal),
  ]);
  if (missing > 0) {
    warnings.add(
      `The graph is behind (events of these results that it lacks: ${missing} of ${eventIds.length}): related items may be missing. "headworks graph rebuild" adds everything.`,
    );
    onGraphBehind?.();
  }
  if (waiting > 0)
    warnings.add(
      `Chunks of this space that are not in the graph yet: ${waiting}; related items through them are missing. "headworks repair" adds them.`,
    );
}

/** One group per result as long as groups remain; each event once. */
function groupSeeds(seeds: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const size = Math.ceil(seeds.length / maxGroups);
  const seen = new Set<string>();
  const groups: string[][] = [];
  for (let first = 0; first < seeds.length; first += size) {
    const fresh = seeds
      .slice(first, first + size)
      .flat()
      .filter((id) => !seen.has(id));
    for (const id of fresh) seen.add(id);
    if (fresh.length > 0) groups.push([...new Set(fresh)]);
  }
  return groups;
}

async function expandSeeds(
  { graph, store }: ExpansionDeps,
  request: ExpansionRequest,
  signal: AbortSignal,
): Promise<FoundRelated> {
  const related = await graph.expand(request, signal);
  const ids = related.map(({ eventId }) => eventId);
  return { related, items: await store.events(request.spaceId, ids, signal) };
}

function report(
  { graph, ledger, log, options }: ExpansionDeps,
  { spaceId, seeds }: { readonly spaceId: number; readonly seeds: number },
  error: unknown,
  isPart: boolean,
  warnings: Set<string>,
): void {
  const cause = kindOf(error);
  const message =
    cause === 'DEADLINE_EXCEEDED'
      ? `Graph expansion timed out after ${options.expansionTimeoutMs} ms; ${isPart ? 'related items are incomplete' : 'there are no related items'}.`
      : `Graph expansion ${isPart ? 'incomplete' : 'unavailable'}: ${messageOf(error)}`;
  warnings.add(message);
  const details = { space_id: spaceId, backend: graph.backend, seeds };
  log.warn('graph expansion failed', { ...details, cause, error });
  void ledger.record({
    kind: searchDegradations.expansion,
    subject: String(spaceId),
    cause,
    message,
    details,
  });
}

/** The events of each of the first results. A result whose events cannot be loaded in time is not expanded. */
async function findSeeds(
  { store, clock, options, log, ledger }: ExpansionDeps,
  spaceId: number,
  hits: readonly RankedChunk[],
  warnings: Set<string>,
  signal: AbortSignal,
): Promise<readonly (readonly string[])[]> {
  const skipped: { readonly chunkId: number; readonly cause: string }[] = [];
  const found = await Promise.all(
    hits.map(async ({ chunkId }) => {
      try {
        return await withTimeout((expired) => store.eventIdsOf(spaceId, chunkId, expired), {
          clock,
          timeoutMs: options.chunkLookupTimeoutMs,
          operation: 'chunk lookup',
          signal,
        });
      } catch (error) {
        signal.throwIfAborted();
        skipped.push({ chunkId, cause: kindOf(error) });
        return [];
      }
    }),
  );
  const [first] = skipped;
  if (first) {
    const message = `Not every result was expanded (omitted: ${skipped.length} of ${hits.length}): their events could not be loaded.`;
    const details = { space_id: spaceId, chunk_ids: skipped.map(({ chunkId }) => chunkId) };
    warnings.add(message);
    log.warn('events of search results could not be loaded', { ...details, cause: first.cause });
    const { lookup: kind } = searchDegradations;
    void ledger.record({ kind, subject: String(spaceId), cause: first.cause, message, details });
  }
  return found;
}

// Merges what the groups found: each event once, those that share most with the results first.

export interface FoundRelated {
  readonly related: readonly RelatedEvent[];
  /** Details of the events; deleted ones are missing. */
  readonly items: readonly Omit<RelatedItem, 'reason'>[];
}

interface Joined {
  readonly best: RelatedEvent;
  /** By shared entity: counts once even if shared with two results. */
  readonly scores: Map<string, number>;
}

export function mergeRelated(found: readonly FoundRelated[], budget: number): readonly RelatedItem[] {
  const items = new Map(found.flatMap((part) => part.items.map((item) => [item.id, item] as const)));
  const joined = new Map<string, Joined>();
  for (const event of found.flatMap(({ related }) => related)) {
    const { best, scores } = joined.get(event.eventId) ?? { best: event, scores: new Map<string, number>() };
    scores.set(event.viaEntityId, Math.max(scores.get(event.viaEntityId) ?? 0, event.score));
    joined.set(event.eventId, { best: event.score > best.score ? event : best, scores });
  }
  const sum = ({ scores }: Joined): number => [...scores.values()].reduce((all, one) => all + one, 0);
  return [...joined.values()]
    .toSorted((a, b) => sum(b) - sum(a) || (a.best.eventId < b.best.eventId ? 1 : -1))
    .flatMap(({ best: { eventId, reason } }) => {
      const item = items.get(eventId);
      return item ? [{ ...item, reason }] : [];
    })
    .slice(0, budget);
}
