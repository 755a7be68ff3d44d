// Alert rules of knowledge, evaluated over the last 15 minutes: the founding document's five, with its thresholds and
// severities. The shipped Prometheus rules are the same.
import type { Clock } from '../../core/index.ts';
import type { Graph, GraphAvailability } from '../graph/graph.ts';
import type { Metrics } from '../../platform/telemetry/metrics.ts';

export interface KnowledgeAlert {
  readonly name: string;
  readonly organizationId: null;
  readonly severity: 'info' | 'warning' | 'critical';
  readonly message: string;
  readonly since: Date;
  readonly state: 'firing';
}

/** Counted outcomes; the alert is about the share of `bad` ones. */
const outcomes = {
  resolutions: {
    help: 'Resolved names, by outcome: ok, or degraded with a fallback.',
    all: ['ok', 'degraded'],
    bad: 'degraded',
  },
  confirmations: {
    help: 'Model calls that confirm whether two names are the same entity, by outcome.',
    all: ['answered', 'failed'],
    bad: 'failed',
  },
  expansions: {
    help: 'Graph expansions of searches, by outcome: ok, timeout or failed.',
    all: ['ok', 'timeout', 'failed'],
    bad: 'timeout',
  },
} as const;
type CountedMetric = keyof typeof outcomes;
const countedMetrics = Object.keys(outcomes) as readonly CountedMetric[];

interface Measurements {
  readonly rates: Readonly<Record<CountedMetric, RateWindow>>;
  /** Null: unknown. */
  readonly graph: GraphAvailability | null;
  readonly needsReview: number | null;
}

interface Rule extends Pick<KnowledgeAlert, 'name' | 'severity'> {
  /** The message while it fires, else null; undefined when unknown: the alert keeps its state. */
  readonly check: (measured: Measurements) => string | null | undefined;
}

/** Fewer attempts than this are no rate. */
const minAttempts = 10;
const maxReviewBacklog = 100;

/** Fires above this share of bad outcomes. */
const rateCheck =
  (metric: CountedMetric, threshold: number, message: (rate: string) => string): Rule['check'] =>
  ({ rates }) => {
    const { total, bad } = rates[metric].read();
    return total >= minAttempts && bad / total > threshold ? message(`${bad} of ${total}`) : null;
  };

export const knowledgeAlertRules: readonly Rule[] = [
  {
    name: 'HeadworksKnowledgeResolutionErrors',
    severity: 'warning',
    check: rateCheck(
      'resolutions',
      0.05,
      (rate) =>
        `${rate} names of the last 15 minutes were resolved with a fallback; their entities are flagged. See "headworks ledger" and repair with "headworks repair".`,
    ),
  },
  {
    name: 'HeadworksKnowledgeConfirmationFailures',
    severity: 'warning',
    check: rateCheck(
      'confirmations',
      0.1,
      (rate) =>
        `${rate} model calls of the last 15 minutes that confirm whether two names are the same entity failed. See "headworks models list".`,
    ),
  },
  {
    name: 'HeadworksKnowledgeGraphUnavailable',
    severity: 'critical',
    check: ({ graph }) =>
      graph === null
        ? undefined
        : graph.state === 'unavailable'
          ? `The graph is unavailable. ${graph.reason} ${graph.remedy}`
          : null,
  },
  {
    name: 'HeadworksKnowledgeExpansionTimeouts',
    severity: 'warning',
    check: rateCheck(
      'expansions',
      0.2,
      (rate) =>
        `${rate} graph expansions of the last 15 minutes timed out; searches returned without related context. Lower graph_budget or graph_seed_limit, or raise HEADWORKS_KNOWLEDGE_EXPANSION_TIMEOUT_MS.`,
    ),
  },
  {
    name: 'HeadworksKnowledgeReviewBacklog',
    severity: 'info',
    check: ({ needsReview }) =>
      needsReview === null
        ? undefined
        : needsReview > maxReviewBacklog
          ? `${needsReview} entities need review. "headworks entities review" lists them; "headworks repair" repairs what it can.`
          : null,
  },
];

export interface KnowledgeAlertsDeps {
  readonly clock: Clock;
  readonly metrics?: Pick<Metrics, 'counter' | 'gauge'> | undefined;
  readonly graph: Pick<Graph, 'backend' | 'availability'>;
  readonly needsReview: () => Promise<number>;
  /** The graph was unavailable and is available again. */
  readonly onGraphRecovered: () => void;
}

export class KnowledgeAlerts {
  readonly #deps: KnowledgeAlertsDeps;
  readonly #rates: Record<CountedMetric, RateWindow>;
  readonly #counters = new Map<CountedMetric, ReturnType<Metrics['counter']>>();
  readonly #alerts = new Map<string, KnowledgeAlert>();
  #wasGraphUnavailable = false;

  constructor(deps: KnowledgeAlertsDeps) {
    this.#deps = deps;
    const window = () => new RateWindow(deps.clock);
    this.#rates = { resolutions: window(), confirmations: window(), expansions: window() };
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

  list(): readonly KnowledgeAlert[] {
    return [...this.#alerts.values()];
  }

  /** Never fails: an alert whose input is unavailable keeps its state. */
  async evaluate(): Promise<void> {
    const graph = await this.#graphState().catch(() => null);
    const needsReview = await this.#deps.needsReview().catch(() => null);
    const measured = { rates: this.#rates, graph, needsReview };
    for (const { name, severity, check } of knowledgeAlertRules) {
      const message = check(measured);
      if (message === null) this.#alerts.delete(name);
      if (message === null || message === undefined) continue;
      const since = this.#alerts.get(name)?.since ?? new Date(this.#deps.clock.now());
      this.#alerts.set(name, { name, organizationId: null, severity, message, since, state: 'firing' });
    }
    if (this.#wasGraphUnavailable && graph?.state === 'available') this.#deps.onGraphRecovered();
    if (graph !== null) this.#wasGraphUnavailable = graph.state === 'unavailable';
  }

  #graphState(): Promise<GraphAvailability> {
    return this.#deps.graph.availability(new AbortController().signal);
  }

  #count(metric: CountedMetric, outcome: string): void {
    this.#rates[metric].add(outcome === outcomes[metric].bad);
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

const windowMinutes = 15;

/** Counts of the last 15 minutes, by minute. */
class RateWindow {
  readonly #clock: Clock;
  readonly #minutes = new Map<number, { total: number; bad: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(isBad: boolean): void {
    const minute = this.#expire();
    const counts = this.#minutes.get(minute) ?? { total: 0, bad: 0 };
    counts.total += 1;
    if (isBad) counts.bad += 1;
    this.#minutes.set(minute, counts);
  }

  read(): { readonly total: number; readonly bad: number } {
    this.#expire();
    const sum = { total: 0, bad: 0 };
    for (const { total, bad } of this.#minutes.values()) {
      sum.total += total;
      sum.bad += bad;
    }
    return sum;
  }

  /** Returns the current minute. */
  #expire(): number {
    const now = Math.floor(this.#clock.monotonic() / 60_000);
    for (const minute of this.#minutes.keys())
      if (minute <= now - windowMinutes) this.#minutes.delete(minute);
    return now;
  }
}
