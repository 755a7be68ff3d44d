// What the graph lacks because it was away or refused it: put in again, or taken out at last.
import type { Clock } from '../../core/index.ts';
import { isUuid } from '../../core/index.ts';
import type { LedgerEntry, RegisteredRepair, RepairOutcome } from '../../ledger/index.ts';
import type { GraphSyncDeps } from '../graph/graph-sync.ts';
import { graphDegradations, GraphSync } from '../graph/graph-sync.ts';
import type { KnowledgeOptions } from '../options.ts';
import type { ArtifactStore } from '../ports.ts';
import { expansionDegradations } from '../search/expand.ts';
import { gone, inTime, noopLedger, repaired, spaceOf, stillBroken } from './outcomes.ts';

export interface GraphRepairParts extends Omit<GraphSyncDeps, 'artifacts'> {
  readonly artifacts: Pick<ArtifactStore, 'saveSteps' | 'chunk' | 'revision'>;
  readonly clock: Clock;
  readonly options: Pick<KnowledgeOptions, 'expansionTimeoutMs'>;
}

/** Kinds that can be repaired as soon as the graph is back. */
export const graphKinds = [
  graphDegradations.skipped,
  graphDegradations.failed,
  expansionDegradations.expansion,
] as const;

export function graphRepairs(parts: GraphRepairParts): readonly RegisteredRepair[] {
  const keeper = new GraphSync({ ...parts, ledger: noopLedger });
  const repair = (entry: LedgerEntry, signal: AbortSignal) => putAgain(parts, keeper, entry, signal);
  return [
    {
      kind: graphDegradations.skipped,
      describe: 'Puts into the graph what it missed while it was away.',
      repair,
    },
    { kind: graphDegradations.failed, describe: 'Puts into the graph what it did not take.', repair },
    {
      kind: expansionDegradations.expansion,
      describe: 'Expands a few events of the space within the time that a search allows.',
      repair: (entry, signal) => expandAgain(parts, entry, signal),
    },
  ];
}

async function putAgain(
  parts: GraphRepairParts,
  keeper: GraphSync,
  entry: LedgerEntry,
  signal: AbortSignal,
): Promise<RepairOutcome> {
  if (!keeper.isWanted) return gone;
  const spaceId = spaceOf(entry);
  if (entry.subject.startsWith('space:')) return pruneAgain(parts, spaceId, signal);
  if (isUuid(entry.subject)) {
    const problem = await keeper.refresh(spaceId, [entry.subject], signal);
    return problem === null ? repaired : stillBroken(problem);
  }
  return putChunkAgain(parts, keeper, spaceId, Number(entry.subject), signal);
}

async function putChunkAgain(
  { artifacts }: GraphRepairParts,
  keeper: GraphSync,
  spaceId: number,
  chunkId: number,
  signal: AbortSignal,
): Promise<RepairOutcome> {
  const chunk = await artifacts.chunk(spaceId, chunkId);
  const revision = chunk && (await artifacts.revision(spaceId, chunk.revisionId));
  if (!revision?.isLatest) return gone;
  const marks = await keeper.put(spaceId, [chunkId], signal);
  await artifacts.saveSteps(spaceId, marks);
  const [mark] = marks;
  if (!mark) return gone;
  return mark.status === 'done'
    ? repaired
    : stillBroken(`${mark.message ?? ''} (${mark.cause ?? 'unknown'})`);
}

async function pruneAgain(
  { graph }: GraphRepairParts,
  spaceId: number,
  signal: AbortSignal,
): Promise<RepairOutcome> {
  const state = await graph.availability(signal);
  if (state.state === 'unavailable') return stillBroken(`${state.reason} ${state.remedy}`);
  await graph.prune(spaceId, signal);
  return repaired;
}

const tryOutEvents = 5;

async function expandAgain(
  { graph, source, clock, options }: GraphRepairParts,
  entry: LedgerEntry,
  signal: AbortSignal,
): Promise<RepairOutcome> {
  if (graph.backend === 'off') return gone;
  const spaceId = Number(entry.subject);
  const seedEventIds = await source.sampleEvents(spaceId, tryOutEvents);
  if (seedEventIds.length === 0) return gone;
  return inTime(options.expansionTimeoutMs, clock, 'graph expansion', signal, (within) =>
    graph.expand({ spaceId, seedEventIds, budget: 10 }, within),
  );
}
