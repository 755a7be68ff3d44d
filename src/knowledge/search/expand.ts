// Follows the first results into the graph: events that share an actor or a subject with theirs. Whatever fails here costs
// the related items it would have found, never the results, and is said in the answer and in the ledger.
import type { Clock, Log } from '../../core/index.ts';
import { abortable, kindOf, messageOf } from '../../core/index.ts';
import type { LedgerRecorder } from '../../ledger/index.ts';
import { withDeadline } from '../../resilience/index.ts';
import type { ExpansionRequest, Graph, RelatedEvent } from '../graph/graph.ts';
import type { KnowledgeOptions } from '../options.ts';
import type { SearchStore } from './results.ts';
import type { LexicalHit, RelatedItem, SearchRequest, Warnings } from './types.ts';

export interface ExpansionDeps {
  readonly graph: Pick<Graph, 'backend' | 'isSeparateStore' | 'expand' | 'missing'>;
  readonly store: Pick<SearchStore, 'eventsOf' | 'events' | 'waitingForGraph'>;
  /** The graph lacks what the tables have: somebody should look why. */
  readonly onGraphBehind?: () => void;
  readonly ledger: LedgerRecorder;
  readonly clock: Clock;
  readonly log: Log;
  readonly options: Pick<KnowledgeOptions, 'expansionTimeoutMs' | 'chunkLookupTimeoutMs'>;
}

/** Rows of the ledger; their subjects are spaces. */
export const expansionDegradations = {
  /** The graph was away, or did not answer in time. */
  expansion: 'knowledge.expansion-failed',
  /** The events of a result could not be looked up; `chunk_ids` says of which. */
  lookup: 'knowledge.chunk-lookup-failed',
} as const;

export interface ExpansionInput {
  readonly spaceId: number;
  readonly hits: readonly LexicalHit[];
  readonly request: Pick<SearchRequest, 'graphBudget' | 'graphSeedLimit' | 'graphFilters'>;
}

/**
 * Results are followed in so many parts at most, side by side: when time runs out, what some of them found is there. One
 * part for each of the usual three; many seeds do not take all connections of the store.
 */
const mostParts = 4;

/**
 * Related items, the nearest first: as many as were found in time. None when the graph is away. Fails only by the caller's
 * signal.
 */
export async function expandByGraph(
  parts: ExpansionDeps,
  { spaceId, hits, request }: ExpansionInput,
  warnings: Warnings,
  signal: AbortSignal,
): Promise<readonly RelatedItem[]> {
  const { graphBudget, graphSeedLimit, graphFilters } = request;
  if (graphBudget === 0 || graphSeedLimit === 0) return [];
  if (parts.graph.backend === 'off') {
    warnings.add('Graph expansion unavailable: the graph is switched off (GRAPH_BACKEND=off).');
    return [];
  }
  const seeds = await findSeeds(parts, spaceId, hits.slice(0, graphSeedLimit), warnings, signal);
  const deadline = withDeadline(signal, parts.options.expansionTimeoutMs, parts.clock, 'graph expansion');
  try {
    const exceptEventIds = seeds.flat();
    const behind = warnIfGraphIsBehind(parts, spaceId, exceptEventIds, warnings, deadline.signal);
    const outcomes = await Promise.allSettled(
      groupSeeds(seeds).map((seedEventIds) => {
        const wish = { spaceId, seedEventIds, exceptEventIds, budget: graphBudget };
        const categories = graphFilters.length === 0 ? {} : { categories: graphFilters };
        return expandSeeds(parts, { ...wish, ...categories }, deadline.signal);
      }),
    );
    await behind;
    signal.throwIfAborted();
    const found = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const failed = outcomes.find((one) => one.status === 'rejected');
    if (failed) report(parts, { spaceId, seeds: seeds.length }, failed.reason, found.length > 0, warnings);
    return mergeRelated(found, graphBudget);
  } finally {
    deadline.dispose();
  }
}

/**
 * A graph apart may lack what the tables have: it is new and empty, another backend was used for a while, or chunks wait
 * for their repair. Fails never: a graph that does not answer is said by whoever expands.
 */
