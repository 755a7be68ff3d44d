// Opens knowledge: all wiring of stores, services, jobs and repairs, for server, tests and evaluation.
import type { Clock, EmittedEvent, IdSource, JobHandler, JobQueue, Log } from '../core/index.ts';
import { every, kindOf } from '../core/index.ts';
import type { LedgerRecorder, RegisteredRepair } from '../ledger/index.ts';
import { requestRepairs } from '../ledger/index.ts';
import type { Database } from '../platform/postgres/ports.ts';
import type { Metrics } from '../platform/telemetry/metrics.ts';
import { ArtifactStore } from './artifacts/artifact-store.ts';
import { Artifacts } from './artifacts/artifacts.ts';
import { ingestDegradations, modelCircuitBreaker } from './degradations.ts';
import type { DocumentReader } from './documents/text-threads.ts';
import { openFileParser, TextThreads } from './documents/text-threads.ts';
import { EntityService } from './entities/entity-service.ts';
import { EntityStore } from './entities/entity-store.ts';
import { MergeStore } from './entities/merge-store.ts';
import { PairStore } from './entities/pair-store.ts';
import { EntityRepairs } from './entities/reconcile.ts';
import { EntityResolver } from './entities/resolve-mentions.ts';
import { EventStore } from './events/event-store.ts';
import { folderFiles } from './folders/folder-files.ts';
import type { FolderFiles } from './folders/folder-store.ts';
import { FolderStore } from './folders/folder-store.ts';
import { Folders } from './folders/folders.ts';
import { AgeGraph } from './graph/age/age-graph.ts';
import { countNeedsReview, GraphService } from './graph/graph-service.ts';
import { GraphSource } from './graph/graph-source.ts';
import { GraphSync, graphRebuildHandler, graphRebuildJob } from './graph/graph-sync.ts';
import type { Graph } from './graph/graph.ts';
import { offGraph } from './graph/graph.ts';
import { SqlGraph } from './graph/sql-graph.ts';
import { reembedCron, reembedHandler, reembedJob, reembedKey } from './ingest/embed-step.ts';
import type { IngestJobPayload } from './ingest/ingest-job.ts';
import { ingestHandler, ingestJob } from './ingest/ingest-job.ts';
import type { GraphStep, IngestDeps } from './ingest/read-step.ts';
import { KnowledgeMonitor } from './maintenance/monitor.ts';
import { backfillCron, backfillHandler, backfillJob } from './maintenance/backfill.ts';
import {
  embedderKinds,
  modelKinds,
  onCooldownCleared,
  onModelsRecovered,
  chunkRepairs,
  entityRepairs,
  folderRepair,
  graphKinds,
  graphRepairs,
  searchRepairs,
} from './maintenance/repairs.ts';
import type { LanguageModel } from './models/structured-output.ts';
import type { KnowledgeOptions } from './options.ts';
import type { Readers } from './reading/rules-reader.ts';
import { createReaders } from './reading/model-reader.ts';
import { LexicalIndex } from './search/lexical-index.ts';
import { SearchStore } from './search/results.ts';
import { Search } from './search/search.ts';
import { Spaces } from './spaces/spaces.ts';
import type { Embedders, ConfiguredEmbedders, EmbeddingGateway } from './vectors/embedders.ts';
import { openEmbedders } from './vectors/embedders.ts';
import { VectorIndex } from './vectors/vector-index.ts';

export interface KnowledgeDeps {
  readonly database: Database;
  readonly jobs: JobQueue;
  readonly ledger: LedgerRecorder;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly log: Log;
  readonly options: KnowledgeOptions;
  readonly model: LanguageModel;
  /** Embedding models. Default: none. */
  readonly gateway?: EmbeddingGateway;
  readonly metrics?: Metrics;
  /** Events of the gateway: models are available again. */
  readonly events?: { listen(listener: (event: EmittedEvent) => void): () => void };
  /** Replacements for tests and evaluation. */
  readonly overrides?: KnowledgeOverrides;
}

export interface KnowledgeOverrides {
  readonly documents?: DocumentReader;
  readonly embedders?: Embedders;
  readonly entities?: EntityStore;
  readonly files?: FolderFiles;
  readonly graph?: Graph;
  readonly graphStep?: GraphStep;
  readonly readers?: Readers;
  readonly resolver?: Pick<EntityResolver, 'resolve'>;
  readonly searchStore?: SearchStore;
  /** Called when a search finds the graph behind the tables; default: enqueue the backfill. */
  readonly onGraphBehind?: () => void;
}

