// Alert rules of knowledge, evaluated over the last 15 minutes: the founding document's five, with its thresholds and
// severities. The shipped Prometheus rules are the same.
import type { Clock } from '../../core/index.ts';
import { kindOf } from '../../core/index.ts';
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

type Rule = Pick<KnowledgeAlert, 'name' | 'severity'>;
type CountedMetric = 'resolutions' | 'confirmations' | 'expansions';

interface RateRule extends Rule {
  readonly metric: CountedMetric;
  /** Fires above this share of bad outcomes. */
  readonly threshold: number;
  readonly message: (rate: string) => string;
}

const rateRules: readonly RateRule[] = [
  {
    name: 'HeadworksKnowledgeResolutionErrors',
    severity: 'warning',
    metric: 'resolutions',
    threshold: 0.05,
    message: (rate) =>
      `${rate} names of the last 15 minutes were resolved with a fallback; their entities are flagged. See "headworks ledger" and repair with "headworks repair".`,
  },
  {
    name: 'HeadworksKnowledgeConfirmationFailures',
    severity: 'warning',
    metric: 'confirmations',
    threshold: 0.1,
    message: (rate) =>
      `${rate} model calls of the last 15 minutes that confirm whether two names are the same entity failed. See "headworks models list".`,
  },
  {
    name: 'HeadworksKnowledgeExpansionTimeouts',
    severity: 'warning',
    metric: 'expansions',
    threshold: 0.2,
    message: (rate) =>
      `${rate} graph expansions of the last 15 minutes timed out; searches returned without related context. Lower graph_budget or graph_seed_limit, or raise HEADWORKS_KNOWLEDGE_EXPANSION_TIMEOUT_MS.`,
  },
];
const graphRule: Rule = { name: 'HeadworksKnowledgeGraphUnavailable', severity: 'critical' };
const reviewRule: Rule = { name: 'HeadworksKnowledgeReviewBacklog', severity: 'info' };
const maxReviewBacklog = 100;

export const knowledgeAlertRules: readonly Rule[] = [
  ...rateRules.slice(0, 2),
  graphRule,
  ...rateRules.slice(2),
  reviewRule,
];

const rateWindowMs = 15 * 60_000;
/** Fewer attempts than this are no rate. */
const minAttempts = 10;

export interface KnowledgeAlertsDeps {
  readonly clock: Clock;
  /** Increments a counter. */
  readonly count: (metric: CountedMetric, outcome: string) => void;
  readonly graphState: () => Promise<GraphAvailability>;
  readonly needsReview: () => Promise<number>;
  /** The graph was unavailable and is available again. */
  readonly onGraphBack: () => void;
}

export class KnowledgeAlerts {
  readonly #deps: KnowledgeAlertsDeps;
  readonly #windows: Readonly<Record<CountedMetric, RateWindow>>;
  readonly #alerts = new Map<string, KnowledgeAlert>();
  #wasGraphUnavailable = false;

  constructor(deps: KnowledgeAlertsDeps) {
    this.#deps = deps;
    const window = () => new RateWindow(deps.clock, rateWindowMs);
    this.#windows = { resolutions: window(), confirmations: window(), expansions: window() };
  }

  resolved(outcome: 'ok' | 'degraded'): void {
    this.#add('resolutions', outcome, outcome === 'degraded');
  }

  asked(outcome: 'answered' | 'failed'): void {
    this.#add('confirmations', outcome, outcome === 'failed');
  }

  expanded(outcome: 'ok' | 'timeout' | 'failed'): void {
    this.#add('expansions', outcome, outcome === 'timeout');
  }

  list(): readonly KnowledgeAlert[] {
    return [...this.#alerts.values()];
  }

  /** Never fails: an alert whose input is unavailable keeps its state. */
  async evaluate(): Promise<void> {
    const graph = await this.#deps.graphState().catch(() => null);
    const needsReview = await this.#deps.needsReview().catch(() => null);
    for (const rule of rateRules) {
      const { total, bad } = this.#windows[rule.metric].read();
      const isFiring = total >= minAttempts && bad / total > rule.threshold;
      this.#set(rule, isFiring ? rule.message(`${bad} of ${total}`) : null);
    }
    if (graph !== null) this.#evaluateGraph(graph);
    if (needsReview !== null)
      this.#set(
        reviewRule,
        needsReview > maxReviewBacklog
          ? `${needsReview} entities need review. "headworks entities review" lists them; "headworks repair" repairs what it can.`
          : null,
      );
  }

  #evaluateGraph(graph: GraphAvailability): void {
    const isUnavailable = graph.state === 'unavailable';
    this.#set(graphRule, isUnavailable ? `The graph is unavailable. ${graph.reason} ${graph.remedy}` : null);
    if (this.#wasGraphUnavailable && graph.state === 'available') this.#deps.onGraphBack();
    this.#wasGraphUnavailable = isUnavailable;
  }

