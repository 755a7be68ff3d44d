// Makes vectors of chunks, a batch at a time, and keeps them.
import { abortable, kindOf, messageOf } from '../../core/index.ts';
import { withDeadline } from '../../resilience/index.ts';
import { KnowledgeError } from '../errors.ts';
import type { Chunk, ChunkStepResult, Embedder } from '../ports.ts';
import { refusedCause } from '../vectors/types.ts';
import { ingestDegradations, isFatalForJob } from './failure-kinds.ts';
import type { StepParts } from './step-ports.ts';

type EmbedParts = Pick<
  StepParts,
  'artifacts' | 'embedders' | 'vectors' | 'ledger' | 'clock' | 'log' | 'options'
>;

/** For embedders that do not say how many texts a call may take. */
export const defaultBatchSize = 32;
/** An embedder that failed so often in a row is away: the rest waits for the repair. */
const mostFailures = 2;

/** It is there and will not have the text: others may be fine. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof KnowledgeError && error.code === 'KNOWLEDGE_EMBEDDING_FAILED' && !error.isRetryable;

/** What is embedded of a chunk: its artifact's title says what it is about, unless the text begins with it anyway. */
export function embeddedText(title: string, { heading, text }: Pick<Chunk, 'heading' | 'text'>): string {
  const words = (given: string): string => given.replaceAll(/\s+/g, ' ').trim();
  const begins = words(text.slice(0, title.length * 2)).startsWith(words(title));
  return [begins ? '' : title, heading, text].filter((part) => part !== null && part !== '').join('\n');
}

/**
 * Marks each chunk as done, failed or skipped, and records what is missing. Nothing happens where nobody embeds. Fails
 * only when the state store is away or the signal aborts.
 */
export async function embedChunks(
  parts: EmbedParts,
  title: string,
  chunks: readonly Chunk[],
  signal: AbortSignal,
): Promise<void> {
  let failures = 0;
  let why: unknown = null;
  for (let first = 0; first < chunks.length;) {
    const state = parts.embedders.current();
    if (state.state === 'not-configured') return;
    const batch = chunks.slice(first, first + (state.embedder.maxBatchSize ?? defaultBatchSize));
    first += batch.length;
    const isAway = failures >= mostFailures;
    if (!isAway) why = await embedBatch(parts, state.embedder, title, batch, signal);
    // One text that is refused costs itself, not those it was sent with.
    const isParted = !isAway && isRefusal(why) && batch.length > 1;
    let hasSome = why === null;
    for (const own of isParted ? batch.map((chunk) => [chunk]) : [batch]) {
      if (isParted) why = await embedBatch(parts, state.embedder, title, own, signal);
      hasSome ||= why === null;
      await settleEmbedding(parts, own, state.embedder.model, why === null ? null : { isAway, error: why });
    }
    failures = hasSome ? 0 : failures + 1;
  }
}

/** What it failed with; null when the vectors are kept. */
async function embedBatch(
  { vectors, clock, options }: EmbedParts,
  embedder: Embedder,
  title: string,
  chunks: readonly Chunk[],
  signal: AbortSignal,
): Promise<unknown> {
  const deadline = withDeadline(signal, options.embeddingTimeoutMs, clock, 'embedding');
  try {
    const texts = chunks.map((chunk) => embeddedText(title, chunk));
    const made = await abortable(embedder.embed(texts, deadline.signal), deadline.signal);
    const rows = chunks.flatMap(({ chunkId }, index) => {
      const vector = made[index];
      return vector === undefined ? [] : [{ chunkId, vector }];
    });
    if (rows.length < chunks.length) return new RangeError('fewer vectors than texts');
    await vectors.put(chunks[0]?.spaceId ?? 0, embedder.model, rows);
    return null;
  } catch (error) {
    if (isFatalForJob(error, signal)) throw error;
    return error;
  } finally {
    deadline.dispose();
  }
}

/** Of one space. What was embedded is marked; what was not is marked and recorded. */
export async function settleEmbedding(
  {
    artifacts,
    ledger,
    log,
  }: Pick<EmbedParts, 'ledger' | 'log'> & {
    readonly artifacts: Pick<EmbedParts['artifacts'], 'saveSteps'>;
  },
  chunks: readonly (Pick<Chunk, 'chunkId' | 'spaceId' | 'revisionId'> & { readonly artifactUid?: string })[],
  model: string,
  failure: { readonly isAway: boolean; readonly error: unknown } | null,
): Promise<void> {
  const spaceId = chunks[0]?.spaceId ?? 0;
  const cause = failure === null ? '' : isRefusal(failure.error) ? refusedCause : kindOf(failure.error);
  const reason = failure === null ? '' : messageOf(failure.error);
  const message = `This chunk has no vector: ${reason} Search finds it by its words; "headworks repair" embeds it.`;
  const marks = chunks.map(({ chunkId }): ChunkStepResult =>
    failure === null
      ? { chunkId, step: 'embed', status: 'done', method: model }
      : {
          chunkId,
          step: 'embed',
          status: failure.isAway ? 'skipped' : 'failed',
          method: model,
          cause,
          message,
        },
  );
  await artifacts.saveSteps(spaceId, marks);
  if (failure === null) return;
  const { artifactUid = null, revisionId = null } = chunks[0] ?? {};
  const why = { error_type: kindOf(failure.error), error_message: reason };
  log.warn('chunks were not embedded', { chunks: chunks.length, artifactUid, revisionId, cause, ...why });
  for (const { chunkId } of chunks)
    void ledger.record({
      kind: ingestDegradations.notEmbedded,
      subject: String(chunkId),
      cause,
      message,
      details: { artifact_uid: artifactUid, revision_id: revisionId, space_id: spaceId, model, ...why },
    });
}