/** The services that HTTP, MCP and workflows call. Tests may bring their own. */
export interface KnowledgeServices {
  readonly spaces: Pick<Spaces, 'resolve' | 'list' | 'create' | 'delete'>;
  readonly artifacts: Pick<
    Artifacts,
    'maxDocumentBytes' | 'ingest' | 'estimate' | 'list' | 'get' | 'revisions' | 'delete'
  >;
  readonly entities: Pick<
    EntityService,
    'list' | 'get' | 'merge' | 'unmerge' | 'split' | 'review' | 'decide'
  >;
  readonly events: Pick<EventStore, 'list' | 'get'>;
  readonly folders: Pick<Folders, 'list' | 'create' | 'delete' | 'scan'>;
  readonly search: Pick<Search, 'search'>;
  readonly graph: Pick<GraphService, 'requestRebuild' | 'status' | 'around'>;
}

export interface Knowledge extends KnowledgeServices {
  readonly spaces: Spaces;
  readonly artifacts: Artifacts;
  readonly folders: Folders;
  readonly graphSync: GraphSync;
  readonly repairs: readonly RegisteredRepair[];
  readonly embedders: ConfiguredEmbedders;
  readonly handleIngest: JobHandler<IngestJobPayload>;
  readonly handleBackfill: JobHandler<Record<string, never>>;
  /** Components in cooldown are called again at the next use. */
  resetCooldowns(): void;
  /** Starts the workers, and in a long-running process schedules, timers and listeners. */
  start(mode: { readonly isLongRunning: boolean; readonly scansFolders: boolean }): Promise<void>;
  /** Ends timers, listeners and threads. */
  close(): Promise<void>;
}

const folderScanIntervalMs = 5_000;
const graphCheckIntervalMs = 15_000;

