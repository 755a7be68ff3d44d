// Repairs of degraded chunks, files, entities, graph and search, one per ledger kind.
import type { Clock } from '../../core/index.ts';
import { HeadworksError, abortable, isUuid, kindOf, messageOf } from '../../core/index.ts';
import type { LedgerEntry, LedgerRecorder, RegisteredRepair, RepairOutcome } from '../../ledger/index.ts';
import { withDeadline } from '../../resilience/index.ts';
import { ingestDegradations, isFatalForJob, truncationOf } from '../degradations.ts';
import type { PairStore } from '../entities/pair-store.ts';
import type { EntityRepairs } from '../entities/reconcile.ts';
import { repairOfEntity } from '../entities/reconcile.ts';
import { resolutionLedgerKinds } from '../entities/resolve-mentions.ts';
import type { Folders } from '../folders/folders.ts';
import type { GraphSyncDeps } from '../graph/graph-sync.ts';
import { GraphSync, graphDegradations } from '../graph/graph-sync.ts';
import { embedChunks } from '../ingest/embed-step.ts';
import type { ReadChunkTask } from '../ingest/read-step.ts';
import { readByModel, readingOf, recordTruncation, writeReading } from '../ingest/read-step.ts';
import type { IngestDeps } from '../ingest/deps.ts';
import type { KnowledgeOptions } from '../options.ts';
import type { ArtifactStore } from '../artifacts/artifact-store.ts';
import type { ChunkStepResult } from '../artifacts/types.ts';
import type { Embedders } from '../vectors/types.ts';
import type { Reading } from '../reading/types.ts';
import { expansionDegradations } from '../search/expand.ts';
import { searchWithoutVectors } from '../search/vector-source.ts';
import type { SearchStore } from '../search/results.ts';
import { billingCaller } from '../spaces/spaces.ts';
import type { VectorIndex } from '../vectors/vector-index.ts';

const repaired: RepairOutcome = { outcome: 'repaired' };
const gone: RepairOutcome = { outcome: 'gone' };
const stillBroken = (reason: string): RepairOutcome => ({ outcome: 'still-broken', reason });

/** For work that is repeated because of a row: its failure is the repair's outcome, not another row. */
const noopLedger: LedgerRecorder = { record: async () => undefined };

/** The space that a row of knowledge is about; 0, which is none, when it does not say. */
const spaceOf = ({ details }: Pick<LedgerEntry, 'details'>): number => Number(details['space_id'] ?? 0);

/** Repaired if `work` is done within the time that a search allows it. Fails only when `signal` is aborted. */
async function inTime(
  timeoutMs: number,
  clock: Clock,
  budget: string,
  signal: AbortSignal,
  work: (within: AbortSignal) => Promise<unknown>,
): Promise<RepairOutcome> {
  const deadline = withDeadline(signal, timeoutMs, clock, budget);
  try {
    await abortable(work(deadline.signal), deadline.signal);
    return repaired;
  } catch (error) {
    signal.throwIfAborted();
    return stillBroken(messageOf(error));
  } finally {
    deadline.dispose();
  }
}

/** Why a chunk is to be read again that nobody failed to read. */
export const modelCameLater = 'MODEL_NOT_CONFIGURED';

export function chunkRepairs(
  parts: IngestDeps & { readonly options: Pick<KnowledgeOptions, 'backfill'> },
): readonly RegisteredRepair[] {
  return [
    {
      kind: ingestDegradations.notRead,
      describe: 'Reads the chunk again.',
      // Rules that read it because a model failed are a degradation of their own.
      repair: (entry, signal) => readAgain(parts, entry, signal, (task) => readingOf(parts, task, signal)),
    },
    {
      kind: ingestDegradations.truncated,
      describe: 'Reads the chunk again whose reading was too large to be taken whole.',
      repair: (entry, signal) => {
        const model = parts.readers.model();
        // What is there of a model's reading is not given for what rules find.
        return readAgain(parts, entry, signal, (task) =>
          model ? readByModel(parts, model, task, signal) : readingOf(parts, task, signal),
        );
      },
    },
    {
      kind: ingestDegradations.readByRules,
      describe: 'Lets a model read the chunk that rules have read.',
      repair: async (entry, signal) => {
        const model = parts.readers.model();
        // No model is wanted here any more: what rules read is what was asked for.
        if (!model || (entry.cause === modelCameLater && !parts.options.backfill)) return gone;
        return readAgain(parts, entry, signal, (task) => readByModel(parts, model, task, signal));
      },
    },
    {
      kind: ingestDegradations.notEmbedded,
      describe: 'Makes the vector that the chunk lacks.',
      repair: (entry, signal) => embedAgain({ ...parts, ledger: noopLedger }, entry, signal),
    },
  ];
}

/** The chunk with its revision and who pays; null when it is gone, or a newer revision took its place. */
async function taskOf(parts: IngestDeps, entry: LedgerEntry): Promise<ReadChunkTask | null> {
  const spaceId = spaceOf(entry);
  const space = await parts.spaces.get(spaceId);
  const chunk = space && (await parts.artifacts.chunk(spaceId, Number(entry.subject)));
  const revision = chunk && (await parts.artifacts.revision(spaceId, chunk.revisionId));
  if (!space || !chunk || !revision?.isLatest) return null;
  return { chunk, revision, caller: billingCaller(space) };
}

