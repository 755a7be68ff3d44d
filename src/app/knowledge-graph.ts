// Plugs the graph of knowledge into the house: its backend, what keeps it in step, its jobs, metrics and alerts.
import type { Config } from '../config/index.ts';
import type { JobQueue } from '../core/index.ts';
import { systemClock } from '../core/index.ts';
import { AgeGraph } from '../knowledge/graph/age/age-graph.ts';
import { countNeedsReview, openGraphService, GraphView } from '../knowledge/graph/graph-service.ts';
import { GraphSource } from '../knowledge/graph/graph-source.ts';
import { GraphSync, graphRebuildHandler, graphRebuildJob } from '../knowledge/graph/graph-sync.ts';
import { offGraph } from '../knowledge/graph/graph.ts';
import { SqlGraph } from '../knowledge/graph/sql-graph.ts';
import type { ArtifactStore, Graph, GraphService } from '../knowledge/index.ts';
import type { WatchedMetric } from '../knowledge/maintenance/alerts.ts';
import { KnowledgeAlerts, watchedGraph } from '../knowledge/maintenance/alerts.ts';
import type { BackfillDeps } from '../knowledge/maintenance/backfill.ts';
import { backfillCron, backfillHandler, backfillJob } from '../knowledge/maintenance/backfill.ts';
import { graphKinds, graphRepairs } from '../knowledge/maintenance/graph-repairs.ts';
import { PostgresSpaceStore } from '../knowledge/spaces/postgres-space-store.ts';
import type { LedgerRecorder, RegisteredRepair } from '../ledger/index.ts';
import type { Metrics, Observe } from '../platform/metrics/index.ts';
import { every } from '../resilience/index.ts';
import { requestRepairs } from './request-repairs.ts';
import type { ServerRole } from './server-role.ts';
import type { Stores } from './stores.ts';
import type { Telemetry } from './telemetry.ts';

export interface GraphHouseParts {
  readonly config: Config;
  readonly stores: Stores;
  readonly telemetry: Telemetry;
  readonly role: ServerRole;
  readonly jobs: JobQueue;
  readonly ledger: LedgerRecorder;
  /** Has the ledger an open row of this kind and subject? */
  readonly isRecorded: (kind: string, subject: string) => Promise<boolean>;
}

export interface HouseGraph {
  /** Its expansions are counted. */
  readonly graph: Graph;
  readonly keeper: GraphSync;
  readonly desk: GraphService;
  /** Counts what becomes of names and questions, and knows the alerts. */
  readonly watch: KnowledgeAlerts;
  readonly repairs: readonly RegisteredRepair[];
  /** Entities were merged, parted or paired. */
  readonly onChanged: (spaceId: number, entityIds: readonly string[]) => void;
  /** Somebody found it behind the tables: what it lacks is looked for now. */
  readonly onBehind: () => void;
  /** Takes its jobs; in a process that stays also on schedule, with a look at the alerts now and then. */
  work(look: Pick<BackfillDeps, 'readers' | 'pairs' | 'canUseModel'>): Promise<void>;
}

/** As often as those of admission. */
const evaluateEveryMs = 15_000;

export async function startGraph(
  parts: GraphHouseParts,
  artifacts: ArtifactStore,
  closing: AsyncDisposableStack,
): Promise<HouseGraph> {
  const { config, stores, telemetry, role, jobs, ledger, isRecorded } = parts;
  const { database } = stores;
  const backend = graphOf(parts);
  const watch = watchOf(parts, backend);
  const graph = watchedGraph(backend, watch);
  const source = new GraphSource(database);
  const common = { graph, source, artifacts, ledger, log: telemetry.log };
  const keeper = new GraphSync(common);
  await jobs.define([graphRebuildJob, backfillJob]);
  const lookNow = (): void =>
    // The schedule comes anyway.
    void jobs.enqueue(backfillJob, {}, { key: backfillJob.name }).catch(() => undefined);
  return {
    graph,
    keeper,
    watch,
    desk: openGraphService({ graph, view: new GraphView(database), jobs }),
    repairs: graphRepairs({ ...common, clock: systemClock, options: config.knowledge }),
    onChanged: (spaceId, entityIds) =>
      // What fails is in the ledger.
      void keeper.refresh(spaceId, entityIds, new AbortController().signal).catch(() => undefined),
    onBehind: lookNow,
    work: async (look) => {
      const spaces = new PostgresSpaceStore(database, systemClock);
      await jobs.work(graphRebuildJob, graphRebuildHandler({ ...common, keeper, spaces }));
      await jobs.work(
        backfillJob,
        backfillHandler({ ...common, ...look, options: config.knowledge, keeper, jobs, isRecorded }),
      );
      if (role === 'command') return;
      await jobs.schedule(backfillJob, backfillCron, {});
      // Another backend may have been used before: nobody waits for the schedule to see what this one lacks.
      if (graph.isSeparateStore) lookNow();
      void watch.evaluate();
      closing.defer(every(systemClock, evaluateEveryMs, () => watch.evaluate()));
    },
  };
}

function graphOf({ config: { knowledge: options }, stores: { database } }: GraphHouseParts): Graph {
  if (options.graphBackend === 'off') return offGraph;
  if (options.graphBackend === 'sql') return new SqlGraph(database);
  return new AgeGraph({ database, clock: systemClock, options });
}

function watchedCounters(metrics: Metrics): Readonly<Record<WatchedMetric, Observe>> {
  const counter = (name: string, help: string, outcomes: readonly string[]) => {
    const count = metrics.counter({ name: `headworks_knowledge_${name}_total`, help, labels: ['outcome'] });
    // Shown as 0 before the first: Prometheus' `increase` misses what a series begins with.
    for (const outcome of outcomes) count(0, [outcome]);
    return count;
  };
  return {
    resolutions: counter('resolutions', 'Names that were resolved: ok, or degraded with a fallback.', [
      'ok',
      'degraded',
    ]),
    confirmations: counter('confirmations', 'Questions to a model whether two names mean the same.', [
      'answered',
      'failed',
    ]),
    expansions: counter('expansions', 'Graph expansions of searches: ok, timeout or failed.', [
      'ok',
      'timeout',
      'failed',
    ]),
  };
}

function watchOf(
  { stores: { database }, telemetry: { metrics }, jobs }: GraphHouseParts,
  graph: Graph,
): KnowledgeAlerts {
  const counters = watchedCounters(metrics);
  const graphState = () => graph.availability(new AbortController().signal);
  const needsReview = () => countNeedsReview(database);
  metrics.gauge({
    name: 'headworks_knowledge_graph_available',
    help: '1 while the graph can be used, 0 while it cannot; absent when none is wanted.',
    labels: ['backend'],
    collect: async () => {
      const { state } = await graphState();
      const value = state === 'available' ? 1 : 0;
      return state === 'off' ? [] : [{ labels: { backend: graph.backend }, value }];
    },
  });
  metrics.gauge({
    name: 'headworks_knowledge_needs_review',
    help: 'Entities that wait for another look.',
    labels: [],
    collect: async () => [{ labels: {}, value: await needsReview() }],
  });
  return new KnowledgeAlerts({
    clock: systemClock,
    count: (metric, outcome) => counters[metric](1, [outcome]),
    graphState,
    needsReview,
    onGraphBack: () => requestRepairs(jobs, graphKinds),
  });
}
