// Artifacts: ingest, list, get with an exact status, delete.
import type { JobQueue, JobView } from '../../core/index.ts';
import { CoreError } from '../../core/index.ts';
import { truncationOf } from '../degradations.ts';
import { DocumentModel } from '../documents/document.ts';
import type { ParseDeps } from '../documents/text-threads.ts';
import { parseIngestRequest } from '../documents/text-threads.ts';
import type { IngestDeps } from '../ingest/read-step.ts';
import { defaultBatchSize } from '../ingest/embed-step.ts';
import type { ingestJob } from '../ingest/ingest-job.ts';
import { estimateReading } from '../reading/model-reader.ts';
import type { DroppedCount } from '../reading/types.ts';
import type { Space } from '../spaces/spaces.ts';
import { billingCaller } from '../spaces/spaces.ts';
import type { ArtifactStore } from './artifact-store.ts';
import type {
  ArtifactFilter,
  ArtifactState,
  ArtifactStatus,
  ArtifactView,
  Chunk,
  ChunkStep,
  ChunkStepResult,
  IngestEstimate,
  IngestRequest,
  IngestResult,
  Revision,
  StepStatus,
} from './types.ts';
import { chunkSteps } from './types.ts';

export interface ArtifactsDeps
  extends ParseDeps, Pick<IngestDeps, 'readers' | 'embedders' | 'graph' | 'artifacts'> {
  readonly jobs: Pick<JobQueue, 'enqueue' | 'get'>;
  readonly job: ReturnType<typeof ingestJob>;
}

export class Artifacts {
  /** Size limit of a file or text in bytes. */
  readonly maxDocumentBytes: number;
  readonly #deps: ArtifactsDeps;
  readonly #store: ArtifactStore;

  constructor(deps: ArtifactsDeps) {
    this.#deps = deps;
    this.#store = deps.artifacts;
    this.maxDocumentBytes = deps.maxDocumentBytes;
  }

  /**
   * The job is enqueued in the transaction that stores the document, keyed by the revision. Fails with INPUT_INVALID or
   * KNOWLEDGE_DOCUMENT_UNREADABLE; then nothing was written.
   */
  async ingest(space: Space, request: IngestRequest, signal: AbortSignal): Promise<IngestResult> {
    const { jobs, job, texts } = this.#deps;
    const work = { signal, group: billingCaller(space) };
    const document = await parseIngestRequest(this.#deps, request, work);
    const chunks = await texts.chunk(document.text, work);
    return this.#store.accept(space, document, chunks, (revision, transaction) =>
      jobs.enqueue(job, revision, {
        key: revision.revisionId,
        group: String(revision.spaceId),
        transaction,
      }),
    );
  }