async function warnIfGraphIsBehind(
  { graph, store, onGraphBehind }: ExpansionDeps,
  spaceId: number,
  eventIds: readonly string[],
  warnings: Warnings,
  signal: AbortSignal,
): Promise<void> {
  if (!graph.isSeparateStore || eventIds.length === 0) return;
  try {
    const [missing, waiting] = await abortable(
      Promise.all([graph.missing(spaceId, eventIds, signal), store.waitingForGraph(spaceId, signal)]),
      signal,
    );
    if (missing > 0) {
      warnings.add(
        `The graph has not caught up (events of these results that it lacks: ${missing} of ${eventIds.length}): what is related to them may be left out. "headworks graph rebuild" puts in everything.`,
      );
      onGraphBehind?.();
    }
    if (waiting > 0)
      warnings.add(
        `Chunks of this space that wait to be put into the graph: ${waiting}; what is related through them is left out. "headworks repair" puts them in.`,
      );
  } catch {
    // Said with the expansion, which asks the same graph.
  }
}

/** The best results alone, as long as there are parts left; the same event once. */
function groupSeeds(seeds: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const size = Math.ceil(seeds.length / mostParts);
  const seen = new Set<string>();
  const parts: string[][] = [];
  for (let first = 0; first < seeds.length; first += size) {
    const fresh = seeds
      .slice(first, first + size)
      .flat()
      .filter((id) => !seen.has(id));
    for (const id of fresh) seen.add(id);
    if (fresh.length > 0) parts.push([...new Set(fresh)]);
  }
  return parts;
}

async function expandSeeds(
  { graph, store }: ExpansionDeps,
  request: ExpansionRequest,
  signal: AbortSignal,
): Promise<FoundRelated> {
  const related = await abortable(graph.expand(request, signal), signal);
  const ids = related.map(({ eventId }) => eventId);
  return { related, items: await abortable(store.events(request.spaceId, ids, signal), signal) };
}

function report(
  { graph, ledger, log, options }: ExpansionDeps,
  { spaceId, seeds }: { readonly spaceId: number; readonly seeds: number },
  error: unknown,
  isPart: boolean,
  warnings: Warnings,
): void {
  const cause = kindOf(error);
  const message =
    cause === 'DEADLINE_EXCEEDED'
      ? `Graph expansion timed out after ${options.expansionTimeoutMs} ms; only ${isPart ? 'what was found by then is related' : 'the results themselves are shown'}.`
      : `Graph expansion ${isPart ? 'incomplete' : 'unavailable'}: ${messageOf(error)}`;
  warnings.add(message);
  const details = { space_id: spaceId, backend: graph.backend, seeds };
  log.warn('graph expansion failed', { ...details, cause, error });
  void ledger.record({
    kind: expansionDegradations.expansion,
    subject: String(spaceId),
    cause,
    message,
    details,
  });
}

/** Events of each of the first results. A result whose events cannot be found in time is not followed. */
async function findSeeds(
  { store, clock, options, log, ledger }: ExpansionDeps,
  spaceId: number,
  hits: readonly LexicalHit[],
  warnings: Warnings,
  signal: AbortSignal,
): Promise<readonly (readonly string[])[]> {
  const skipped: { readonly chunkId: number; readonly cause: string }[] = [];
  const found = await Promise.all(
    hits.map(async ({ chunkId }) => {
      const deadline = withDeadline(signal, options.chunkLookupTimeoutMs, clock, 'chunk lookup');
      try {
        return await abortable(store.eventsOf(spaceId, chunkId, deadline.signal), deadline.signal);
      } catch (error) {
        signal.throwIfAborted();
        skipped.push({ chunkId, cause: kindOf(error) });
        return [];
      } finally {
        deadline.dispose();
      }
    }),
  );
  const [first] = skipped;
  if (first) {
    const message = `Not every result was followed (left out: ${skipped.length} of ${hits.length}): events could not be looked up.`;
    const details = { space_id: spaceId, chunk_ids: skipped.map(({ chunkId }) => chunkId) };
    warnings.add(message);
    log.warn('the events of results were not found', { ...details, cause: first.cause });
    const { lookup: kind } = expansionDegradations;
    void ledger.record({ kind, subject: String(spaceId), cause: first.cause, message, details });
  }
  return found;
}

// Puts together what several parts of an expansion found: each event once, those that share most with the results first.

export interface FoundRelated {
  readonly related: readonly RelatedEvent[];
  /** What can be shown of them; one that is gone by now is not here. */
  readonly items: readonly Omit<RelatedItem, 'reason'>[];
}

interface Joined {
  readonly best: RelatedEvent;
  /** By entity that is shared: shared with two results it counts once. */
  readonly scores: Map<string, number>;
}

export function mergeRelated(parts: readonly FoundRelated[], budget: number): readonly RelatedItem[] {
  const items = new Map(parts.flatMap((part) => part.items.map((item) => [item.id, item] as const)));
  const joined = new Map<string, Joined>();
  for (const event of parts.flatMap(({ related }) => related)) {
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
