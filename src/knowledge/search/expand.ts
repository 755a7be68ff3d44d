// Expands the first results through the graph: events that share an actor or a subject with theirs. A failure costs
// related items, never results, and appears in the response's warning and in the ledger.
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
  readonly store: Pick<SearchStore, 'eventIdsOf' | 'events' | 'countWaitingForGraph'>;
  /** Called when the graph lacks events that the tables have. */
  readonly onGraphBehind?: () => void;
  readonly ledger: LedgerRecorder;
  readonly clock: Clock;
  readonly log: Log;
  readonly options: Pick<KnowledgeOptions, 'expansionTimeoutMs' | 'chunkLookupTimeoutMs'>;
}

/** Ledger kinds; the subject is the space. */
export const expansionDegradations = {
  /** The graph was unavailable or too slow. */
  expansion: 'knowledge.expansion-failed',
  /** The events of a result could not be loaded; `chunk_ids` says which. */
  lookup: 'knowledge.chunk-lookup-failed',
} as const;

export interface ExpansionInput {
  readonly spaceId: number;
  readonly hits: readonly LexicalHit[];
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
  warnings: Warnings,
  signal: AbortSignal,
): Promise<readonly RelatedItem[]> {
  const { graphBudget, graphSeedLimit, graphFilters } = request;
  if (graphBudget === 0 || graphSeedLimit === 0) return [];
  if (deps.graph.backend === 'off') {
    warnings.add('Graph expansion unavailable: the graph is switched off (GRAPH_BACKEND=off).');
    return [];
  }
  const seeds = await findSeeds(deps, spaceId, hits.slice(0, graphSeedLimit), warnings, signal);
  const deadline = withDeadline(signal, deps.options.expansionTimeoutMs, deps.clock, 'graph expansion');
  try {
    const exceptEventIds = seeds.flat();
    const behind = warnIfGraphIsBehind(deps, spaceId, exceptEventIds, warnings, deadline.signal);
    const outcomes = await Promise.allSettled(
      groupSeeds(seeds).map((seedEventIds) => {
        const input = { spaceId, seedEventIds, exceptEventIds, budget: graphBudget };
        const categories = graphFilters.length === 0 ? {} : { categories: graphFilters };
        return expandSeeds(deps, { ...input, ...categories }, deadline.signal);
      }),
    );
    await behind;
    signal.throwIfAborted();
    const found = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const failed = outcomes.find((one) => one.status === 'rejected');
    if (failed) report(deps, { spaceId, seeds: seeds.length }, failed.reason, found.length > 0, warnings);
    return mergeRelated(found, graphBudget);
  } finally {
    deadline.dispose();
  }
}

/**
 * A separate graph may lack what the tables have: it is new, another backend was used for a while, or chunks wait for
 * repair. Never fails: the expansion reports an unavailable graph.
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
      Promise.all([graph.missing(spaceId, eventIds, signal), store.countWaitingForGraph(spaceId, signal)]),
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
    // Reported by the expansion, which calls the same graph.
  }
}

/** One group per result as long as groups remain; each event once. */
function groupSeeds(seeds: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const size = Math.ceil(seeds.length / maxGroups);
  const seen = new Set<string>();
  const deps: string[][] = [];
  for (let first = 0; first < seeds.length; first += size) {
    const fresh = seeds
      .slice(first, first + size)
      .flat()
      .filter((id) => !seen.has(id));
    for (const id of fresh) seen.add(id);
    if (fresh.length > 0) deps.push([...new Set(fresh)]);
  }
  return deps;
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

/** The events of each of the first results. A result whose events cannot be loaded in time is not expanded. */
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
        return await abortable(store.eventIdsOf(spaceId, chunkId, deadline.signal), deadline.signal);
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

export function mergeRelated(deps: readonly FoundRelated[], budget: number): readonly RelatedItem[] {
  const items = new Map(deps.flatMap((part) => part.items.map((item) => [item.id, item] as const)));
  const joined = new Map<string, Joined>();
  for (const event of deps.flatMap(({ related }) => related)) {
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
