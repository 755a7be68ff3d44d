// Repairs of degraded chunks, files, entities, graph and search, one per ledger kind.
import type { Clock, EmittedEvent } from '../../core/index.ts';
import { HeadworksError, withTimeout, isUuid, kindOf, messageOf } from '../../core/index.ts';
import type { LedgerEntry, RegisteredRepair, RepairOutcome } from '../../ledger/index.ts';
import type { ArtifactStore } from '../artifacts/artifact-store.ts';
import type { ChunkStepResult } from '../artifacts/types.ts';
import {
  graphDegradations,
  ingestDegradations,
  isFatalForJob,
  noopLedger,
  resolutionDegradations,
  searchDegradations,
  truncationOf,
} from '../degradations.ts';
import { DocumentModel } from '../documents/document.ts';
import type { EntityRepairs } from '../entities/reconcile.ts';
import type { Folders } from '../folders/folders.ts';
import type { GraphSyncDeps } from '../graph/graph-sync.ts';
import { GraphSync } from '../graph/graph-sync.ts';
import { embedChunks } from '../ingest/embed-step.ts';
import type { IngestDeps, ReadTask } from '../ingest/read-step.ts';
import { readChunk, readWithModel, recordTruncation, writeReading } from '../ingest/read-step.ts';
import type { KnowledgeOptions } from '../options.ts';
import type { Reading } from '../reading/types.ts';
import type { SearchStore } from '../search/results.ts';
import { billingCaller } from '../spaces/spaces.ts';
import type { Embedders } from '../vectors/embedders.ts';
import type { VectorIndex } from '../vectors/vector-index.ts';

type Repair = RegisteredRepair['repair'];

const repaired: RepairOutcome = { outcome: 'repaired' };
const gone: RepairOutcome = { outcome: 'gone' };
const stillBroken = (reason: string): RepairOutcome => ({ outcome: 'still-broken', reason });

/** The space of a ledger row; 0 matches none. */
const spaceOf = ({ details }: Pick<LedgerEntry, 'details'>): number => Number(details['space_id'] ?? 0);

