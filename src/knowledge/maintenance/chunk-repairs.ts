// Chunks that were not read, not whole or without a model, or have no vector: done again, one by one.
import { kindOf } from '../../core/index.ts';
import type { LedgerEntry, RegisteredRepair, RepairOutcome } from '../../ledger/index.ts';
import { truncationOf } from '../artifacts/artifact-status.ts';
import { embedChunks } from '../ingest/embed-chunks.ts';
import { ingestDegradations, isFatalForJob } from '../ingest/failure-kinds.ts';
import type { ReadChunkTask } from '../ingest/read-chunk.ts';
import { readByModel, readingOf, recordTruncation, writeReading } from '../ingest/read-chunk.ts';
import type { StepParts } from '../ingest/step-ports.ts';
import type { KnowledgeOptions } from '../options.ts';
import type { Reading, ChunkStepResult } from '../ports.ts';
import { billingCaller } from '../spaces/payer-of.ts';
import { gone, repaired, noopLedger, spaceOf, stillBroken } from './outcomes.ts';

/** Why a chunk is to be read again that nobody failed to read. */
export const modelCameLater = 'MODEL_NOT_CONFIGURED';

export function chunkRepairs(
  parts: StepParts & { readonly options: Pick<KnowledgeOptions, 'backfill'> },
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
async function taskOf(parts: StepParts, entry: LedgerEntry): Promise<ReadChunkTask | null> {
  const spaceId = spaceOf(entry);
  const space = await parts.spaces.byId(spaceId);
  const chunk = space && (await parts.artifacts.chunk(spaceId, Number(entry.subject)));
  const revision = chunk && (await parts.artifacts.revision(spaceId, chunk.revisionId));
  if (!space || !chunk || !revision?.isLatest) return null;
  return { chunk, revision, caller: billingCaller(space) };
}

async function readAgain(
  parts: StepParts,
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

async function embedAgain(parts: StepParts, entry: LedgerEntry, signal: AbortSignal): Promise<RepairOutcome> {
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
  { artifacts }: StepParts,
  { chunk }: ReadChunkTask,
): Promise<ChunkStepResult | undefined> {
  const marks = await artifacts.steps(chunk.revisionId);
  return marks.find(({ chunkId, step }) => chunkId === chunk.chunkId && step === 'embed');
}

const isDoneBy = (mark: ChunkStepResult | undefined, model: string): boolean =>
  mark?.status === 'done' && mark.method === model;
