// Follows the first results into the graph: events that share an actor or a subject with theirs. Whatever fails here costs
// the related items, never the results, and is said in the answer and in the ledger.
import type { Clock, Log } from '../../core/index.ts';
import { abortable, kindOf, messageOf } from '../../core/index.ts';
import type { LedgerRecorder } from '../../ledger/index.ts';
import { withDeadline } from '../../resilience/index.ts';
import type { KnowledgeOptions } from '../options.ts';
import type { Graph, LexicalHit, RelatedEvent, RelatedItem, SearchRequest } from '../ports.ts';
import type { SearchStore } from './search-store.ts';
import type { Warnings } from './warnings.ts';

export interface ExpansionParts {
  readonly graph: Pick<Graph, 'backend' | 'expand'>;
  readonly store: Pick<SearchStore, 'eventsOf' | 'events'>;
  readonly ledger: LedgerRecorder;
  readonly clock: Clock;
  readonly log: Log;
  readonly options: Pick<KnowledgeOptions, 'expansionTimeoutMs' | 'chunkLookupTimeoutMs'>;
}

/** A row of the ledger; its subject is the space. */
export const expansionFailed = 'knowledge.expansion-failed';

export interface ExpansionWish {
  readonly spaceId: number;
  readonly hits: readonly LexicalHit[];
  readonly request: Pick<SearchRequest, 'graphBudget' | 'graphSeedLimit' | 'graphFilters'>;
}

/** Related items, the nearest first; none when the graph is away or took too long. Fails only by the caller's signal. */
export async function expandByGraph(
  parts: ExpansionParts,
  { spaceId, hits, request }: ExpansionWish,
  warnings: Warnings,
  signal: AbortSignal,
): Promise<readonly RelatedItem[]> {
  const { graphBudget, graphSeedLimit, graphFilters } = request;
  if (graphBudget === 0 || graphSeedLimit === 0) return [];
  if (parts.graph.backend === 'off') {
    warnings.add('Graph expansion unavailable: the graph is switched off (GRAPH_BACKEND=off).');
    return [];
  }
  const seeds = await seedsOf(parts, spaceId, hits.slice(0, graphSeedLimit), warnings, signal);
  if (seeds.length === 0) return [];
  const deadline = withDeadline(signal, parts.options.expansionTimeoutMs, parts.clock, 'graph expansion');
  try {
    const related = await abortable(
      parts.graph.expand(
        {
          spaceId,
          seedEventIds: seeds,
          budget: graphBudget,
          ...(graphFilters.length === 0 ? {} : { categories: graphFilters }),
        },
        deadline.signal,
      ),
      deadline.signal,
    );
    const events = related.map(({ eventId }) => eventId);
    const items = await abortable(parts.store.events(spaceId, events, deadline.signal), deadline.signal);
    return inOrder(related.slice(0, graphBudget), items);
  } catch (error) {
    signal.throwIfAborted();
    const { message } = explained(error, parts.options.expansionTimeoutMs);
    warnings.add(message);
    parts.log.warn('graph expansion failed', {
      space_id: spaceId,
      seeds: seeds.length,
      cause: kindOf(error),
      error,
    });
    void parts.ledger.record({
      kind: expansionFailed,
      subject: String(spaceId),
      cause: kindOf(error),
      message,
      details: { space_id: spaceId, seeds: seeds.length, backend: parts.graph.backend },
    });
    return [];
  } finally {
    deadline.dispose();
  }
}

/** Events of the first results, together. A result whose events cannot be found in time is not followed. */
async function seedsOf(
  { store, clock, options, log }: ExpansionParts,
  spaceId: number,
  hits: readonly LexicalHit[],
  warnings: Warnings,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const found = await Promise.all(
    hits.map(async ({ chunkId }) => {
      const deadline = withDeadline(signal, options.chunkLookupTimeoutMs, clock, 'chunk lookup');
      try {
        return await abortable(store.eventsOf(spaceId, chunkId, deadline.signal), deadline.signal);
      } catch (error) {
        signal.throwIfAborted();
        log.warn('the events of a result were not found', {
          space_id: spaceId,
          chunk_id: chunkId,
          cause: kindOf(error),
        });
        return null;
      } finally {
        deadline.dispose();
      }
    }),
  );
  const skipped = found.filter((events) => events === null).length;
  if (skipped > 0)
    warnings.add(
      `Not every result was followed (left out: ${skipped} of ${hits.length}): events could not be looked up.`,
    );
  return [...new Set(found.flatMap((events) => events ?? []))];
}

function inOrder(
  related: readonly RelatedEvent[],
  items: readonly Omit<RelatedItem, 'reason'>[],
): readonly RelatedItem[] {
  const byId = new Map(items.map((item) => [item.id, item]));
  return related.flatMap(({ eventId, reason }) => {
    const item = byId.get(eventId);
    return item ? [{ ...item, reason }] : [];
  });
}

function explained(error: unknown, timeoutMs: number): { readonly message: string } {
  return {
    message:
      kindOf(error) === 'DEADLINE_EXCEEDED'
        ? `Graph expansion timed out after ${timeoutMs} ms; only the results themselves are shown.`
        : `Graph expansion unavailable: ${messageOf(error)}`,
  };
}
