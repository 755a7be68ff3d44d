// Plugs knowledge into the house: stores, document reader, models, embedder, graph; and what works beside requests.
import { systemClock, systemIds } from '../core/index.ts';
import type { OpenGateway } from '../gateway/index.ts';
import type { HttpDependencies } from '../http/index.ts';
import { PostgresArtifactStore } from '../knowledge/artifacts/postgres-artifact-store.ts';
import { openEntityService } from '../knowledge/entities/entity-service.ts';
import { EntityStore } from '../knowledge/entities/entity-store.ts';
import { MergeStore } from '../knowledge/entities/merge-store.ts';
import { PairStore } from '../knowledge/entities/pair-store.ts';
import { entityRepairs } from '../knowledge/entities/reconcile.ts';
import { EntityResolver } from '../knowledge/entities/resolve-mentions.ts';
import { EventStore } from '../knowledge/events/event-store.ts';
import { PostgresFolderStore } from '../knowledge/folders/postgres-folder-store.ts';
import type { KnowledgeAlert, LanguageModel, OpenKnowledge } from '../knowledge/index.ts';
import {
  createReaders,
  reembedCron,
  reembedHandler,
  reembedJob,
  reembedKey,
  openKnowledge,
  openSearch,
} from '../knowledge/index.ts';
import { ingestDegradations } from '../knowledge/ingest/failure-kinds.ts';
import { ReadingPatience } from '../knowledge/ingest/read-chunk-patience.ts';
import { chunkRepairs } from '../knowledge/maintenance/chunk-repairs.ts';
import { registeredEntityRepairs } from '../knowledge/maintenance/entity-repairs.ts';
import { searchRepairs } from '../knowledge/maintenance/search-repairs.ts';
import { LexicalIndex } from '../knowledge/search/lexical-index.ts';
import { SearchStore } from '../knowledge/search/results.ts';
import { PostgresSpaceStore } from '../knowledge/spaces/postgres-space-store.ts';
import { VectorIndex } from '../knowledge/vectors/vector-index.ts';
import type { RegisteredRepair } from '../ledger/index.ts';
import { folderFiles } from './folder-files.ts';
import { knowledgeDocuments } from './knowledge-documents.ts';
import type { HouseEmbedders } from './knowledge-embedder.ts';
import { createEmbedders } from './knowledge-embedder.ts';
import type { GraphHouseParts } from './knowledge-graph.ts';
import { startGraph } from './knowledge-graph.ts';
import { embedderKinds, repairWhenModelsAnswer, requestRepairs, whenWarmed } from './request-repairs.ts';
import { languageModelOf } from './workflow-parts.ts';

export interface KnowledgeHouseParts extends GraphHouseParts {
  readonly gateway: OpenGateway;
}

export interface HouseKnowledge {
  readonly desks: HttpDependencies['knowledge'];
  readonly repairs: readonly RegisteredRepair[];
  readonly alerts: { list(): readonly KnowledgeAlert[] };
  /** What embeds here and now. */
  readonly embedders: HouseEmbedders;
  /** Parts that failed lately and are left alone for a while are asked with the next need: somebody wants it now. */
  askAgain(): void;
  /** Takes accepted artifacts, and reads folders in a server that stays. Call it when everything else is ready. */
  work(): Promise<void>;
}

