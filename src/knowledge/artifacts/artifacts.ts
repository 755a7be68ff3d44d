// Artifacts as people, the HTTP API and workflows handle them.
import type { JobQueue } from '../../core/index.ts';
import { CoreError } from '../../core/index.ts';
import type { ArtifactDesk, ArtifactView, IngestEstimate, IngestRequest } from '../desk-ports.ts';
import type {
  IngestResult,
  ArtifactFilter,
  ArtifactStore,
  Embedders,
  ParsedDocument,
  Revision,
  Space,
} from '../ports.ts';
import { estimateReading } from '../reading/create-readers.ts';
import { artifactStatus } from './artifact-status.ts';
import { chunkText } from '../documents/chunk-text.ts';
import { hasProse } from '../documents/data-prose.ts';
import { defaultBatchSize } from '../ingest/embed-chunks.ts';
import type { ingestJob } from '../ingest/ingest-job.ts';
import type { ParseDeps } from '../documents/read-wish.ts';
import { parseIngestRequest } from '../documents/read-wish.ts';
import type { GraphStep, Readers } from '../ingest/step-ports.ts';

export interface ArtifactsParts extends ParseDeps {
  readonly store: ArtifactStore;
  readonly jobs: Pick<JobQueue, 'enqueue' | 'get'>;
  readonly job: ReturnType<typeof ingestJob>;
  readonly readers: Pick<Readers, 'model'>;
  readonly embedders: Embedders;
  readonly graph: GraphStep;
}

export class Artifacts implements ArtifactDesk {
  readonly maxDocumentBytes: number;
  readonly #parts: ArtifactsParts;

  constructor(parts: ArtifactsParts) {
    this.#parts = parts;
    this.maxDocumentBytes = parts.maxDocumentBytes;
  }

  async ingest(space: Space, wish: IngestRequest, signal: AbortSignal): Promise<IngestResult> {
    return this.take(space, await parseIngestRequest(this.#parts, wish, signal));
  }

  /** What has been read already. */
  take(space: Space, incoming: ParsedDocument): Promise<IngestResult> {
    const { store, jobs, job } = this.#parts;
    return store.accept(space, incoming, chunkText(incoming.text), (revision, transaction) =>
      jobs.enqueue(job, revision, { key: revision.revisionId, transaction }),
    );
  }

  async estimate(_space: Space, wish: IngestRequest, signal: AbortSignal): Promise<IngestEstimate> {
    const { readers, embedders } = this.#parts;
    const incoming = await parseIngestRequest(this.#parts, wish, signal);
    const chunks = chunkText(incoming.text);
    const tokens = chunks.map(({ tokenCount }) => tokenCount);
    const toRead = readers.model() ? chunks.filter((chunk) => hasProse(incoming, chunk)) : [];
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
    return this.#parts.store.list(filter);
  }

  async get(space: Space, artifactUid: string): Promise<ArtifactView & { readonly text: string }> {
    const { store } = this.#parts;
    const latest = await store.get(space.spaceId, artifactUid);
    const revision = latest && (await store.revision(space.spaceId, latest.revisionId));
    if (!revision) throw unknown(artifactUid);
    return { ...revision, status: await this.#statusOf(revision) };
  }

  async revisions(space: Space, artifactUid: string): Promise<readonly Revision[]> {
    const found = await this.#parts.store.revisions(space.spaceId, artifactUid);
    if (found.length === 0) throw unknown(artifactUid);
    return found;
  }

  async remove(space: Space, artifactUid: string): Promise<void> {
    const gone = await this.#parts.store.remove(space.spaceId, artifactUid);
    if (!gone) throw unknown(artifactUid);
    await this.#parts.graph.forget(space.spaceId, gone);
  }

  async #statusOf({ revisionId, jobId, metadata }: Revision): Promise<ArtifactView['status']> {
    const { store, jobs, embedders, graph } = this.#parts;
    const job = jobId === null ? null : await jobs.get(jobId);
    const state = embedders.current();
    return artifactStatus({
      chunks: await store.chunks(revisionId),
      steps: await store.steps(revisionId),
      job,
      embeddingModel: state.state === 'ready' ? state.embedder.model : null,
      isGraphWanted: graph.isWanted,
      truncatedMentions: Number(metadata['mentions_truncated'] ?? 0),
    });
  }
}

const unknown = (artifactUid: string): CoreError =>
  new CoreError(
    'NOT_FOUND',
    `There is no artifact ${JSON.stringify(artifactUid.slice(0, 60))} in this space.`,
  );
