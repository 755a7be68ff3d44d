// Dependencies of the ingest steps.
import type { Clock, Log } from '../../core/index.ts';
import type { LedgerRecorder } from '../../ledger/index.ts';
import type { CircuitBreaker } from '../../resilience/index.ts';
import type { ArtifactStore } from '../artifacts/artifact-store.ts';
import type { ChunkStepResult, RemovedIds } from '../artifacts/types.ts';
import type { KnowledgeOptions } from '../options.ts';
import type { Embedders } from '../vectors/embedder.ts';
import type { EventStore } from '../events/event-store.ts';
import type { EntityResolver } from '../entities/resolve-mentions.ts';
import type { VectorIndex } from '../vectors/vector-index.ts';
import type { Readers } from '../reading/reader.ts';
import type { Spaces } from '../spaces/spaces.ts';

/** The graph as a step of ingest; it has its own timeouts and ledger rows. */
export interface GraphStep {
  readonly isWanted: boolean;
  /** Never fails because of the graph: failures are in the step results. */
  put(spaceId: number, chunkIds: readonly number[], signal: AbortSignal): Promise<readonly ChunkStepResult[]>;
  forget(spaceId: number, removed: RemovedIds): Promise<void>;
  removeSpace(spaceId: number): Promise<void>;
}

export interface IngestDeps {
  readonly spaces: Pick<Spaces, 'get'>;
  readonly artifacts: ArtifactStore;
  readonly events: EventStore;
  readonly readers: Readers;
  readonly resolver: Pick<EntityResolver, 'resolve'>;
  readonly embedders: Embedders;
  readonly vectors: Pick<VectorIndex, 'put'>;
  readonly graph: GraphStep;
  readonly ledger: LedgerRecorder;
  readonly clock: Clock;
  readonly log: Log;
  /** Of model calls, shared with entity resolution; default: one of its own. */
  readonly breaker?: CircuitBreaker;
  readonly options: Pick<
    KnowledgeOptions,
    'readingTimeoutMs' | 'embeddingTimeoutMs' | 'cooldownSeconds' | 'backfill'
  >;
}
