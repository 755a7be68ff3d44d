// What searches went without: tried again, so that the row closes when the part is back.
import type { Clock } from '../../core/index.ts';
import type { LedgerEntry, RegisteredRepair, RepairOutcome } from '../../ledger/index.ts';
import type { KnowledgeOptions } from '../options.ts';
import type { Embedders } from '../ports.ts';
import { expansionDegradations } from '../search/expand.ts';
import { searchWithoutVectors } from '../search/rank.ts';
import type { SearchStore } from '../search/results.ts';
import type { VectorIndex } from '../vectors/vector-index.ts';
import { gone, inTime, repaired, spaceOf } from './outcomes.ts';

export interface SearchRepairParts {
  readonly embedders: Embedders;
  readonly vectors: Pick<VectorIndex, 'capability' | 'nearest'>;
  readonly store: Pick<SearchStore, 'eventsOf'>;
  readonly clock: Clock;
  readonly options: Pick<KnowledgeOptions, 'embeddingTimeoutMs' | 'chunkLookupTimeoutMs'>;
}

/** Any text serves to see whether somebody embeds. */
const tryOutText = 'Does search have vectors again?';

export function searchRepairs(parts: SearchRepairParts): readonly RegisteredRepair[] {
  return [
    {
      kind: searchWithoutVectors,
      describe: 'Embeds a text and compares it, as a search does.',
      repair: (entry, signal) => compareAgain(parts, entry, signal),
    },
    {
      kind: expansionDegradations.lookup,
      describe:
        'Looks up the events of the results that were not followed, within the time that a search allows.',
      repair: (entry, signal) => lookUpAgain(parts, entry, signal),
    },
  ];
}

async function compareAgain(
  { embedders, vectors, clock, options }: SearchRepairParts,
  entry: LedgerEntry,
  signal: AbortSignal,
): Promise<RepairOutcome> {
  const state = embedders.current();
  // Another model embeds by now, or nobody, or nothing can be compared: no search misses this one.
  if (state.state === 'not-configured' || state.embedder.model !== entry.subject) return gone;
  if (!vectors.capability.available) return gone;
  const { embedder } = state;
  return inTime(options.embeddingTimeoutMs, clock, 'embedding', signal, async (within) => {
    const [vector] = await embedder.embed([tryOutText], within);
    if (vector) await vectors.nearest(spaceOf(entry), embedder.model, vector, 1, {}, within);
  });
}

async function lookUpAgain(
  { store, clock, options }: SearchRepairParts,
  entry: LedgerEntry,
  signal: AbortSignal,
): Promise<RepairOutcome> {
  const { chunk_ids: ids } = entry.details;
  for (const chunkId of Array.isArray(ids) ? ids : []) {
    const outcome = await inTime(options.chunkLookupTimeoutMs, clock, 'chunk lookup', signal, (within) =>
      store.eventsOf(spaceOf(entry), Number(chunkId), within),
    );
    if (outcome.outcome !== 'repaired') return outcome;
  }
  return repaired;
}
