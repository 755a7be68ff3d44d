// Finds work that was not possible when a chunk was ingested and is now: a model was configured, a graph was switched
// on, a job ended early. Chunks and pairs are recorded in the ledger, and their repairs do the work.
import { z } from 'zod';
import type { JobDefinition, JobHandler, JobQueue } from '../../core/index.ts';
import type { LedgerRecorder } from '../../ledger/index.ts';
import type { ArtifactStore } from '../artifacts/artifact-store.ts';
import { hasActiveJob } from '../artifacts/artifact-store.ts';
import type { Chunk, ChunkStep, ChunkStepResult } from '../artifacts/types.ts';
import { ingestDegradations, pairsUnconfirmed } from '../degradations.ts';
import type { GraphSource } from '../graph/graph-source.ts';
import type { GraphSync } from '../graph/graph-sync.ts';
import { graphRebuildJob, graphRebuildKey } from '../graph/graph-sync.ts';
import type { Graph } from '../graph/graph.ts';
import type { Readers } from '../reading/reader.ts';
import type { EntityRepairDeps } from './repairs.ts';
import { modelNotConfigured } from './repairs.ts';

export const backfillJob: JobDefinition<Record<string, never>> = {
  name: 'knowledge.backfill',
  description: 'Finds chunks and pairs that could not be processed when they were ingested and can be now.',
  parse: (raw) => z.strictObject({}).parse(raw),
  // It is scheduled.
  retries: 0,
  retryDelayMs: 0,
  retryBackoff: false,
  concurrency: 1,
  timeoutMs: 600_000,
};
export const backfillCron = '*/5 * * * *';

export interface BackfillDeps extends Pick<EntityRepairDeps, 'pairs' | 'canUseModel' | 'options'> {
  readonly artifacts: Pick<ArtifactStore, 'unfinished' | 'revision' | 'steps' | 'saveSteps'>;
  readonly readers: Readers;
  readonly graph: Graph;
  readonly source: Pick<GraphSource, 'counts'>;
  readonly graphSync: GraphSync;
  readonly jobs: Pick<JobQueue, 'enqueue' | 'get'>;
  readonly ledger: LedgerRecorder;
  /** Whether the ledger has an open row of this kind and subject. */
  readonly isRecorded: (kind: string, subject: string) => Promise<boolean>;
}

/** Limit per kind and run; the next run continues. */
const maxPerRun = 500;

export function backfillHandler(deps: BackfillDeps): JobHandler<Record<string, never>> {
  return async (_, { signal }) => {
    const statesOf = revisionStates(deps);
    const notRead = await recordChunks(deps, statesOf, { step: 'read' }, notTried, signal);
    const byRules =
      deps.options.backfill && deps.readers.model() !== null
        ? await recordChunks(deps, statesOf, { step: 'read', doneBy: 'rules' }, readWithoutModel, signal)
        : 0;
    const pairs = await recordPairs(deps);
    const graph = await backfillGraph(deps, statesOf, signal);
    const found = { notRead, byRules, pairs, ...graph };
    return Object.values(found).some((count) => count > 0)
      ? { result: found }
      : { skipped: 'Nothing to backfill.' };
  };
}

interface Finding {
  readonly kind: string;
  readonly cause: string;
  readonly message: string;
  readonly matches: (read: ChunkStepResult | undefined) => boolean;
}

const notTried: Finding = {
  kind: ingestDegradations.notRead,
  cause: 'NOT_TRIED',
  message: 'The job of this chunk ended before it was read.',
  matches: (read) => read === undefined,
};
const readWithoutModel: Finding = {
  kind: ingestDegradations.readByRules,
  cause: modelNotConfigured,
  message: 'No model was configured when this chunk was ingested, so rules read it. One is configured now.',
  matches: (read) => read?.status === 'done' && read.method === 'rules',
};

