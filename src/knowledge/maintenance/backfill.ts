// Finds work that was not possible when a document was ingested and is possible now: a model was configured, a graph was
// switched on, a job ended early. Enqueues the ingest job again, which does only what is missing.
import { z } from 'zod';
import type { Clock, JobDefinition, JobHandler, JobQueue } from '../../core/index.ts';
import type { ArtifactStore } from '../artifacts/artifact-store.ts';
import type { Revision } from '../artifacts/types.ts';
import type { EntityRepairs } from '../entities/reconcile.ts';
import type { GraphSource } from '../graph/graph-source.ts';
import { graphRebuildJob, graphRebuildKey } from '../graph/graph-sync.ts';
import type { Graph } from '../graph/graph.ts';
import type { IngestJobPayload } from '../ingest/ingest-job.ts';
import type { KnowledgeOptions } from '../options.ts';
import type { Readers } from '../reading/rules-reader.ts';

export const backfillJob: JobDefinition<Record<string, never>> = {
  name: 'knowledge.backfill',
  description:
    'Processes what was not possible at ingest and is now: reading by a model, open pairs, the graph.',
  parse: (raw) => z.strictObject({}).parse(raw),
  // No retries: it runs on a schedule.
  retries: 0,
  retryDelayMs: 0,
  retryBackoff: false,
  concurrency: 1,
  timeoutMs: 3_600_000,
};
export const backfillCron = '*/5 * * * *';

export interface BackfillDeps {
  readonly artifacts: Pick<ArtifactStore, 'listIncomplete' | 'setJob'>;
  readonly readers: Readers;
  readonly entities: Pick<EntityRepairs, 'confirmOpenPairs'>;
  readonly graph: Graph;
  readonly source: Pick<GraphSource, 'counts'>;
  readonly jobs: Pick<JobQueue, 'enqueue' | 'get'>;
  readonly clock: Clock;
  readonly ingestJob: JobDefinition<IngestJobPayload>;
  readonly options: Pick<KnowledgeOptions, 'backfill'>;
}

/** Maximum per run; the next run continues. */
const maxRevisions = 500;
/** As for repairs of the ledger. */
const maxBackoffMs = 6 * 3_600_000;
const pairBatchSize = 20;

export function backfillHandler(deps: BackfillDeps): JobHandler<Record<string, never>> {
  return async (_, { signal }) => {
    const graph = await rebuildIfEmpty(deps, signal);
    const revisions = await enqueueIncomplete(deps, graph.isReady);
    const pairs = deps.options.backfill ? await confirmPairs(deps, signal) : 0;
    const found = { revisions, pairs, rebuilds: graph.rebuilds };
    return Object.values(found).some((count) => count > 0)
      ? { result: found }
      : { skipped: 'Nothing to backfill.' };
  };
}

/** Revisions with a queued or running job are not enqueued again; those whose job failed wait for their backoff. */
async function enqueueIncomplete(deps: BackfillDeps, isGraphReady: boolean): Promise<number> {
  const { artifacts, readers, jobs, ingestJob, options } = deps;
  const found = await artifacts.listIncomplete({
    readByRules: options.backfill && readers.model() !== null,
    notInGraph: isGraphReady,
    limit: maxRevisions,
  });
  let enqueued = 0;
  for (const revision of found) {
    if (await isBackingOff(deps, revision)) continue;
    const { spaceId, revisionId } = revision;
    const jobId = await jobs.enqueue(
      ingestJob,
      { spaceId, revisionId },
      { key: revisionId, group: String(spaceId) },
    );
    if (jobId === null) continue;
    await artifacts.setJob(revisionId, jobId);
    enqueued += 1;
  }
  return enqueued;
}

/** After a failed job, as long as the revision has failed so far: the delay doubles with each further failure. */
async function isBackingOff(
  { jobs, clock }: BackfillDeps,
  { jobId, ingestedAt }: Pick<Revision, 'jobId' | 'ingestedAt'>,
): Promise<boolean> {
  const job = jobId === null ? null : await jobs.get(jobId);
  if (job?.state !== 'failed' || job.finishedAt === null) return false;
  const failedForMs = job.finishedAt.getTime() - ingestedAt.getTime();
  return clock.now() - job.finishedAt.getTime() < Math.min(failedForMs, maxBackoffMs);
}

/** Confirms open pairs until a model was called for each, or the model does not respond. */
async function confirmPairs({ entities }: BackfillDeps, signal: AbortSignal): Promise<number> {
  for (let confirmed = 0; ;) {
    const count = await entities.confirmOpenPairs(pairBatchSize, signal);
    if (count === 0) return confirmed;
    confirmed += count;
  }
}

/** A rebuild contains everything; until then chunks need not be added one by one. */
async function rebuildIfEmpty(
  { graph, source, jobs }: BackfillDeps,
  signal: AbortSignal,
): Promise<{ readonly isReady: boolean; readonly rebuilds: number }> {
  if ((await graph.availability(signal)).state !== 'available') return { isReady: false, rebuilds: 0 };
  const isEmpty =
    graph.isSeparateStore && (await graph.isEmpty(signal)) && (await source.counts()).entities > 0;
  if (!isEmpty) return { isReady: true, rebuilds: 0 };
  const jobId = await jobs.enqueue(graphRebuildJob, {}, { key: graphRebuildKey });
  return { isReady: false, rebuilds: jobId === null ? 0 : 1 };
}