async function readAgain(
  parts: IngestDeps,
  entry: LedgerEntry,
  signal: AbortSignal,
  read: (task: ReadChunkTask) => Promise<Reading>,
): Promise<RepairOutcome> {
  const task = await taskOf(parts, entry);
  if (!task) return gone;
  const { spaceId, chunkId } = task.chunk;
  let reading: Reading;
  try {
    reading = await read(task);
  } catch (error) {
    if (isFatalForJob(error, signal)) throw error;
    return stillBroken(`It could not be read: ${kindOf(error)}.`);
  }
  // The row that is being repaired is open already: a failure is told by the outcome.
  const mark = await writeReading({ ...parts, ledger: noopLedger }, task, reading, signal);
  await parts.artifacts.saveSteps(spaceId, [mark]);
  if (mark.status !== 'done') return stillBroken(`What was read could not be written: ${mark.cause ?? ''}.`);
  // Other events stand there now. A graph that does not take them has a row of its own.
  if (parts.graph.isWanted)
    await parts.artifacts.saveSteps(spaceId, await parts.graph.put(spaceId, [chunkId], signal));
  const left = truncationOf(mark);
  if (left && entry.kind === ingestDegradations.truncated) return stillBroken(left.message);
  recordTruncation(parts, task, mark);
  return repaired;
}

async function embedAgain(
  parts: IngestDeps,
  entry: LedgerEntry,
  signal: AbortSignal,
): Promise<RepairOutcome> {
  const state = parts.embedders.current();
  // Nobody embeds any more: then no vector is missing either.
  if (state.state === 'not-configured') return gone;
  const task = await taskOf(parts, entry);
  if (!task) return gone;
  if (isDoneBy(await embedMark(parts, task), state.embedder.model)) return repaired;
  await embedChunks(parts, task.revision.title, [task.chunk], signal);
  const mark = await embedMark(parts, task);
  return isDoneBy(mark, state.embedder.model)
    ? repaired
    : stillBroken(mark?.message ?? `${state.embedder.model} made no vector of it.`);
}

async function embedMark(
  { artifacts }: IngestDeps,
  { chunk }: ReadChunkTask,
): Promise<ChunkStepResult | undefined> {
  const marks = await artifacts.steps(chunk.revisionId);
  return marks.find(({ chunkId, step }) => chunkId === chunk.chunkId && step === 'embed');
}

const isDoneBy = (mark: ChunkStepResult | undefined, model: string): boolean =>
  mark?.status === 'done' && mark.method === model;

export function folderRepairs(folders: Pick<Folders, 'retry'>): readonly RegisteredRepair[] {
  return [
    {
      kind: ingestDegradations.fileNotIngested,
      describe: 'Tries the file of a watched or scheduled folder again.',
      repair: async ({ details }, signal) => {
        try {
          const outcome = await folders.retry(String(details['folder_id']), String(details['path']), signal);
          return outcome === 'gone' ? gone : repaired;
        } catch (error) {
          if (isFatalForJob(error, signal)) throw error;
          return stillBroken(
            error instanceof HeadworksError ? messageOf(error) : `It cannot be read: ${kindOf(error)}.`,
          );
        }
      },
    },
  ];
}

export interface EntityRepairParts {
  readonly entities: EntityRepairs;
  readonly pairs: Pick<PairStore, 'listUnconfirmed'>;
  /** A model that settles doubtful names is configured and wanted. */
  readonly canUseModel: () => boolean;
  readonly options: Pick<KnowledgeOptions, 'backfill'>;
}

/** Its one subject stands for all pairs. */
export const pairsNotAsked = { kind: 'knowledge.pairs-unconfirmed', subject: 'pairs' } as const;

/** Pairs that are put to a model in one go. */
const pairsAtOnce = 20;

export function registeredEntityRepairs(parts: EntityRepairParts): readonly RegisteredRepair[] {
  const { entities } = parts;
  const kinds = resolutionLedgerKinds;
  return [
    {
      kind: kinds['embedding-missing'],
      describe: 'Makes the vector that the entity lacks, then looks for duplicates again.',
      repair: repairOfEntity((id, signal) => entities.retryEmbedding(id, signal)),
    },
    {
      kind: kinds['candidates-unknown'],
      describe: 'Looks again whether the entity is known already.',
      repair: repairOfEntity((id, signal) => entities.retryCandidates(id, signal)),
    },
    {
      kind: kinds['confirmation-failed'],
      describe: 'Asks a model again whether the entity is one it may be.',
      repair: repairOfEntity((id, signal) => entities.retryConfirmation(id, signal)),
    },
    {
      kind: kinds['resolution-failed'],
      describe: 'Resolves the entity again.',
      repair: repairOfEntity((id, signal) => entities.retryResolution(id, signal)),
    },
    {
      kind: pairsNotAsked.kind,
      describe: 'Asks a model about pairs that may be the same, which no model was asked about.',
      repair: (_entry, signal) => askAboutPairs(parts, signal),
    },
  ];
}

async function askAboutPairs(
  { entities, pairs, canUseModel, options }: EntityRepairParts,
  signal: AbortSignal,
): Promise<RepairOutcome> {
  if (!options.backfill || !canUseModel()) return gone;
  for (let before: string | undefined; ;) {
    await entities.confirmOpenPairs(pairsAtOnce, signal);
    const [next] = await pairs.listUnconfirmed(1);
    if (!next) return repaired;
    // The first that is left was left before: whoever was asked does not answer.
    if (next.pairId === before) return stillBroken('The model did not answer; pairs are still open.');
    before = next.pairId;
  }
}

interface GraphRepairParts extends Omit<GraphSyncDeps, 'artifacts'> {
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

interface SearchRepairParts {
  readonly embedders: Embedders;
  readonly vectors: Pick<VectorIndex, 'capability' | 'nearest'>;
  readonly store: Pick<SearchStore, 'eventIdsOf'>;
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
      store.eventIdsOf(spaceOf(entry), Number(chunkId), within),
    );
    if (outcome.outcome !== 'repaired') return outcome;
  }
  return repaired;
}