async function recordChunks(
  deps: BackfillDeps,
  statesOf: RevisionStates,
  filter: { readonly step: 'read'; readonly doneBy?: string },
  { kind, cause, message, matches }: Finding,
  signal: AbortSignal,
): Promise<number> {
  let recorded = 0;
  for await (const chunk of unfinished(deps, statesOf, filter, (step) => matches(step('read')), signal)) {
    const subject = String(chunk.chunkId);
    if (await deps.isRecorded(kind, subject)) continue;
    const { artifactUid, revisionId, spaceId } = chunk;
    const details = { artifact_id: artifactUid, revision_id: revisionId, space_id: spaceId };
    await deps.ledger.record({ kind, subject, cause, message, details });
    if (++recorded === maxPerRun) break;
  }
  return recorded;
}

async function recordPairs({
  pairs,
  canUseModel,
  options,
  ledger,
  isRecorded,
}: BackfillDeps): Promise<number> {
  const { kind, subject } = pairsUnconfirmed;
  if (
    !options.backfill ||
    !canUseModel() ||
    (await pairs.listUnconfirmed(1)).length === 0 ||
    (await isRecorded(kind, subject))
  )
    return 0;
  const message = 'Open pairs can be confirmed by a model that was not configured before.';
  await ledger.record({ kind, subject, cause: 'MODEL_NOT_CALLED', message });
  return 1;
}

/** Rebuilds an empty graph; adds missing chunks to another. */
async function backfillGraph(
  deps: BackfillDeps,
  statesOf: RevisionStates,
  signal: AbortSignal,
): Promise<{ readonly rebuilds: number; readonly put: number }> {
  const { graph, source, graphSync, artifacts, jobs } = deps;
  if ((await graph.availability(signal)).state !== 'available') return { rebuilds: 0, put: 0 };
  if (graph.isSeparateStore && (await graph.isEmpty(signal)) && (await source.counts()).entities > 0) {
    const id = await jobs.enqueue(graphRebuildJob, {}, { key: graphRebuildKey });
    return { rebuilds: id === null ? 0 : 1, put: 0 };
  }
  let put = 0;
  // Failed chunks have a ledger row; unread ones have nothing to add.
  const isMissing = (step: StepLookup) => step('graph') === undefined && step('read')?.status === 'done';
  for await (const { spaceId, chunkId } of unfinished(deps, statesOf, { step: 'graph' }, isMissing, signal)) {
    const results = await graphSync.put(spaceId, [chunkId], signal);
    await artifacts.saveSteps(spaceId, results);
    put += results.filter(({ status }) => status === 'done').length;
    if (put >= maxPerRun) break;
  }
  return { rebuilds: 0, put };
}

type StepLookup = (step: ChunkStep) => ChunkStepResult | undefined;

/** Chunks without an active job of their own, and with matching steps. */
async function* unfinished(
  { artifacts }: BackfillDeps,
  statesOf: RevisionStates,
  filter: { readonly step: 'read' | 'graph'; readonly doneBy?: string },
  matches: (step: StepLookup) => boolean,
  signal: AbortSignal,
): AsyncGenerator<Chunk> {
  for (let after = 0; ;) {
    signal.throwIfAborted();
    const page = await artifacts.unfinished({ ...filter, after, limit: maxPerRun });
    const last = page.at(-1);
    if (!last) return;
    for (const chunk of page) {
      const { isActive, results } = await statesOf(chunk);
      const step = (name: ChunkStep) =>
        results.find((result) => result.chunkId === chunk.chunkId && result.step === name);
      if (!isActive && matches(step)) yield chunk;
    }
    after = last.chunkId;
  }
}

interface RevisionState {
  readonly isActive: boolean;
  readonly results: readonly ChunkStepResult[];
}

type RevisionStates = (chunk: Chunk) => Promise<RevisionState>;

/** Each revision is loaded once per run. */
function revisionStates({ artifacts, jobs }: BackfillDeps): RevisionStates {
  const known = new Map<string, RevisionState>();
  return async ({ spaceId, revisionId }) => {
    const cached = known.get(revisionId);
    if (cached) return cached;
    const state = {
      isActive: await hasActiveJob({ artifacts, jobs }, { spaceId, revisionId }),
      results: await artifacts.steps(revisionId),
    };
    known.set(revisionId, state);
    return state;
  };
}