/** Defines the jobs; nothing runs before `start`. */
export async function openKnowledge(deps: KnowledgeDeps): Promise<Knowledge> {
  const { database, jobs, clock, ids, log, options, model, overrides = {} } = deps;
  const closing = new AsyncDisposableStack();
  // A command that acts as the server for a moment could not finish these jobs; a long-running server schedules them.
  let isLongRunning = false;
  // Both jobs are also scheduled: a failed enqueue is not an error.
  const backfillNow = (): void =>
    void jobs.enqueue(backfillJob, {}, { key: backfillJob.name }).catch(() => undefined);
  const reembed = (): void => {
    if (isLongRunning && embedders.current().state === 'ready')
      void jobs.enqueue(reembedJob, {}, { key: reembedKey }).catch(() => undefined);
  };
  const embedders: ConfiguredEmbedders = {
    ...openEmbedders({
      ...deps,
      gateway: deps.gateway ?? noGateway,
      onRecovered: () => {
        if (isLongRunning) requestRepairs(jobs, embedderKinds);
      },
      onModelChanged: reembed,
    }),
    ...overrides.embedders,
  };
  closing.defer(() => embedders.close());
  const documents = openFileParser(clock);
  closing.defer(() => documents.close());
  const texts = new TextThreads(clock);
  closing.defer(() => texts.close());
  const breaker = modelCircuitBreaker(clock, options);
  const common = { clock, ids, log, ledger: deps.ledger, options, breaker };

  const artifactStore = new ArtifactStore(database, common);
  const events = new EventStore(database, common);
  const entityStore = overrides.entities ?? new EntityStore(database);
  const pairs = new PairStore(database);
  const merges = new MergeStore(database, ids);
  const vectors = new VectorIndex(database, (embeddingModel, error) =>
    log.warn('vector index not created, exact scan is used', { model: embeddingModel, error }),
  );

  const graph = overrides.graph ?? graphOf(deps);
  const monitor = new KnowledgeMonitor({
    metrics: deps.metrics,
    graph,
    needsReview: () => countNeedsReview(database),
    onGraphRecovered: () => requestRepairs(jobs, graphKinds),
  });
  const source = new GraphSource(database);
  const graphDeps = { ...common, graph, source, artifacts: artifactStore };
  const graphSync = new GraphSync(graphDeps);
  const graphStep = overrides.graphStep ?? graphSync;
  // Failures are in the ledger.
  const onChanged = (spaceId: number, entityIds: readonly string[]): void =>
    void graphSync.refresh(spaceId, entityIds, new AbortController().signal).catch(() => undefined);

  const spaces = new Spaces({
    database,
    clock,
    onDeleted: ({ spaceId }) => graphStep.removeSpace(spaceId),
  });
  const readers =
    overrides.readers ?? createReaders({ model, ids, texts, readWithModel: options.readWithModel });
  const resolution = { ...common, entities: entityStore, embedders, model, monitor };
  const reconciler = new EntityRepairs({ ...resolution, spaces, pairs, merges, onChanged });
  const ingest: IngestDeps = {
    ...common,
    reconciler,
    spaces,
    artifacts: artifactStore,
    events,
    readers,
    texts,
    resolver: overrides.resolver ?? new EntityResolver(resolution),
    embedders,
    vectors,
    graph: graphStep,
  };

  const job = ingestJob(options.concurrency);
  await jobs.define([job, reembedJob, graphRebuildJob, backfillJob]);

  const artifacts = new Artifacts({
    ...ingest,
    jobs,
    job,
    documents: overrides.documents ?? documents,
    maxDocumentBytes: options.maxDocumentBytes,
  });
  const folders = new Folders({
    ...common,
    store: new FolderStore(database),
    spaces,
    artifacts,
    files: overrides.files ?? folderFiles,
    onRecovered: () => requestRepairs(jobs, [ingestDegradations.fileNotIngested]),
  });
  const search = { ...common, embedders, vectors, store: overrides.searchStore ?? new SearchStore(database) };
  const handleIngest = ingestHandler(ingest);
  const handleBackfill = backfillHandler({
    ...graphDeps,
    readers,
    entities: reconciler,
    jobs,
    ingestJob: job,
  });

  return {
    spaces,
    artifacts,
    folders,
    events,
    entities: new EntityService({ ...common, entities: entityStore, pairs, merges, onChanged }),
    search: new Search({
      ...search,
      lexical: new LexicalIndex(database),
      graph,
      watch: monitor,
      onGraphBehind: overrides.onGraphBehind ?? backfillNow,
    }),
    graph: new GraphService({ graph, database, jobs }),
    graphSync,
    repairs: [
      folderRepair(folders),
      ...chunkRepairs(ingest),
      ...entityRepairs(reconciler),
      ...searchRepairs(search),
      ...graphRepairs(graphDeps),
    ],
    embedders,
    handleIngest,
    handleBackfill,
    resetCooldowns: () => {
      embedders.resetCooldown();
      graph.resetCooldown?.();
      reembed();
    },
    start: async (mode) => {
      ({ isLongRunning } = mode);
      await jobs.work(job, handleIngest);
      await jobs.work(reembedJob, reembedHandler({ ...ingest, vectors, jobs }));
      await jobs.work(graphRebuildJob, graphRebuildHandler({ ...graphDeps, sync: graphSync, spaces }));
      await jobs.work(backfillJob, handleBackfill);
      closing.defer(deps.events?.listen(onCooldownCleared(() => embedders.resetCooldown())) ?? nothing);
      if (!isLongRunning) return;
      const onRecovered = onModelsRecovered(clock, () => requestRepairs(jobs, modelKinds));
      closing.defer(deps.events?.listen(onRecovered) ?? nothing);
      await jobs.schedule(reembedJob, reembedCron, {});
      await jobs.schedule(backfillJob, backfillCron, {});
      reembed();
      // Another backend may have been configured before: add what this one lacks without waiting for the schedule.
      if (graph.isSeparateStore) backfillNow();
      void monitor.checkGraph();
      closing.defer(every(clock, graphCheckIntervalMs, () => monitor.checkGraph()));
      if (mode.scansFolders) closing.defer(scanFolders(folders, clock, log));
    },
    close: () => closing.disposeAsync(),
  };
}

const nothing = (): void => undefined;

const noGateway: EmbeddingGateway = {
  client: { embed: () => Promise.reject(new TypeError('There is no gateway with embedding models.')) },
  models: { listCallable: () => [] },
};

function graphOf({ options, database, clock }: KnowledgeDeps): Graph {
  if (options.graphBackend === 'off') return offGraph;
  if (options.graphBackend === 'sql') return new SqlGraph(database);
  return new AgeGraph({ database, clock, options });
}

function scanFolders(folders: Folders, clock: Clock, log: Log): () => void {
  const stop = new AbortController();
  const scan = (): Promise<void> =>
    folders.scanDue(stop.signal).catch((error: unknown) => {
      if (!stop.signal.aborted) log.warn('folder scan failed', { cause: kindOf(error) });
    });
  const stopTimer = every(clock, folderScanIntervalMs, scan);
  return () => {
    stop.abort();
    stopTimer();
  };
}