/** Desks at once; nothing is worked on before `work`. Documents are parsed in threads that start at first need. */
export async function startKnowledge(
  parts: KnowledgeHouseParts,
  closing: AsyncDisposableStack,
): Promise<HouseKnowledge> {
  const { config, stores, telemetry, role, jobs, ledger } = parts;
  const { database } = stores;
  const { log } = telemetry;
  const options = config.knowledge;
  // Who reads and who settles names ask the same models: that one is away, both know.
  const patience = new ReadingPatience(systemClock, options.cooldownSeconds * 1_000);
  const common = { clock: systemClock, ids: systemIds, log, ledger, options, patience };
  const entities = new EntityStore(database);
  const onBack = (): void => {
    if (role !== 'command') requestRepairs(jobs, embedderKinds);
  };
  const embedNow = (): void => {
    // A command that is a server for a second could not finish it. The schedule comes anyway.
    if (role !== 'command' && embedders.current().state === 'ready')
      void jobs.enqueue(reembedJob, {}, { key: reembedKey }).catch(() => undefined);
  };
  const embedders = createEmbedders(
    { ...common, gateway: parts.gateway, onBack, onChosen: embedNow },
    closing,
  );
  const vectors = new VectorIndex(database, (model, error) =>
    log.warn('no index for vectors could be made; every one is compared', { model, error }),
  );
  const model = knowledgeModelOf(parts.gateway);
  const readers = createReaders({ model, ids: systemIds, readWithModel: options.readWithModel });
  const artifacts = new PostgresArtifactStore(database, common);
  const graph = await startGraph(parts, artifacts, closing);
  const pairs = new PairStore(database);
  const merges = new MergeStore(database, systemIds);
  const { onChanged } = graph;
  const resolution = { ...common, entities, embedders, model, watch: graph.watch };
  const canUseModel = (): boolean => options.readWithModel && model.isConfigured();
  const steps = {
    ...common,
    spaces: new PostgresSpaceStore(database, systemClock),
    artifacts,
    events: new EventStore(database, common),
    readers,
    resolver: new EntityResolver(resolution),
    embedders,
    vectors,
    graph: graph.keeper,
  };
  const opened: OpenKnowledge = await openKnowledge({
    ...steps,
    folders: new PostgresFolderStore(database),
    files: folderFiles,
    documents: knowledgeDocuments(systemClock, closing),
    onFileHealed: () => requestRepairs(jobs, [ingestDegradations.fileNotIngested]),
    jobs,
  });
  const search = { ...common, embedders, vectors, store: new SearchStore(database) };
  await jobs.define([reembedJob]);
  return {
    desks: {
      spaces: opened.spaces,
      artifacts: opened.artifacts,
      events: opened.events,
      folders: opened.folders,
      entities: openEntityService({ ...common, entities, pairs, merges, onChanged }),
      search: openSearch({
        ...search,
        lexical: new LexicalIndex(database),
        graph: graph.graph,
        onGraphBehind: graph.onBehind,
      }),
      graph: graph.desk,
    },
    repairs: [
      ...opened.repairs,
      ...chunkRepairs(steps),
      ...registeredEntityRepairs({
        entities: entityRepairs({ ...resolution, spaces: steps.spaces, pairs, merges, onChanged }),
        pairs,
        canUseModel,
        options,
      }),
      ...searchRepairs(search),
      ...graph.repairs,
    ],
    alerts: graph.watch,
    embedders,
    askAgain: () => {
      embedders.askAgain();
      graph.graph.askAgain?.();
      embedNow();
    },
    work: async () => {
      // A command that is a server for a moment works on what it brought; what it cannot finish goes on later.
      await opened.work();
      await jobs.work(reembedJob, reembedHandler({ ...steps, jobs }));
      embedNow();
      if (role !== 'command') await jobs.schedule(reembedJob, reembedCron, {});
      await graph.work({ readers, pairs, canUseModel });
      if (role !== 'command')
        closing.defer(telemetry.events.listen(repairWhenModelsAnswer(systemClock, jobs)));
      closing.defer(telemetry.events.listen(whenWarmed(() => embedders.askAgain())));
      if (role === 'serve' || role === 'demo') closing.defer(opened.watchFolders());
    },
  };
}

/** The gateway's models that talk. */
function knowledgeModelOf(gateway: OpenGateway): LanguageModel {
  return {
    ...languageModelOf(gateway),
    isConfigured: () => gateway.models.listCallable().some(({ capabilities }) => !capabilities.embeddings),
  };
}