  async estimate(space: Space, request: IngestRequest, signal: AbortSignal): Promise<IngestEstimate> {
    const { readers, embedders, texts } = this.#deps;
    const work = { signal, group: billingCaller(space) };
    const document = await parseIngestRequest(this.#deps, request, work);
    const chunks = await texts.chunk(document.text, work);
    const tokens = chunks.map(({ tokenCount }) => tokenCount);
    const prose = readers.model() ? await texts.hasProse(new DocumentModel(document), chunks, work) : [];
    const toRead = chunks.filter((_, index) => prose[index]);
    const { calls, promptTokens, answerTokens } = estimateReading(toRead.map(({ tokenCount }) => tokenCount));
    const state = embedders.current();
    return {
      chunks: chunks.length,
      tokens: tokens.reduce((sum, count) => sum + count, 0),
      modelCalls: calls,
      promptTokens,
      answerTokens,
      embeddingCalls:
        state.state === 'ready'
          ? Math.ceil(chunks.length / (state.embedder.maxBatchSize ?? defaultBatchSize))
          : 0,
    };
  }

  list(filter: ArtifactFilter): Promise<readonly Revision[]> {
    return this.#store.list(filter);
  }

  /** Fails with NOT_FOUND. */
  async get(space: Space, artifactUid: string): Promise<ArtifactView & { readonly text: string }> {
    const revision = await this.#store.get(space.spaceId, artifactUid);
    if (!revision) throw notFound(artifactUid);
    return { ...revision, status: await this.#statusOf(revision) };
  }

  async revisions(space: Space, artifactUid: string): Promise<readonly Revision[]> {
    const found = await this.#store.revisions(space.spaceId, artifactUid);
    if (found.length === 0) throw notFound(artifactUid);
    return found;
  }

  async delete(space: Space, artifactUid: string): Promise<void> {
    const removed = await this.#store.remove(space.spaceId, artifactUid);
    if (!removed) throw notFound(artifactUid);
    await this.#deps.graph.remove(space.spaceId, removed);
  }

  async #statusOf({ revisionId, jobId, metadata }: Revision): Promise<ArtifactStatus> {
    const { jobs, embedders, graph } = this.#deps;
    const state = embedders.current();
    return artifactStatus({
      chunks: await this.#store.chunks(revisionId),
      steps: await this.#store.steps(revisionId),
      job: jobId === null ? null : await jobs.get(jobId),
      embeddingModel: state.state === 'ready' ? state.embedder.model : null,
      isGraphEnabled: graph.isEnabled,
      truncatedMentions: Number(metadata['mentions_truncated'] ?? 0),
    });
  }
}

const notFound = (artifactUid: string): CoreError =>
  new CoreError(
    'NOT_FOUND',
    `There is no artifact ${JSON.stringify(artifactUid.slice(0, 60))} in this space.`,
  );

export interface StatusInput {
  readonly chunks: readonly Pick<Chunk, 'chunkId' | 'position'>[];
  readonly steps: readonly ChunkStepResult[];
  /** The revision's job; null when it no longer exists. */
  readonly job: Pick<JobView, 'state' | 'attempts' | 'reason'> | null;
  /** The current embedding model; null: embeddings are not configured. */
  readonly embeddingModel: string | null;
  readonly isGraphEnabled: boolean;
  /** Structured mentions beyond the limit of one document. */
  readonly truncatedMentions?: number;
}

type Missing = ArtifactStatus['missing'][number] & { positions: number[] };
type StepCounts = ArtifactStatus['steps'][ChunkStep];

/** Which steps of which chunks are completed, and which are missing and why. */
export function artifactStatus(input: StatusInput): ArtifactStatus {
  const results = new Map(input.steps.map((result) => [`${result.step} ${result.chunkId}`, result]));
  const missing = new Map<string, Missing>();
  const countStep = (step: ChunkStep): StepCounts => {
    const counts: Record<StepStatus | 'queued', number> = { completed: 0, failed: 0, skipped: 0, queued: 0 };
    if (!isEnabled(step, input)) return counts;
    for (const { chunkId, position } of input.chunks) {
      const result = results.get(`${step} ${chunkId}`);
      const status = result && !isOutdated(result, input) ? result.status : 'queued';
      counts[status] += 1;
      const truncation = status === 'completed' && result ? truncationOf(result) : null;
      if (truncation)
        addMissing(
          missing,
          { step, state: status, cause: truncation.cause, message: truncation.message },
          position,
        );
      if (status !== 'completed')
        addMissing(missing, { step, state: status, ...causeOf(step, status, result, input) }, position);
    }
    return counts;
  };
  if (input.truncatedMentions) missing.set('', truncatedMentionsRow(input.truncatedMentions));
  const [index, read, embed, graph] = chunkSteps.map(countStep) as [
    StepCounts,
    StepCounts,
    StepCounts,
    StepCounts,
  ];
  return {
    state: stateOf(input, missing.size),
    chunks: input.chunks.length,
    steps: { index, read, embed, graph },
    readByRules: input.steps.filter(isReadByRules).length,
    modelFallbacks: modelFallbacksOf(input),
    dropped: droppedOf(input),
    missing: [...missing.values()],
  };
}

const isReadByRules = ({ step, method }: ChunkStepResult): boolean => step === 'read' && method === 'rules';

/** Chunks read by rules because a model call failed: the step result has the cause. */
function modelFallbacksOf({ chunks, steps }: StatusInput): ArtifactStatus['modelFallbacks'] {
  const positions = new Map(chunks.map(({ chunkId, position }) => [chunkId, position]));
  const byCause = Map.groupBy(
    steps.filter((step) => isReadByRules(step) && step.status === 'completed' && step.cause !== undefined),
    ({ cause = '' }) => cause,
  );
  return Array.from(byCause, ([cause, results]) => ({
    cause,
    positions: results.flatMap(({ chunkId }) => positions.get(chunkId) ?? []),
  }));
}

/** Each reason once, with the sum over all chunks. */
function droppedOf({ chunks, steps }: StatusInput): ArtifactStatus['dropped'] {
  const positions = new Map(chunks.map(({ chunkId, position }) => [chunkId, position]));
  const byReason = new Map<DroppedCount['reason'], { count: number; positions: number[] }>();
  for (const { chunkId, dropped = [] } of steps)
    for (const { reason, count } of dropped) {
      const sum = byReason.get(reason) ?? { count: 0, positions: [] };
      const position = positions.get(chunkId);
      sum.count += count;
      if (position !== undefined) sum.positions.push(position);
      byReason.set(reason, sum);
    }
  return Array.from(byReason, ([reason, sum]) => ({ reason, ...sum }));
}

/** Belongs to no chunk: structured mentions are known without reading one. */
const truncatedMentionsRow = (count: number): Missing => ({
  step: 'read',
  positions: [],
  state: 'completed',
  cause: 'READING_TOO_LARGE',
  message: `The fields name more people and things than the limit of one document; not stored: ${count}. Split the document and ingest it again.`,
});

function isEnabled(step: ChunkStep, { embeddingModel, isGraphEnabled }: StatusInput): boolean {
  return step === 'embed' ? embeddingModel !== null : step !== 'graph' || isGraphEnabled;
}

/** A vector of another model cannot be compared. */
const isOutdated = ({ step, method }: ChunkStepResult, { embeddingModel }: StatusInput): boolean =>
  step === 'embed' && method !== undefined && method !== embeddingModel;

function causeOf(
  step: ChunkStep,
  status: StepStatus | 'queued',
  result: ChunkStepResult | undefined,
  { job }: StatusInput,
): Pick<Missing, 'cause' | 'message'> {
  if (status !== 'queued') return { cause: result?.cause ?? null, message: result?.message ?? null };
  if (job?.state === 'running') return { cause: 'JOB_RUNNING', message: 'Its job is running.' };
  if (job?.state === 'queued')
    return {
      cause: 'JOB_QUEUED',
      message: job.attempts === 0 ? 'Its job is queued.' : 'Its job failed and will be retried.',
    };
  const reason = (job?.reason ?? 'unknown reason').replace(/\.$/, '');
  const failure = job?.state === 'failed' ? `Its job failed: ${reason}. ` : '';
  const why =
    step === 'embed' && result?.method !== undefined
      ? `Its vector was made by ${result.method}, which is no longer the embedding model. `
      : failure;
  const isRetriedLater = failure !== '' && (step === 'read' || step === 'graph');
  const next = isRetriedLater ? afterFailedJob : nextSteps[step];
  return { cause: failure === '' ? 'NOT_TRIED' : 'JOB_FAILED', message: why + next };
}

/** Done by the jobs `knowledge.backfill` and `knowledge.reembed` of a running server. */
const nextSteps: Readonly<Record<ChunkStep, string>> = {
  index: 'It cannot be searched. Delete the artifact and ingest it again.',
  read: 'A running server reads it within five minutes.',
  embed: 'A running server embeds it within 15 minutes; until then search finds it by its words.',
  graph: 'A running server adds it to the graph within five minutes after it was read.',
};

const afterFailedJob =
  'A running server runs it again, after a delay that doubles up to six hours; "headworks jobs retry" runs it at once.';

/** One row for all chunks that miss the same for the same reason. */
function addMissing(missing: Map<string, Missing>, row: Omit<Missing, 'positions'>, position: number): void {
  const key = JSON.stringify([row.step, row.state, row.cause, row.message]);
  const existing = missing.get(key);
  if (existing) existing.positions.push(position);
  else missing.set(key, { ...row, positions: [position] });
}

function stateOf({ job }: StatusInput, missing: number): ArtifactState {
  if (missing === 0) return 'completed';
  return job?.state === 'queued' || job?.state === 'running' ? job.state : 'degraded';
}
