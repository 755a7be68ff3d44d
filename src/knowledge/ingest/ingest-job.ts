// The job that processes an accepted revision: structured mentions, then chunk by chunk in order, vectors in
// parallel, graph last.
import { z } from 'zod';
import type { JobContext, JobDefinition, JobHandler } from '../../core/index.ts';
import { CoreError } from '../../core/index.ts';
import type { Chunk, ChunkStep, ChunkStepResult, Revision } from '../artifacts/types.ts';
import { isStaleRevision, retryOnConflict } from '../degradations.ts';
import { DocumentModel } from '../documents/document.ts';
import type { EntityResolutionResult } from '../entities/types.ts';
import type { EntityMention, Reading, StructuredMention } from '../reading/types.ts';
import { billingCaller } from '../spaces/spaces.ts';
import type { IngestDeps, ReadTask } from './read-step.ts';
import { embedChunks } from './embed-step.ts';
import { readChunk, readFailed, recordTruncation, writeReading } from './read-step.ts';

const payload = z.strictObject({ spaceId: z.number().int(), revisionId: z.guid() });

export type IngestJobPayload = z.infer<typeof payload>;

export const ingestJobName = 'knowledge.ingest';

export function ingestJob(concurrency: number): JobDefinition<IngestJobPayload> {
  return {
    name: ingestJobName,
    description: 'Reads an artifact, resolves its entities and events, embeds it and adds it to the graph.',
    parse: (raw) => payload.parse(raw),
    // Five attempts in all, waiting min(30·2ⁿ, 600) seconds.
    retries: 4,
    retryDelayMs: 30_000,
    retryBackoff: true,
    retryDelayMaxMs: 600_000,
    concurrency,
    // Jobs of one space: a tenant with many documents does not delay the others.
    groupConcurrency: Math.max(1, concurrency - 1),
    // Only a hanging job reaches it: chunks that are done stay done, and the next attempt continues after them.
    timeoutMs: 6 * 3_600_000,
  };
}

/** Chunks of one artifact that are read at the same time; they are written in order. */
const readAhead = 4;
/** Results of rules are saved in batches; results of models at once, so that no call is billed twice. */
const stepBatchSize = 20;
/** One statement of the graph, small enough that results are saved often. */
const graphBatchSize = 50;
/** Structured mentions that are resolved together: 10,000 of them would block the main thread. */
const mentionBatchSize = 200;
const maxCachedCallers = 10_000;

const deleted = { skipped: 'The artifact was deleted.' };
const superseded = { skipped: 'A newer revision superseded this one.' };

/**
 * The job completes whatever happens to single chunks: failures are in their step results and in the ledger. It fails, to be
 * retried after what is done, only when the database is unavailable.
 */
export function ingestHandler(deps: IngestDeps): JobHandler<IngestJobPayload> {
  const callerOf = cachedCallers(deps.spaces);
  return async ({ spaceId, revisionId }, context) => {
    const [caller, revision] = await Promise.all([
      callerOf(spaceId),
      deps.artifacts.revision(spaceId, revisionId),
    ]);
    if (caller === null || !revision) return deleted;
    if (!revision.isLatest) return superseded;
    try {
      const task = { revision, caller, document: new DocumentModel(revision) };
      const chunks = await processRevision(deps, task, context);
      return { result: { artifactId: revision.artifactUid, chunks } };
    } catch (error) {
      if (isStaleRevision(error))
        return (await deps.artifacts.revision(spaceId, revisionId)) ? superseded : deleted;
      throw error;
    }
  };
}

/** A space's owner never changes. Null when there is no such space; a deleted one has no revisions. */
function cachedCallers(spaces: IngestDeps['spaces']): (spaceId: number) => Promise<string | null> {
  const known = new Map<number, string>();
  return async (spaceId) => {
    const cached = known.get(spaceId);
    if (cached !== undefined) return cached;
    const space = await spaces.get(spaceId);
    if (!space) return null;
    const caller = billingCaller(space);
    if (known.size >= maxCachedCallers) known.clear();
    known.set(spaceId, caller);
    return caller;
  };
}

type RevisionTask = Omit<ReadTask, 'chunk'>;

/** Returns the number of chunks. */
async function processRevision(
  deps: IngestDeps,
  task: RevisionTask,
  { signal, progress }: JobContext,
): Promise<number> {
  const { revision } = task;
  const [chunks, done] = await Promise.all([
    deps.artifacts.chunks(revision.revisionId),
    doneSteps(deps, revision.revisionId),
  ]);
  const todo = (...steps: readonly ChunkStep[]) =>
    chunks.filter(({ chunkId }) => steps.some((step) => !done.has(`${step} ${chunkId}`)));
  await writeStructuredMentions(deps, task, signal);
  const unread = todo('read');
  const report = (count: number): void =>
    progress({ done: chunks.length - unread.length + count, total: chunks.length });
  report(0);
  const stop = new AbortController();
  const stopSignal = AbortSignal.any([signal, stop.signal]);
  const work = [
    readAll(deps, task, unread, report, stopSignal),
    embedChunks(deps, revision.title, todo('embed'), stopSignal),
  ] as const;
  try {
    const [unsaved] = await Promise.all(work);
    // Also when all is read: an earlier attempt may have ended between its last saved reading and this.
    await deps.reconciler.reconcile(revision, signal);
    // Another reading has other events.
    const toGraph = deps.graph.isEnabled ? todo('read', 'graph') : [];
    await addToGraph(deps, revision.spaceId, toGraph, unsaved, signal);
  } catch (error) {
    stop.abort(error);
    await Promise.allSettled(work);
    throw error;
  }
  return chunks.length;
}

