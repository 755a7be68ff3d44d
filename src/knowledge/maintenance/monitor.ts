// Outcomes of knowledge as metrics, which the alerts of monitoring/headworks-alerts.yml read, and the return of the graph.
import type { Graph, GraphAvailability } from '../graph/graph.ts';
import type { Metrics } from '../../platform/telemetry/metrics.ts';

/** Counted outcomes. */
const outcomes = {
  resolutions: {
    help: 'Resolved names, by outcome: ok, or degraded with a fallback.',
    all: ['ok', 'degraded'],
  },
  confirmations: {
    help: 'Model calls that confirm whether two names are the same entity, by outcome.',
    all: ['answered', 'failed'],
  },
  expansions: {
    help: 'Graph expansions of searches, by outcome: ok, timeout or failed.',
    all: ['ok', 'timeout', 'failed'],
  },
} as const;
type CountedMetric = keyof typeof outcomes;
const countedMetrics = Object.keys(outcomes) as readonly CountedMetric[];

export interface KnowledgeMonitorDeps {
  readonly metrics?: Pick<Metrics, 'counter' | 'gauge'> | undefined;
  readonly graph: Pick<Graph, 'backend' | 'availability'>;
  readonly needsReview: () => Promise<number>;
  /** The graph was unavailable and is available again. */
  readonly onGraphRecovered: () => void;
}

export class KnowledgeMonitor {
  readonly #deps: KnowledgeMonitorDeps;
  readonly #counters = new Map<CountedMetric, ReturnType<Metrics['counter']>>();
  #wasGraphUnavailable = false;

  constructor(deps: KnowledgeMonitorDeps) {
    this.#deps = deps;
    if (deps.metrics) this.#register(deps.metrics);
  }

  resolved(outcome: (typeof outcomes.resolutions.all)[number]): void {
    this.#count('resolutions', outcome);
  }

  confirmed(outcome: (typeof outcomes.confirmations.all)[number]): void {
    this.#count('confirmations', outcome);
  }

  expanded(outcome: (typeof outcomes.expansions.all)[number]): void {
    this.#count('expansions', outcome);
  }

  /** Call it every few seconds. Never fails. */
  async checkGraph(): Promise<void> {
    const graph = await this.#graphState().catch(() => null);
    if (graph === null) return;
    if (this.#wasGraphUnavailable && graph.state === 'available') this.#deps.onGraphRecovered();
    this.#wasGraphUnavailable = graph.state === 'unavailable';
  }

  #graphState(): Promise<GraphAvailability> {
    return this.#deps.graph.availability(new AbortController().signal);
  }

  #count(metric: CountedMetric, outcome: string): void {
    this.#counters.get(metric)?.(1, [outcome]);
  }

  #register(metrics: Pick<Metrics, 'counter' | 'gauge'>): void {
    const { graph, needsReview } = this.#deps;
    for (const metric of countedMetrics) {
      const { help, all } = outcomes[metric];
      const name = `headworks_knowledge_${metric}_total`;
      const count = metrics.counter({ name, help, labels: ['outcome'] });
      // Initialized to 0: Prometheus' `increase` ignores the first value of a series.
      for (const outcome of all) count(0, [outcome]);
      this.#counters.set(metric, count);
    }
    metrics.gauge({
      name: 'headworks_knowledge_graph_available',
      help: '1 while the graph is available, else 0; absent when it is switched off.',
      labels: ['backend'],
      collect: async () => {
        const { state } = await this.#graphState();
        const value = state === 'available' ? 1 : 0;
        return state === 'off' ? [] : [{ labels: { backend: graph.backend }, value }];
      },
    });
    metrics.gauge({
      name: 'headworks_knowledge_needs_review',
      help: 'Entities that need review.',
      labels: [],
      collect: async () => [{ labels: {}, value: await needsReview() }],
    });
  }
}
