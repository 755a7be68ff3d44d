// Opens knowledge for an evaluation: documents are processed as soon as they are ingested, and read by rules only.
import type { Clock, IdSource, JobContext } from '../../src/core/index.ts';
import { EventBus, seededRandom, silentLog } from '../../src/core/index.ts';
import type { KnowledgeServices, Space } from '../../src/knowledge/index.ts';
import type { Embedders } from '../../src/knowledge/vectors/embedders.ts';
import type { EntityService } from '../../src/knowledge/entities/entity-service.ts';
import type { EventStore } from '../../src/knowledge/events/event-store.ts';
import type { KnowledgeOptions } from '../../src/knowledge/options.ts';
import type { LanguageModel } from '../../src/knowledge/models/structured-output.ts';
import { openKnowledge } from '../../src/knowledge/index.ts';
import { jobEventSpecs } from '../../src/platform/jobs/events.ts';
import { createMemoryJobQueue } from '../../test/support/jobs/memory-job-queue.ts';
import type { Database } from '../../src/platform/postgres/ports.ts';

export interface EvaluationServiceDeps {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly embedders: Embedders;
  readonly options: KnowledgeOptions;
  readonly signal: AbortSignal;
}

const noModel: LanguageModel = {
  isConfigured: () => false,
  complete: () => Promise.reject(new Error('An evaluation calls no model.')),
};

/** `ingest` resolves when the document is completely processed. */
export async function openEvaluationServices(given: EvaluationServiceDeps): Promise<Omit<NurDeps, 'space'>> {
  const { clock, ids, signal, embedders } = given;
  const knowledge = await openKnowledge({
    ...given,
    options: { ...given.options, graphBackend: 'off', readWithModel: false },
    log: silentLog,
    ledger: { record: async () => undefined },
    model: noModel,
    overrides: { embedders },
    jobs: createMemoryJobQueue({
      clock,
      random: seededRandom(1),
      ids,
      events: new EventBus(jobEventSpecs),
    }),
  });
  const { artifacts, entities, events, search } = knowledge;
  const context: JobContext = { id: 'evaluation', attempt: 1, signal, progress: () => undefined };
  return {
    artifacts: {
      ingest: async (space, request) => {
        const result = await artifacts.ingest(space, request, signal);
        await knowledge.handleIngest({ spaceId: space.spaceId, revisionId: result.revisionId }, context);
        return result;
      },
      get: (space, artifactUid) => artifacts.get(space, artifactUid),
    },
    entities,
    events,
    search,
    clock,
    signal,
  };
}

export interface NurDeps {
  /** A new space for this evaluation. */
  readonly space: Space;
  readonly artifacts: Pick<KnowledgeServices['artifacts'], 'ingest' | 'get'>;
  readonly entities: Pick<EntityService, 'list' | 'get'>;
  readonly events: Pick<EventStore, 'list'>;
  readonly search: KnowledgeServices['search'];
  readonly clock: Clock;
  readonly signal: AbortSignal;
}
