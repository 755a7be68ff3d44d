// Repairs of degraded chunks, files, entities, graph and search, one per ledger kind.
import type { Clock } from '../../core/index.ts';
import { HeadworksError, withTimeout, isUuid, kindOf, messageOf } from '../../core/index.ts';
import type { LedgerEntry, RegisteredRepair, RepairOutcome } from '../../ledger/index.ts';
import type { ArtifactStore } from '../artifacts/artifact-store.ts';
import type { ChunkStepResult } from '../artifacts/types.ts';
import { ingestDegradations, isFatalForJob, noopLedger, truncationOf } from '../degradations.ts';
import { DocumentModel } from '../documents/document.ts';
import type { EntityRepairs } from '../entities/reconcile.ts';
import { resolutionLedgerKinds } from '../entities/resolve-mentions.ts';
import type { Folders } from '../folders/folders.ts';
import type { GraphSyncDeps } from '../graph/graph-sync.ts';
import { GraphSync, graphDegradations } from '../graph/graph-sync.ts';
import type { IngestDeps } from '../ingest/deps.ts';
import { embedChunks } from '../ingest/embed-step.ts';
import type { ReadTask } from '../ingest/read-step.ts';
import { readChunk, readWithModel, recordTruncation, writeReading } from '../ingest/read-step.ts';
import type { KnowledgeOptions } from '../options.ts';
import type { Reading } from '../reading/types.ts';
import { expansionDegradations } from '../search/expand.ts';
import { searchWithoutVectors } from '../search/vector-source.ts';
import type { SearchStore } from '../search/results.ts';
import { billingCaller } from '../spaces/spaces.ts';
import type { Embedders } from '../vectors/embedder.ts';
import type { VectorIndex } from '../vectors/vector-index.ts';

const repaired: RepairOutcome = { outcome: 'repaired' };
const gone: RepairOutcome = { outcome: 'gone' };
const stillBroken = (reason: string): RepairOutcome => ({ outcome: 'still-broken', reason });

/** The space of a ledger row; 0 matches none. */
const spaceOf = ({ details }: Pick<LedgerEntry, 'details'>): number => Number(details['space_id'] ?? 0);

/** Repaired if `work` completes within its timeout. Fails only when the signal aborts. */
async function probe(
  work: (within: AbortSignal) => Promise<unknown>,
  options: {
    readonly clock: Clock;
    readonly timeoutMs: number;
    readonly operation: string;
    readonly signal: AbortSignal;
  },
): Promise<RepairOutcome> {
  try {
    await withTimeout(work, options);
    return repaired;
  } catch (error) {
    options.signal.throwIfAborted();
    return stillBroken(messageOf(error));
  }
}

export function chunkRepairs(deps: IngestDeps): readonly RegisteredRepair[] {
  const loadTask = taskLoader(deps);
  return [
    {
      kind: ingestDegradations.notRead,
      describe: 'Reads the chunk again.',
      // A fallback to rules is a degradation of its own.
      repair: (entry, signal) =>
        reread(deps, loadTask, entry, signal, (task) => readChunk(deps, task, signal)),
    },
    {
      kind: ingestDegradations.truncated,
      describe: 'Reads a chunk again whose reading exceeded the limits of one chunk.',
      repair: (entry, signal) => {
        const model = deps.readers.model();
        // A reading by a model is not replaced by one by rules.
        return reread(deps, loadTask, entry, signal, (task) =>
          model ? readWithModel(deps, model, task, signal) : readChunk(deps, task, signal),
        );
      },
    },
    {
      kind: ingestDegradations.readByRules,
      describe: 'Reads a chunk with a model that was read by rules.',
      repair: async (entry, signal) => {
        const model = deps.readers.model();
        // Models are disabled: rules are what is configured.
        if (!model) return gone;
        return reread(deps, loadTask, entry, signal, (task) => readWithModel(deps, model, task, signal));
      },
    },
    {
      kind: ingestDegradations.notEmbedded,
      describe: 'Embeds a chunk that has no vector.',
      repair: (entry, signal) => reembed({ ...deps, ledger: noopLedger }, loadTask, entry, signal),
    },
  ];
}

type TaskLoader = (entry: LedgerEntry) => Promise<ReadTask | null>;

/** Null when the chunk is gone or superseded. Repairs run chunk by chunk: the last document model is kept. */
function taskLoader({ spaces, artifacts }: IngestDeps): TaskLoader {
  let last: { readonly revisionId: string; readonly document: DocumentModel } | null = null;
  return async (entry) => {
    const spaceId = spaceOf(entry);
    const space = await spaces.get(spaceId);
    const chunk = space && (await artifacts.chunk(spaceId, Number(entry.subject)));
    const revision = chunk && (await artifacts.revision(spaceId, chunk.revisionId));
    if (!space || !chunk || !revision?.isLatest) return null;
    const { revisionId } = revision;
    const document = last?.revisionId === revisionId ? last.document : new DocumentModel(revision);
    last = { revisionId, document };
    return { chunk, revision, document, caller: billingCaller(space) };
  };
}

