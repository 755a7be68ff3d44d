// The desks of knowledge over a store of an evaluation: what is taken in is worked on at once, read by rules alone.
import type { Clock, IdSource, JobContext } from '../core/index.ts';
import { EventBus, seededRandom, silentLog } from '../core/index.ts';
import type { NurParts } from '../knowledge/evaluation/nur.ts';
import type { Embedders, KnowledgeOptions, LanguageModel } from '../knowledge/index.ts';
import { createReaders, noGraph, openSearch } from '../knowledge/index.ts';
import { Artifacts } from '../knowledge/artifacts/artifacts.ts';
import { eventDesk } from '../knowledge/ingest/events.ts';
import { ingestHandler } from '../knowledge/ingest/ingest-handler.ts';
import { ingestJob } from '../knowledge/ingest/ingest-job.ts';
import { PostgresArtifactStore } from '../knowledge/artifacts/postgres-artifact-store.ts';
import { PostgresEntityStore } from '../knowledge/entities/postgres-entity-store.ts';
import { PostgresEventStore } from '../knowledge/events/postgres-event-store.ts';
import { offGraph } from '../knowledge/graph/off-graph.ts';
import { PostgresLexicalIndex } from '../knowledge/search/postgres-lexical-index.ts';
import { PostgresMergeStore } from '../knowledge/entities/postgres-merge-store.ts';
import { PostgresPairStore } from '../knowledge/entities/postgres-pair-store.ts';
import { PostgresSearchStore } from '../knowledge/search/postgres-search-store.ts';
import { PostgresSpaceStore } from '../knowledge/spaces/postgres-space-store.ts';
import { PostgresVectorIndex } from '../knowledge/vectors/postgres-vector-index.ts';
import { EntityResolver, openEntityDesk } from '../knowledge/resolution/index.ts';
import { jobEventSpecs } from '../platform/jobs/job-events.ts';
import { createMemoryJobQueue } from '../platform/jobs/memory-job-queue.ts';
import type { Database } from '../platform/postgres/index.ts';

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
  const entities = new PostgresEntityStore(database);
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
    events: new PostgresEventStore(database, given),
    vectors: new PostgresVectorIndex(database),
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
    entities: openEntityDesk({
      ...parts,
      entities,
      pairs: new PostgresPairStore(database),
      merges: new PostgresMergeStore(database, ids),
    }),
    events: eventDesk(parts.events),
    search: openSearch({
      ...parts,
      lexical: new PostgresLexicalIndex(database),
      store: new PostgresSearchStore(database),
      graph: offGraph,
    }),
    clock,
    signal,
  };
}