/** Repaired if `work` completes within its timeout. Fails only when the signal aborts. */
async function probe(
  work: (callSignal: AbortSignal) => Promise<unknown>,
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
  const { spaces, artifacts, readers, embedders, graph } = deps;
  /** Repairs run chunk by chunk: the last document model is kept. */
  let last: { readonly revisionId: string; readonly document: DocumentModel } | null = null;

  /** Null when the chunk is gone or superseded. */
  async function loadTask(entry: LedgerEntry): Promise<ReadTask | null> {
    const spaceId = spaceOf(entry);
    const space = await spaces.get(spaceId);
    const chunk = space && (await artifacts.chunk(spaceId, Number(entry.subject)));
    const revision = chunk && (await artifacts.revision(spaceId, chunk.revisionId));
    if (!space || !chunk || !revision?.isLatest) return null;
    const { revisionId } = revision;
    const document = last?.revisionId === revisionId ? last.document : new DocumentModel(revision);
    last = { revisionId, document };
    return { chunk, revision, document, caller: billingCaller(space) };
  }

  const reread =
    (read: (task: ReadTask, signal: AbortSignal) => Promise<Reading>): Repair =>
    async (entry, signal) => {
      const task = await loadTask(entry);
      if (!task) return gone;
      const { spaceId, chunkId } = task.chunk;
      let reading: Reading;
      try {
        reading = await read(task, signal);
      } catch (error) {
        if (isFatalForJob(error, signal)) throw error;
        return stillBroken(`It could not be read: ${kindOf(error)}.`);
      }
      const result = await writeReading({ ...deps, ledger: noopLedger }, task, reading, signal);
      await artifacts.saveSteps(spaceId, [result]);
      if (result.status !== 'completed')
        return stillBroken(`The reading was not written: ${result.cause ?? ''}.`);
      await deps.reconciler.reconcile(task.revision, signal);
      // The chunk's events changed. A failure of the graph has its own ledger row.
      if (graph.isEnabled) await artifacts.saveSteps(spaceId, await graph.put(spaceId, [chunkId], signal));
      const truncation = truncationOf(result);
      if (truncation && entry.kind === ingestDegradations.truncated) return stillBroken(truncation.message);
      recordTruncation(deps, task, result);
      return repaired;
    };

  const readAgain = (task: ReadTask, signal: AbortSignal) => {
    const model = readers.model();
    // A reading by a model is not replaced by one by rules.
    return model ? readWithModel(deps, model, task, signal) : readChunk(deps, task, signal);
  };

  const reembed: Repair = async (entry, signal) => {
    const state = embedders.current();
    // Without an embedder no vector is missing.
    if (state.state === 'not-configured') return gone;
    const task = await loadTask(entry);
    if (!task) return gone;
    const { model } = state.embedder;
    const steps = await artifacts.steps(task.chunk.revisionId);
    const isDone = ({ chunkId, step, status, method }: ChunkStepResult) =>
      chunkId === task.chunk.chunkId && step === 'embed' && status === 'completed' && method === model;
    if (steps.some(isDone)) return repaired;
    const withoutLedger = { ...deps, ledger: noopLedger };
    const [result] = await embedChunks(withoutLedger, task.revision.title, [task.chunk], signal);
    return result?.status === 'completed'
      ? repaired
      : stillBroken(result?.message ?? `${model} returned no vector for it.`);
  };

  return [
    {
      kind: ingestDegradations.notRead,
      describe: 'Reads the chunk again.',
      // A fallback to rules is a degradation of its own.
      repair: reread((task, signal) => readChunk(deps, task, signal)),
    },
    {
      kind: ingestDegradations.truncated,
      describe: 'Reads a chunk again whose reading exceeded the limits of one chunk.',
      repair: reread(readAgain),
    },
    {
      kind: ingestDegradations.readByRules,
      describe: 'Reads with a model what rules have read.',
      // While models are disabled, rules are what is configured.
      repair: async (entry, signal) => (readers.model() ? reread(readAgain)(entry, signal) : gone),
    },
    {
      kind: ingestDegradations.notEmbedded,
      describe: 'Embeds a chunk that has no vector.',
      repair: reembed,
    },
  ];
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
    kind: resolutionDegradations[reason],
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
  searchDegradations.expansion,
] as const;

export function graphRepairs(deps: GraphRepairDeps): readonly RegisteredRepair[] {
  const { graph, source, artifacts, clock, options } = deps;
  const sync = new GraphSync({ ...deps, ledger: noopLedger });

  const resync: Repair = async (entry, signal) => {
    if (!sync.isEnabled) return gone;
    const spaceId = spaceOf(entry);
    if (entry.subject.startsWith('space:')) return prune(spaceId, signal);
    if (isUuid(entry.subject)) {
      const problem = await sync.refresh(spaceId, [entry.subject], signal);
      return problem === null ? repaired : stillBroken(problem);
    }
    const chunk = await artifacts.chunk(spaceId, Number(entry.subject));
    const revision = chunk && (await artifacts.revision(spaceId, chunk.revisionId));
    if (!chunk || !revision?.isLatest) return gone;
    const results = await sync.put(spaceId, [chunk.chunkId], signal);
    await artifacts.saveSteps(spaceId, results);
    const [result] = results;
    if (!result) return gone;
    return result.status === 'completed'
      ? repaired
      : stillBroken(`${result.message ?? ''} (${result.cause ?? 'unknown'})`);
  };

  async function prune(spaceId: number, signal: AbortSignal): Promise<RepairOutcome> {
    const state = await graph.availability(signal);
    if (state.state === 'unavailable') return stillBroken(`${state.reason} ${state.remedy}`);
    await graph.prune(spaceId, signal);
    return repaired;
  }

  const probeExpansion: Repair = async (entry, signal) => {
    if (graph.backend === 'off') return gone;
    const spaceId = Number(entry.subject);
    const seedEventIds = await source.sampleEvents(spaceId, probedEvents);
    if (seedEventIds.length === 0) return gone;
    const timeoutMs = options.expansionTimeoutMs;
    return probe((callSignal) => graph.expand({ spaceId, seedEventIds, budget: 10 }, callSignal), {
      clock,
      timeoutMs,
      operation: 'graph expansion',
      signal,
    });
  };

  return [
    {
      kind: graphDegradations.skipped,
      describe: 'Adds to the graph what was skipped while it was unavailable.',
      repair: resync,
    },
    { kind: graphDegradations.failed, describe: 'Adds to the graph what it rejected.', repair: resync },
    {
      kind: searchDegradations.expansion,
      describe: 'Expands a few events of the space callSignal the timeout of a search.',
      repair: probeExpansion,
    },
  ];
}