async function reread(
  deps: IngestDeps,
  loadTask: TaskLoader,
  entry: LedgerEntry,
  signal: AbortSignal,
  read: (task: ReadTask) => Promise<Reading>,
): Promise<RepairOutcome> {
  const task = await loadTask(entry);
  if (!task) return gone;
  const { spaceId, chunkId } = task.chunk;
  let reading: Reading;
  try {
    reading = await read(task);
  } catch (error) {
    if (isFatalForJob(error, signal)) throw error;
    return stillBroken(`It could not be read: ${kindOf(error)}.`);
  }
  const result = await writeReading({ ...deps, ledger: noopLedger }, task, reading, signal);
  await deps.artifacts.saveSteps(spaceId, [result]);
  if (result.status !== 'done') return stillBroken(`The reading was not written: ${result.cause ?? ''}.`);
  // The chunk's events changed. A failure of the graph has its own ledger row.
  if (deps.graph.isWanted)
    await deps.artifacts.saveSteps(spaceId, await deps.graph.put(spaceId, [chunkId], signal));
  const truncation = truncationOf(result);
  if (truncation && entry.kind === ingestDegradations.truncated) return stillBroken(truncation.message);
  recordTruncation(deps, task, result);
  return repaired;
}

async function reembed(
  deps: IngestDeps,
  loadTask: TaskLoader,
  entry: LedgerEntry,
  signal: AbortSignal,
): Promise<RepairOutcome> {
  const state = deps.embedders.current();
  // Without an embedder no vector is missing.
  if (state.state === 'not-configured') return gone;
  const task = await loadTask(entry);
  if (!task) return gone;
  const { model } = state.embedder;
  const steps = await deps.artifacts.steps(task.chunk.revisionId);
  const isDone = ({ chunkId, step, status, method }: ChunkStepResult) =>
    chunkId === task.chunk.chunkId && step === 'embed' && status === 'done' && method === model;
  if (steps.some(isDone)) return repaired;
  const [result] = await embedChunks(deps, task.revision.title, [task.chunk], signal);
  return result?.status === 'done'
    ? repaired
    : stillBroken(result?.message ?? `${model} returned no vector for it.`);
}

export const folderRepair = (folders: Pick<Folders, 'retry'>): RegisteredRepair => ({
  kind: ingestDegradations.fileNotIngested,
  describe: 'Ingests a file of a scanned folder again.',
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
});

const entityReasons = {
  'embedding-missing': 'Embeds the entity, then checks it for duplicates again.',
  'candidates-unknown': 'Checks again whether the entity exists already.',
  'confirmation-failed': 'Calls a model again to confirm which entity it is.',
  'resolution-failed': 'Resolves the entity again.',
} as const;

export const entityRepairs = (entities: Pick<EntityRepairs, 'retry'>): readonly RegisteredRepair[] =>
  (Object.keys(entityReasons) as (keyof typeof entityReasons)[]).map((reason) => ({
    kind: resolutionLedgerKinds[reason],
    describe: entityReasons[reason],
    repair: ({ subject }, signal) => entities.retry(reason, subject, signal),
  }));

interface GraphRepairDeps extends Omit<GraphSyncDeps, 'artifacts'> {
  readonly artifacts: Pick<ArtifactStore, 'saveSteps' | 'chunk' | 'revision'>;
  readonly clock: Clock;
  readonly options: Pick<KnowledgeOptions, 'expansionTimeoutMs'>;
}

/** Kinds whose repairs succeed once the graph is available again. */
export const graphKinds = [
  graphDegradations.skipped,
  graphDegradations.failed,
  expansionDegradations.expansion,
] as const;

export function graphRepairs(deps: GraphRepairDeps): readonly RegisteredRepair[] {
  const sync = new GraphSync({ ...deps, ledger: noopLedger });
  const repair = (entry: LedgerEntry, signal: AbortSignal) => resync(deps, sync, entry, signal);
  return [
    {
      kind: graphDegradations.skipped,
      describe: 'Adds to the graph what was skipped while it was unavailable.',
      repair,
    },
    { kind: graphDegradations.failed, describe: 'Adds to the graph what it rejected.', repair },
    {
      kind: expansionDegradations.expansion,
      describe: 'Expands a few events of the space within the timeout of a search.',
      repair: (entry, signal) => probeExpansion(deps, entry, signal),
    },
  ];
}