/**
 * Not done: a vector of another model, and a reading by rules that a model can replace now. If rules read because a model
 * failed, the step has a cause and its repair replaces it.
 */
async function doneSteps(
  { artifacts, embedders, readers, options }: IngestDeps,
  revisionId: string,
): Promise<Set<string>> {
  const state = embedders.current();
  const embeddingModel = state.state === 'ready' ? state.embedder.model : null;
  const rereads = options.backfill && readers.model() !== null;
  const isDone = ({ step, status, method, cause }: ChunkStepResult): boolean => {
    if (step === 'embed' && method !== embeddingModel) return false;
    if (step === 'read' && method === 'rules' && cause === undefined && rereads) return false;
    return status === 'completed';
  };
  const steps = await artifacts.steps(revisionId);
  return new Set(steps.filter(isDone).map(({ step, chunkId }) => `${step} ${chunkId}`));
}

async function writeStructuredMentions(
  { resolver, events, graph }: IngestDeps,
  { revision, caller }: RevisionTask,
  signal: AbortSignal,
): Promise<void> {
  const given = (revision.metadata['mentions'] ?? []) as readonly StructuredMention[];
  if (given.length === 0) return;
  const { spaceId, artifactUid, revisionId } = revision;
  const place = { spaceId, artifactUid, revisionId, chunkId: null };
  const mentions = given.map(structuredMention);
  const relations = given.map(({ relation }) => relation);
  const removed = await retryOnConflict(async () => {
    const results: EntityResolutionResult[] = [];
    for (let first = 0; first < mentions.length; first += mentionBatchSize) {
      const batch = mentions.slice(first, first + mentionBatchSize);
      results.push(...(await resolver.resolve(batch, place, caller, signal)));
    }
    return events.write(place, 'structured', { mentions, results, relations, events: [] });
  });
  if (removed.entityIds.length > 0) await graph.remove(spaceId, removed);
}

const structuredMention = (given: StructuredMention, index: number): EntityMention => ({
  ref: `s${index}`,
  surfaceForm: given.surfaceForm,
  canonicalSuggestion: given.surfaceForm,
  type: given.type,
  contextClues: given.contextClues,
  startChar: null,
  endChar: null,
  confidence: 1,
  method: 'structured',
});

/** Reads ahead and writes in order, because resolution depends on the order. Returns the results not saved yet. */
async function readAll(
  deps: IngestDeps,
  about: RevisionTask,
  chunks: readonly Chunk[],
  report: (count: number) => void,
  signal: AbortSignal,
): Promise<ChunkStepResult[]> {
  const tasks = chunks.map((chunk) => ({ ...about, chunk }));
  const readings: Promise<Reading | { readonly error: unknown }>[] = [];
  const start = (task: ReadTask | undefined): void => {
    if (task)
      readings.push(readChunk(deps, task, signal, deps.breaker).catch((error: unknown) => ({ error })));
  };
  tasks.slice(0, readAhead).forEach(start);
  const unsaved: ChunkStepResult[] = [];
  const save = (): Promise<void> => deps.artifacts.saveSteps(about.revision.spaceId, unsaved.splice(0));
  try {
    for (const [index, task] of tasks.entries()) {
      signal.throwIfAborted();
      const reading = await readings[index];
      start(tasks[index + readAhead]);
      if (!reading) continue;
      const result =
        'error' in reading
          ? readFailed(deps, task, reading.error, signal)
          : await writeReading(deps, task, reading, signal);
      recordTruncation(deps, task, result);
      unsaved.push(result);
      report(index + 1);
      if (result.method === 'model' || unsaved.length >= stepBatchSize) {
        await save();
        await checkLatest(deps, about.revision);
      }
    }
    return unsaved;
  } catch (error) {
    await save();
    throw error;
  }
}

/** Stops model calls for a superseded revision. Fails like a write for a revision that is gone. */
async function checkLatest({ artifacts }: IngestDeps, { spaceId, revisionId }: Revision): Promise<void> {
  if (await artifacts.isLatest(spaceId, revisionId)) return;
  throw new CoreError('CONFLICT', 'The revision is no longer the latest.');
}

/** Saves `unsaved` with the graph's results, in one statement. */
async function addToGraph(
  { artifacts, graph }: IngestDeps,
  spaceId: number,
  chunks: readonly Chunk[],
  unsaved: ChunkStepResult[],
  signal: AbortSignal,
): Promise<void> {
  try {
    for (let first = 0; first < chunks.length; first += graphBatchSize) {
      const ids = chunks.slice(first, first + graphBatchSize).map(({ chunkId }) => chunkId);
      unsaved.push(...(await graph.put(spaceId, ids, signal)));
      await artifacts.saveSteps(spaceId, unsaved.splice(0));
    }
  } finally {
    await artifacts.saveSteps(spaceId, unsaved.splice(0));
  }
}
