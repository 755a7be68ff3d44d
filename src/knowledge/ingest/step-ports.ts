// What working on a chunk needs of other parts, each of which may be away.
import type { Clock, Log } from '../../core/index.ts';
import type { LedgerRecorder } from '../../ledger/index.ts';
import type { EventStore } from '../events/event-store.ts';
import type { KnowledgeOptions } from '../options.ts';
import type {
  ArtifactStore,
  ChunkStepResult,
  Embedders,
  Reader,
  RemovedIds,
  Resolver,
  SpaceStore,
} from '../ports.ts';
import type { VectorIndex } from '../vectors/vector-index.ts';
import type { ReadingPatience } from './read-chunk-patience.ts';

/** Who reads: a model while one is configured and wanted, else rules; looked up at every chunk. */
export interface Readers {
  readonly rules: Reader;
  model(): Reader | null;
}

/** The graph as a step of ingest; it has its own timeouts and its own rows in the ledger. */
export interface GraphStep {
  /** False: there is none, and none is wanted. */
  readonly isWanted: boolean;
  /** Puts what is known of these chunks into the graph. Never fails because of the graph: the marks say it. */
  put(spaceId: number, chunkIds: readonly number[], signal: AbortSignal): Promise<readonly ChunkStepResult[]>;
  /** Takes out what is no more. Never fails because of the graph. */
  forget(spaceId: number, gone: RemovedIds): Promise<void>;
  /** The same for a whole space. */
  forgetSpace(spaceId: number): Promise<void>;
}

/** Where none is wanted. */
export const noGraph: GraphStep = {
  isWanted: false,
  put: async () => [],
  forget: async () => undefined,
  forgetSpace: async () => undefined,
};

export interface StepParts {
  readonly spaces: Pick<SpaceStore, 'byId'>;
  readonly artifacts: ArtifactStore;
  readonly events: EventStore;
  readonly readers: Readers;
  readonly resolver: Resolver;
  readonly embedders: Embedders;
  readonly vectors: Pick<VectorIndex, 'put'>;
  readonly graph: GraphStep;
  readonly ledger: LedgerRecorder;
  readonly clock: Clock;
  readonly log: Log;
  /** With whoever else asks models in this process; without it one of its own. */
  readonly patience?: ReadingPatience;
  readonly options: Pick<KnowledgeOptions, 'readingTimeoutMs' | 'embeddingTimeoutMs' | 'cooldownSeconds'>;
}
