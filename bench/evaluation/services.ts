// The desks of knowledge over a store of an evaluation: what is taken in is worked on at once, read by rules alone.
import type { Clock, IdSource, JobContext } from '../../src/core/index.ts';
import { EventBus, seededRandom, silentLog } from '../../src/core/index.ts';
import { Artifacts } from '../../src/knowledge/artifacts/artifacts.ts';
import { PostgresArtifactStore } from '../../src/knowledge/artifacts/postgres-artifact-store.ts';
import type {
  ArtifactDesk,
  EntityService,
  EventService,
  SearchService,
} from '../../src/knowledge/desk-ports.ts';
import { openEntityService } from '../../src/knowledge/entities/entity-service.ts';
import { EntityStore } from '../../src/knowledge/entities/entity-store.ts';
import { MergeStore } from '../../src/knowledge/entities/merge-store.ts';
import { PairStore } from '../../src/knowledge/entities/pair-store.ts';
import { EntityResolver } from '../../src/knowledge/entities/resolve-mentions.ts';
import { openEventService, EventStore } from '../../src/knowledge/events/event-store.ts';
import { offGraph } from '../../src/knowledge/graph/graph.ts';
import type { Embedders, KnowledgeOptions, LanguageModel } from '../../src/knowledge/index.ts';
import { createReaders, noGraph, openSearch } from '../../src/knowledge/index.ts';
import { ingestHandler } from '../../src/knowledge/ingest/ingest-handler.ts';
import { ingestJob } from '../../src/knowledge/ingest/ingest-job.ts';
import type { Space } from '../../src/knowledge/ports.ts';
import { LexicalIndex } from '../../src/knowledge/search/lexical-index.ts';
import { SearchStore } from '../../src/knowledge/search/results.ts';
import { PostgresSpaceStore } from '../../src/knowledge/spaces/postgres-space-store.ts';
import { VectorIndex } from '../../src/knowledge/vectors/vector-index.ts';
import { jobEventSpecs } from '../../src/platform/jobs/job-events.ts';
import { createMemoryJobQueue } from '../../src/platform/jobs/memory-job-queue.ts';
import type { Database } from '../../src/platform/postgres/ports.ts';

export interface EvaluationDeskParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly embedders: Embedders;
  readonly options: KnowledgeOptions;
  readonly signal: AbortSignal;
}

const noModel: LanguageModel = {
  isConfigured: () => false,
  complete: () => Promise.reject(new Error('An evaluation asks no model.')),
};

/** `ingest` resolves when everything about the document is done. */
export async function openEvaluationDesks(given: EvaluationDeskParts): Promise<Omit<NurParts, 'space'>> {
  const { database, clock, ids, signal } = given;
  const entities = new EntityStore(database);
  const store = new PostgresArtifactStore(database, given);
  const jobs = createMemoryJobQueue({
    clock,
    random: seededRandom(1),
    ids,
    events: new EventBus(jobEventSpecs, () => clock.now()),
  });
  const parts = {
    ...given,
    log: silentLog,
    ledger: { record: async () => undefined },
    spaces: new PostgresSpaceStore(database, clock),
    artifacts: store,
    events: new EventStore(database, given),
    vectors: new VectorIndex(database),
    readers: createReaders({ model: noModel, ids, readWithModel: false }),
    graph: noGraph,
  };
  const job = ingestJob(1);
  await jobs.define([job]);
  const desk = new Artifacts({
    ...parts,
    store,
    jobs,
    job,
    documents: { read: () => Promise.reject(new Error('An evaluation takes in texts only.')) },
    maxDocumentBytes: given.options.maxDocumentBytes,
  });
  const resolver = new EntityResolver({ ...parts, entities, model: noModel });
  const work = ingestHandler({ ...parts, resolver });
  const context: JobContext = { id: 'evaluation', attempt: 1, signal, progress: () => undefined };
  return {
    artifacts: {
      ingest: async (space, wish) => {
        const accepted = await desk.ingest(space, wish, signal);
        await work({ spaceId: space.spaceId, revisionId: accepted.revisionId }, context);
        return accepted;
      },
      get: (space, artifactUid) => desk.get(space, artifactUid),
    },
    entities: openEntityService({
      ...parts,
      entities,
      pairs: new PairStore(database),
      merges: new MergeStore(database, ids),
    }),
    events: openEventService(parts.events),
    search: openSearch({
      ...parts,
      lexical: new LexicalIndex(database),
      store: new SearchStore(database),
      graph: offGraph,
    }),
    clock,
    signal,
  };
}

export interface NurParts {
  /** A fresh one. */
  readonly space: Space;
  readonly artifacts: Pick<ArtifactDesk, 'ingest' | 'get'>;
  readonly entities: Pick<EntityService, 'list' | 'get'>;
  readonly events: Pick<EventService, 'list'>;
  readonly search: SearchService;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}