async function resync(
  deps: GraphRepairDeps,
  sync: GraphSync,
  entry: LedgerEntry,
  signal: AbortSignal,
): Promise<RepairOutcome> {
  if (!sync.isWanted) return gone;
  const spaceId = spaceOf(entry);
  if (entry.subject.startsWith('space:')) return prune(deps, spaceId, signal);
  if (isUuid(entry.subject)) {
    const problem = await sync.refresh(spaceId, [entry.subject], signal);
    return problem === null ? repaired : stillBroken(problem);
  }
  return resyncChunk(deps, sync, spaceId, Number(entry.subject), signal);
}

async function resyncChunk(
  { artifacts }: GraphRepairDeps,
  sync: GraphSync,
  spaceId: number,
  chunkId: number,
  signal: AbortSignal,
): Promise<RepairOutcome> {
  const chunk = await artifacts.chunk(spaceId, chunkId);
  const revision = chunk && (await artifacts.revision(spaceId, chunk.revisionId));
  if (!revision?.isLatest) return gone;
  const results = await sync.put(spaceId, [chunkId], signal);
  await artifacts.saveSteps(spaceId, results);
  const [result] = results;
  if (!result) return gone;
  return result.status === 'done'
    ? repaired
    : stillBroken(`${result.message ?? ''} (${result.cause ?? 'unknown'})`);
}

async function prune(
  { graph }: GraphRepairDeps,
  spaceId: number,
  signal: AbortSignal,
): Promise<RepairOutcome> {
  const state = await graph.availability(signal);
  if (state.state === 'unavailable') return stillBroken(`${state.reason} ${state.remedy}`);
  await graph.prune(spaceId, signal);
  return repaired;
}

const probedEvents = 5;

async function probeExpansion(
  { graph, source, clock, options }: GraphRepairDeps,
  entry: LedgerEntry,
  signal: AbortSignal,
): Promise<RepairOutcome> {
  if (graph.backend === 'off') return gone;
  const spaceId = Number(entry.subject);
  const seedEventIds = await source.sampleEvents(spaceId, probedEvents);
  if (seedEventIds.length === 0) return gone;
  return probe((within) => graph.expand({ spaceId, seedEventIds, budget: 10 }, within), {
    clock,
    timeoutMs: options.expansionTimeoutMs,
    operation: 'graph expansion',
    signal,
  });
}

interface SearchRepairDeps {
  readonly embedders: Embedders;
  readonly vectors: Pick<VectorIndex, 'capability' | 'nearest'>;
  readonly store: Pick<SearchStore, 'eventIdsOf'>;
  readonly clock: Clock;
  readonly options: Pick<KnowledgeOptions, 'embeddingTimeoutMs' | 'chunkLookupTimeoutMs'>;
}

export function searchRepairs(deps: SearchRepairDeps): readonly RegisteredRepair[] {
  return [
    {
      kind: searchWithoutVectors,
      describe: 'Embeds and compares a text as a search does.',
      repair: (entry, signal) => probeVectors(deps, entry, signal),
    },
    {
      kind: expansionDegradations.lookup,
      describe: 'Looks up the events of results that were not expanded, within the timeout of a search.',
      repair: (entry, signal) => probeLookup(deps, entry, signal),
    },
  ];
}

async function probeVectors(
  { embedders, vectors, clock, options }: SearchRepairDeps,
  entry: LedgerEntry,
  signal: AbortSignal,
): Promise<RepairOutcome> {
  const state = embedders.current();
  // The embedding model changed, or vectors cannot be compared: no search misses this one.
  if (state.state === 'not-configured' || state.embedder.model !== entry.subject) return gone;
  if (!vectors.capability.available) return gone;
  const { embedder } = state;
  return probe(
    async (within) => {
      const [vector] = await embedder.embed(['Does search have vectors again?'], within);
      if (vector) await vectors.nearest(spaceOf(entry), embedder.model, vector, 1, {}, within);
    },
    { clock, timeoutMs: options.embeddingTimeoutMs, operation: 'embedding', signal },
  );
}

async function probeLookup(
  { store, clock, options }: SearchRepairDeps,
  entry: LedgerEntry,
  signal: AbortSignal,
): Promise<RepairOutcome> {
  const { chunk_ids: ids } = entry.details;
  for (const chunkId of Array.isArray(ids) ? ids : []) {
    const outcome = await probe((within) => store.eventIdsOf(spaceOf(entry), Number(chunkId), within), {
      clock,
      timeoutMs: options.chunkLookupTimeoutMs,
      operation: 'chunk lookup',
      signal,
    });
    if (outcome.outcome !== 'repaired') return outcome;
  }
  return repaired;
}