  #add(metric: CountedMetric, outcome: string, isBad: boolean): void {
    this.#windows[metric].add(isBad);
    this.#deps.count(metric, outcome);
  }

  #set({ name, severity }: Rule, message: string | null): void {
    if (message === null) {
      this.#alerts.delete(name);
      return;
    }
    const since = this.#alerts.get(name)?.since ?? new Date(this.#deps.clock.now());
    this.#alerts.set(name, { name, organizationId: null, severity, message, since, state: 'firing' });
  }
}

/** Alerts with their counters and gauges. */
export function openAlerts({
  clock,
  metrics,
  graph,
  needsReview,
  onGraphBack,
}: Pick<KnowledgeAlertsDeps, 'clock' | 'needsReview' | 'onGraphBack'> & {
  readonly metrics: Metrics | undefined;
  readonly graph: Graph;
}): KnowledgeAlerts {
  const graphState = () => graph.availability(new AbortController().signal);
  const counters = metrics && createCounters(metrics);
  metrics?.gauge({
    name: 'headworks_knowledge_graph_available',
    help: '1 while the graph is available, else 0; absent when it is switched off.',
    labels: ['backend'],
    collect: async () => {
      const { state } = await graphState();
      const value = state === 'available' ? 1 : 0;
      return state === 'off' ? [] : [{ labels: { backend: graph.backend }, value }];
    },
  });
  metrics?.gauge({
    name: 'headworks_knowledge_needs_review',
    help: 'Entities that need review.',
    labels: [],
    collect: async () => [{ labels: {}, value: await needsReview() }],
  });
  return new KnowledgeAlerts({
    clock,
    count: (metric, outcome) => counters?.[metric](1, [outcome]),
    graphState,
    needsReview,
    onGraphBack,
  });
}

function createCounters(metrics: Metrics) {
  const counter = (name: string, help: string, outcomes: readonly string[]) => {
    const count = metrics.counter({ name: `headworks_knowledge_${name}_total`, help, labels: ['outcome'] });
    // Initialized to 0: Prometheus' `increase` ignores the first value of a series.
    for (const outcome of outcomes) count(0, [outcome]);
    return count;
  };
  return {
    resolutions: counter('resolutions', 'Resolved names, by outcome: ok, or degraded with a fallback.', [
      'ok',
      'degraded',
    ]),
    confirmations: counter(
      'confirmations',
      'Model calls that confirm whether two names are the same entity, by outcome.',
      ['answered', 'failed'],
    ),
    expansions: counter('expansions', 'Graph expansions of searches, by outcome: ok, timeout or failed.', [
      'ok',
      'timeout',
      'failed',
    ]),
  };
}

/** The graph, with its expansions counted. */
export function meteredGraph(graph: Graph, alerts: Pick<KnowledgeAlerts, 'expanded'>): Graph {
  return {
    backend: graph.backend,
    isSeparateStore: graph.isSeparateStore,
    availability: (signal) => graph.availability(signal),
    resetCooldown: () => graph.resetCooldown?.(),
    isEmpty: (signal) => graph.isEmpty(signal),
    missing: (spaceId, eventIds, signal) => graph.missing(spaceId, eventIds, signal),
    upsert: (batch, signal) => graph.upsert(batch, signal),
    remove: (spaceId, removed, signal) => graph.remove(spaceId, removed, signal),
    prune: (spaceId, signal) => graph.prune(spaceId, signal),
    rebuild: (batches, progress, signal) => graph.rebuild(batches, progress, signal),
    expand: async (request, signal) => {
      try {
        const related = await graph.expand(request, signal);
        alerts.expanded('ok');
        return related;
      } catch (error) {
        // A caller that aborted says nothing about the graph.
        if (kindOf(error) === 'DEADLINE_EXCEEDED') alerts.expanded('timeout');
        else if (!signal.aborted) alerts.expanded('failed');
        throw error;
      }
    },
  };
}

interface MinuteCounts {
  readonly minute: number;
  total: number;
  bad: number;
}

/** Counts of the last minutes. */
class RateWindow {
  readonly #clock: Clock;
  readonly #minutes: number;
  #counts: MinuteCounts[] = [];

  constructor(clock: Clock, lengthMs: number) {
    this.#clock = clock;
    this.#minutes = lengthMs / 60_000;
  }

  add(isBad: boolean): void {
    const minute = this.#now();
    let last = this.#counts.at(-1);
    if (last?.minute !== minute) {
      this.#expire(minute);
      last = { minute, total: 0, bad: 0 };
      this.#counts.push(last);
    }
    last.total += 1;
    if (isBad) last.bad += 1;
  }

  read(): { readonly total: number; readonly bad: number } {
    this.#expire(this.#now());
    return {
      total: this.#counts.reduce((sum, { total }) => sum + total, 0),
      bad: this.#counts.reduce((sum, { bad }) => sum + bad, 0),
    };
  }

  #now(): number {
    return Math.floor(this.#clock.monotonic() / 60_000);
  }

  #expire(now: number): void {
    this.#counts = this.#counts.filter(({ minute }) => minute > now - this.#minutes);
  }
}