const probedEvents = 5;

interface SearchRepairDeps {
  readonly embedders: Embedders;
  readonly vectors: Pick<VectorIndex, 'capability' | 'nearest'>;
  readonly store: Pick<SearchStore, 'eventIdsOf'>;
  readonly clock: Clock;
  readonly options: Pick<KnowledgeOptions, 'embeddingTimeoutMs' | 'chunkLookupTimeoutMs'>;
}

export function searchRepairs({
  embedders,
  vectors,
  store,
  clock,
  options,
}: SearchRepairDeps): readonly RegisteredRepair[] {
  const probeVectors: Repair = async (entry, signal) => {
    const state = embedders.current();
    // The embedding model changed, or vectors cannot be compared: no search misses this one.
    if (state.state === 'not-configured' || state.embedder.model !== entry.subject) return gone;
    if (!vectors.capability.available) return gone;
    const { embedder } = state;
    return probe(
      async (callSignal) => {
        const [vector] = await embedder.embed(['Does search have vectors again?'], callSignal);
        if (vector) await vectors.nearest(spaceOf(entry), embedder.model, vector, 1, {}, callSignal);
      },
      { clock, timeoutMs: options.embeddingTimeoutMs, operation: 'embedding', signal },
    );
  };

  const probeLookup: Repair = async (entry, signal) => {
    const { chunk_ids: ids } = entry.details;
    const timeoutMs = options.chunkLookupTimeoutMs;
    for (const chunkId of Array.isArray(ids) ? ids : []) {
      const lookUp = (callSignal: AbortSignal) =>
        store.eventIdsOf(spaceOf(entry), Number(chunkId), callSignal);
      const outcome = await probe(lookUp, { clock, timeoutMs, operation: 'chunk lookup', signal });
      if (outcome.outcome !== 'repaired') return outcome;
    }
    return repaired;
  };

  return [
    {
      kind: searchDegradations.withoutVectors,
      describe: 'Embeds and compares a text as a search does.',
      repair: probeVectors,
    },
    {
      kind: searchDegradations.lookup,
      describe: 'Looks up the events of results that were not expanded, callSignal the timeout of a search.',
      repair: probeLookup,
    },
  ];
}

// Runs repairs as soon as the models they need are available again, instead of at the next schedule.

/** Ledger kinds that an embedder can repair. */
export const embedderKinds = [
  ingestDegradations.notEmbedded,
  resolutionDegradations['embedding-missing'],
  searchDegradations.withoutVectors,
] as const;
/** Ledger kinds that a model or an embedder can repair. */
export const modelKinds = [
  ingestDegradations.readByRules,
  resolutionDegradations['confirmation-failed'],
  ...embedderKinds,
] as const;

/** Minimum pause between repairs, for models that respond only intermittently. */
const minPauseMs = 300_000;

/** Event listener: the first response after all models of the gateway were exhausted calls `repair`. */
export function onModelsRecovered(clock: Clock, repair: () => void): (event: EmittedEvent) => void {
  let wereExhausted = false;
  let lastMs = Number.NEGATIVE_INFINITY;
  return ({ name, payload }) => {
    if (name === 'gateway:models-exhausted') wereExhausted = true;
    const isResponse = name === 'gateway:attempt-finished' && payload['outcome'] === 'success';
    if (!isResponse || !wereExhausted || clock.monotonic() - lastMs < minPauseMs) return;
    wereExhausted = false;
    lastMs = clock.monotonic();
    repair();
  };
}

/** Event listener: the cooldown of a model was cleared. */
export function onCooldownCleared(reset: () => void): (event: EmittedEvent) => void {
  return ({ name, payload }) => {
    if (name === 'gateway:availability-updated' && payload['availableAt'] === null) reset();
  };
}
