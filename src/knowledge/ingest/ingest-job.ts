// The job that processes an accepted revision: structured mentions, then chunk by chunk in order, vectors in parallel, graph last.
import { z } from 'zod';
import type { CircuitBreaker } from '../../resilience/index.ts';
import type { JobContext, JobDefinition, JobHandler } from '../../core/index.ts';
import { CoreError } from '../../core/index.ts';
import { isStaleRevision, retryOnConflict } from '../degradations.ts';
import type { Chunk, ChunkStep, ChunkStepResult, Revision } from '../artifacts/types.ts';
import type { EntityMention, Reading, StructuredMention } from '../reading/types.ts';
import { billingCaller } from '../spaces/spaces.ts';
import { embedChunks } from './embed-step.ts';
import { modelCircuitBreaker } from '../degradations.ts';
import type { ReadChunkTask } from './read-step.ts';
import { notRead, readingOf, recordTruncation, writeReading } from './read-step.ts';
import type { IngestDeps } from './deps.ts';

const payload = z.strictObject({ spaceId: z.number().int(), revisionId: z.guid() });

export type IngestJobPayload = z.infer<typeof payload>;

export const ingestJobName = 'knowledge.ingest';

/** Only a job that hangs meets it: chunks that are done stay done, and the next try goes on behind them. */
const timeoutMs = 6 * 3_600_000;

export function ingestJob(concurrency: number): JobDefinition<IngestJobPayload> {
  return {
    name: ingestJobName,
    description: 'Reads an artifact, finds entities and events in it, embeds it and puts it into the graph.',
    parse: (raw) => payload.parse(raw),
    // Five tries in all, waiting min(30·2ⁿ, 600) seconds.
    retries: 4,
    retryDelayMs: 30_000,
    retryBackoff: true,
    retryDelayMaxMs: 600_000,
    concurrency,
    timeoutMs,
  };
}

/** Chunks of one artifact that are with a model at the same time; they are written in order. */
const readAhead = 4;

/**
 * The job ends as done whatever happened to single chunks: their steps and the ledger tell. It fails, to be tried again
 * behind what is done, only when the state store is away.
 */
export function ingestHandler(parts: IngestDeps): JobHandler<IngestJobPayload> {
  const breaker = parts.breaker ?? modelCircuitBreaker(parts.clock, parts.options);
  const payers = new Payers(parts.spaces);
  return async ({ spaceId, revisionId }, context) => {
    const [caller, revision] = await Promise.all([
      payers.of(spaceId),
      parts.artifacts.revision(spaceId, revisionId),
    ]);
    if (caller === null || !revision) return removed;
    if (!revision.isLatest) return replaced;
    try {
      const chunks = await workOn(parts, { revision, caller, breaker }, context);
      return { result: { artifactUid: revision.artifactUid, chunks } };
    } catch (error) {
      if (isStaleRevision(error))
        return (await parts.artifacts.revision(spaceId, revisionId)) ? replaced : removed;
      throw error;
    }
  };
}

const removed = { skipped: 'The artifact was removed.' };
const replaced = { skipped: 'A newer revision took its place.' };

/** Who pays for what is read in a space. That never changes: it is looked up once, not for every document. */
class Payers {
  readonly #spaces: IngestDeps['spaces'];
  readonly #known = new Map<number, string>();

  constructor(spaces: IngestDeps['spaces']) {
    this.#spaces = spaces;
  }

