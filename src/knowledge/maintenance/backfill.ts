// Finds what nobody recorded because nothing failed: work that was not possible then and is now. A model came, a graph
// was switched on, a job ended before it was done. From now on it is in the ledger, and its repair does it.
import { z } from 'zod';
import type { JobDefinition, JobHandler, JobQueue } from '../../core/index.ts';
import type { LedgerRecorder } from '../../ledger/index.ts';
import { hasActiveJob } from '../artifacts/artifact-store.ts';
import { ingestDegradations } from '../degradations.ts';
import type { GraphSource } from '../graph/graph-source.ts';
import type { GraphSync } from '../graph/graph-sync.ts';
import { graphRebuildJob, graphRebuildKey } from '../graph/graph-sync.ts';
import type { Readers } from '../reading/types.ts';
import type { ArtifactStore } from '../artifacts/artifact-store.ts';
import type { Chunk, ChunkStep, ChunkStepResult } from '../artifacts/types.ts';
import type { Graph } from '../graph/graph.ts';
import type { EntityRepairParts } from './repairs.ts';
import { modelCameLater, pairsNotAsked } from './repairs.ts';

export const backfillJob: JobDefinition<Record<string, never>> = {
  name: 'knowledge.backfill',
  description: 'Finds chunks and pairs that could not be worked on when they came and can be now.',
  parse: (raw) => z.strictObject({}).parse(raw),
  // It comes again by itself.
  retries: 0,
  retryDelayMs: 0,
  retryBackoff: false,
  concurrency: 1,
  timeoutMs: 600_000,
};
export const backfillCron = '*/5 * * * *';

export interface BackfillDeps extends Pick<EntityRepairParts, 'pairs' | 'canUseModel' | 'options'> {
  readonly artifacts: Pick<ArtifactStore, 'unfinished' | 'revision' | 'steps' | 'saveSteps'>;
  readonly readers: Readers;
  readonly graph: Graph;
  readonly source: Pick<GraphSource, 'counts'>;
  readonly keeper: GraphSync;
  readonly jobs: Pick<JobQueue, 'enqueue' | 'get'>;
  readonly ledger: LedgerRecorder;
  /** Is there an open row of this kind and subject? */
  readonly isRecorded: (kind: string, subject: string) => Promise<boolean>;
}

/** Of each kind, in one go; the next run goes on. */
const mostAtOnce = 500;

export function backfillHandler(parts: BackfillDeps): JobHandler<Record<string, never>> {
  return async (_, { signal }) => {
    const looks = new RevisionLooks(parts);
    const notRead = await recordChunks(parts, looks, { step: 'read' }, notTried, signal);
    const byRules =
      parts.options.backfill && parts.readers.model() !== null
        ? await recordChunks(parts, looks, { step: 'read', doneBy: 'rules' }, readWithoutModel, signal)
        : 0;
    const pairs = await recordPairs(parts);
    const graph = await seeToGraph(parts, looks, signal);
    const found = { notRead, byRules, pairs, ...graph };
    return Object.values(found).some((count) => count > 0)
      ? { result: found }
      : { skipped: 'Everything that can be worked on is in the ledger or done.' };
  };
}

interface Found {
  readonly kind: string;
  readonly cause: string;
  readonly message: string;
  readonly isWanted: (read: ChunkStepResult | undefined) => boolean;
}

const notTried: Found = {
  kind: ingestDegradations.notRead,
  cause: 'NOT_TRIED',
  message: 'The job that should have read this chunk ended before it did.',
  isWanted: (read) => read === undefined,
};
const readWithoutModel: Found = {
  kind: ingestDegradations.readByRules,
  cause: modelCameLater,
  message: 'There was no model when this chunk came, so rules read it. There is one now.',
  isWanted: (read) => read?.status === 'done' && read.method === 'rules',
};

async function recordChunks(
  parts: BackfillDeps,
  looks: RevisionLooks,
  filter: { readonly step: 'read'; readonly doneBy?: string },
  { kind, cause, message, isWanted }: Found,
  signal: AbortSignal,
): Promise<number> {
  let recorded = 0;
  for await (const chunk of unfinished(parts, looks, filter, (stepOf) => isWanted(stepOf('read')), signal)) {
    const subject = String(chunk.chunkId);
    if (await parts.isRecorded(kind, subject)) continue;
    const { artifactUid, revisionId, spaceId } = chunk;
    const details = { artifact_uid: artifactUid, revision_id: revisionId, space_id: spaceId };
    await parts.ledger.record({ kind, subject, cause, message, details });
    if (++recorded === mostAtOnce) break;
  }
  return recorded;
}