  /** Null when there is no such space. Of one that was removed it may still be known: it has no revisions then. */
  async of(spaceId: number): Promise<string | null> {
    const known = this.#known.get(spaceId);
    if (known !== undefined) return known;
    const space = await this.#spaces.get(spaceId);
    if (!space) return null;
    const payer = billingCaller(space);
    if (this.#known.size >= mostPayers) this.#known.clear();
    this.#known.set(spaceId, payer);
    return payer;
  }
}

const mostPayers = 10_000;

interface About extends Omit<ReadChunkTask, 'chunk'> {
  readonly breaker: CircuitBreaker;
}

/** How many chunks it has. */
async function workOn(parts: IngestDeps, about: About, { signal, progress }: JobContext): Promise<number> {
  const { revision, caller } = about;
  const [chunks, done] = await Promise.all([
    parts.artifacts.chunks(revision.revisionId),
    doneSteps(parts, revision.revisionId),
  ]);
  const todo = (step: ChunkStep) => chunks.filter(({ chunkId }) => !done.has(`${step} ${chunkId}`));
  await writeStructured(parts, revision, caller, signal);
  const reads = todo('read');
  const tell = (count: number): void =>
    progress({ done: chunks.length - reads.length + count, total: chunks.length });
  tell(0);
  const stop = new AbortController();
  const within = AbortSignal.any([signal, stop.signal]);
  const work = [
    readAll(parts, about, reads, tell, within),
    embedChunks(parts, revision.title, todo('embed'), within),
  ] as const;
  try {
    const [marks] = await Promise.all(work);
    await putIntoGraph(parts, revision.spaceId, parts.graph.isWanted ? todo('graph') : [], marks, signal);
  } catch (error) {
    stop.abort(error);
    await Promise.allSettled(work);
    throw error;
  }
  return chunks.length;
}

async function doneSteps({ artifacts, embedders }: IngestDeps, revisionId: string): Promise<Set<string>> {
  const state = embedders.current();
  const model = state.state === 'ready' ? state.embedder.model : null;
  const steps = await artifacts.steps(revisionId);
  const isDone = ({ step, status, method }: (typeof steps)[number]): boolean =>
    status === 'done' && (step !== 'embed' || method === model);
  return new Set(steps.filter(isDone).map(({ step, chunkId }) => `${step} ${chunkId}`));
}

async function writeStructured(
  { resolver, events, graph }: IngestDeps,
  revision: Revision,
  caller: string,
  signal: AbortSignal,
): Promise<void> {
  const given = (revision.metadata['mentions'] ?? []) as readonly StructuredMention[];
  if (given.length === 0) return;
  const { spaceId, artifactUid, revisionId } = revision;
  const place = { spaceId, artifactUid, revisionId };
  const mentions = given.map(mentionOf);
  const gone = await retryOnConflict(async () => {
    const whole = { ...place, chunkId: null, relation: null };
    const results = await resolver.resolve(mentions, whole, caller, signal);
    const found = mentions.flatMap((mention, index) => {
      const result = results[index];
      return result ? [{ mention, relation: given[index]?.relation ?? 'other', result }] : [];
    });
    return events.writeStructured(place, found);
  });
  if (gone.entityIds.length > 0) await graph.forget(spaceId, gone);
}

const mentionOf = (given: StructuredMention, index: number): EntityMention => ({
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

/** What was read and is not marked yet. */
async function readAll(
  parts: IngestDeps,
  { breaker, ...about }: About,
  chunks: readonly Chunk[],
  tell: (count: number) => void,
  signal: AbortSignal,
): Promise<ChunkStepResult[]> {
  const tasks = chunks.map((chunk) => ({ ...about, chunk }));
  const started: Promise<Reading | { readonly error: unknown }>[] = [];
  const start = (task: ReadChunkTask | undefined): void => {
    if (task) started.push(readingOf(parts, task, signal, breaker).catch((error: unknown) => ({ error })));
  };
  tasks.slice(0, readAhead).forEach(start);
  const marks: ChunkStepResult[] = [];
  const keep = async (): Promise<void> => {
    await parts.artifacts.saveSteps(about.revision.spaceId, marks.splice(0));
  };
  try {
    for (const [index, task] of tasks.entries()) {
      signal.throwIfAborted();
      const reading = await started[index];
      start(tasks[index + readAhead]);
      if (!reading) continue;
      const mark =
        'error' in reading
          ? notRead(parts, task, reading.error, signal)
          : await writeReading(parts, task, reading, signal);
      recordTruncation(parts, task, mark);
      marks.push(mark);
      tell(index + 1);
      // What a model read is not to be paid for twice; what rules read costs little.
      if (mark.method === 'model' || marks.length >= marksAtOnce) {
        await keep();
        await checkLatest(parts, about.revision);
      }
    }
    return marks;
  } catch (error) {
    await keep();
    throw error;
  }
}

const marksAtOnce = 20;

/** Nobody pays for the rest of a revision that a newer one replaced. Fails as writing for one that is gone does. */
async function checkLatest({ artifacts }: IngestDeps, { spaceId, revisionId }: Revision): Promise<void> {
  if (await artifacts.isLatest(spaceId, revisionId)) return;
  throw new CoreError('CONFLICT', 'The revision is not the latest any more.');
}

/** Enough for one statement of the graph, few enough that what was done is soon marked. */
const graphAtOnce = 50;

/** With marks that are still to be written: one statement does for both. */
async function putIntoGraph(
  { artifacts, graph }: IngestDeps,
  spaceId: number,
  chunks: readonly Chunk[],
  marks: ChunkStepResult[],
  signal: AbortSignal,
): Promise<void> {
  try {
    for (let first = 0; first < chunks.length; first += graphAtOnce) {
      const ids = chunks.slice(first, first + graphAtOnce).map(({ chunkId }) => chunkId);
      marks.push(...(await graph.put(spaceId, ids, signal)));
      await artifacts.saveSteps(spaceId, marks.splice(0));
    }
  } finally {
    await artifacts.saveSteps(spaceId, marks.splice(0));
  }
}