async function recordPairs(parts: BackfillDeps): Promise<number> {
  const { pairs, canUseModel, options, ledger, isRecorded } = parts;
  const { kind, subject } = pairsNotAsked;
  if (
    !options.backfill ||
    !canUseModel() ||
    (await pairs.listUnconfirmed(1)).length === 0 ||
    (await isRecorded(kind, subject))
  )
    return 0;
  const message = 'Pairs that may be the same wait for a model that can tell.';
  await ledger.record({ kind, subject, cause: 'MODEL_NOT_CALLED', message });
  return 1;
}

/** A graph that is new and empty is built; one that lacks chunks gets them. */
async function seeToGraph(
  parts: BackfillDeps,
  looks: RevisionLooks,
  signal: AbortSignal,
): Promise<{ readonly rebuilds: number; readonly put: number }> {
  const { graph, source, keeper, artifacts, jobs } = parts;
  const none = { rebuilds: 0, put: 0 };
  if ((await graph.availability(signal)).state !== 'available') return none;
  if (graph.isSeparateStore && (await graph.isEmpty(signal)) && (await source.counts()).entities > 0) {
    const id = await jobs.enqueue(graphRebuildJob, {}, { key: graphRebuildKey });
    return { rebuilds: id === null ? 0 : 1, put: 0 };
  }
  let put = 0;
  // What was tried and failed has a row. What is not read yet has nothing to put in.
  const isWanted = (stepOf: (step: ChunkStep) => ChunkStepResult | undefined) =>
    stepOf('graph') === undefined && stepOf('read')?.status === 'done';
  for await (const { spaceId, chunkId } of unfinished(parts, looks, { step: 'graph' }, isWanted, signal)) {
    const marks = await keeper.put(spaceId, [chunkId], signal);
    await artifacts.saveSteps(spaceId, marks);
    put += marks.filter(({ status }) => status === 'done').length;
    if (put >= mostAtOnce) break;
  }
  return { rebuilds: 0, put };
}

/** Chunks whose own job has ended, one way or the other, and whose steps are as wanted. */
async function* unfinished(
  { artifacts }: BackfillDeps,
  looks: RevisionLooks,
  filter: { readonly step: 'read' | 'graph'; readonly doneBy?: string },
  isWanted: (stepOf: (step: ChunkStep) => ChunkStepResult | undefined) => boolean,
  signal: AbortSignal,
): AsyncGenerator<Chunk> {
  for (let after = 0; ;) {
    signal.throwIfAborted();
    const page = await artifacts.unfinished({ ...filter, after, limit: mostAtOnce });
    const last = page.at(-1);
    if (!last) return;
    for (const chunk of page) {
      const { hasActiveJob, marks } = await looks.of(chunk);
      const stepOf = (step: ChunkStep) =>
        marks.find((mark) => mark.chunkId === chunk.chunkId && mark.step === step);
      if (!hasActiveJob && isWanted(stepOf)) yield chunk;
    }
    after = last.chunkId;
  }
}

interface RevisionLook {
  readonly hasActiveJob: boolean;
  readonly marks: readonly ChunkStepResult[];
}

/** Each revision is looked at once in a run. */
class RevisionLooks {
  readonly #parts: Pick<BackfillDeps, 'artifacts' | 'jobs'>;
  readonly #seen = new Map<string, RevisionLook>();

  constructor(parts: Pick<BackfillDeps, 'artifacts' | 'jobs'>) {
    this.#parts = parts;
  }

  async of({ spaceId, revisionId }: Chunk): Promise<RevisionLook> {
    const known = this.#seen.get(revisionId);
    if (known) return known;
    const { artifacts, jobs } = this.#parts;
    const look = {
      hasActiveJob: await hasActiveJob({ artifacts, jobs }, { spaceId, revisionId }),
      marks: await artifacts.steps(revisionId),
    };
    this.#seen.set(revisionId, look);
    return look;
  }
}
