// Counts what resolution, models and the graph come to, and says when somebody should look.
import type { Clock } from '../../core/index.ts';
import { kindOf } from '../../core/index.ts';
import type { ResolutionMetrics } from '../entities/deps.ts';
import type { Graph, GraphAvailability } from '../graph/graph.ts';
import type { KnowledgeAlertRule, Severity } from './alert-rules.ts';
import {
  confirmationRule,
  expansionRule,
  fewestTries,
  graphRule,
  rateWindowMs,
  resolutionRule,
  reviewRule,
} from './alert-rules.ts';
import { RateWindow } from './rate-window.ts';

/** As alerts of every domain look. */
export interface KnowledgeAlert {
  readonly name: string;
  readonly organizationId: null;
  readonly severity: Severity;
  readonly message: string;
  readonly since: Date;
  readonly state: 'firing';
}

export type WatchedMetric = 'resolutions' | 'confirmations' | 'expansions';

export interface KnowledgeAlertsDeps {
  readonly clock: Clock;
  /** One more of this, for metrics that others add up. */
  readonly count: (metric: WatchedMetric, outcome: string) => void;
  readonly graphState: () => Promise<GraphAvailability>;
  readonly needsReview: () => Promise<number>;
  /** The graph was away and is there again. */
  readonly onGraphBack: () => void;
}

export class KnowledgeAlerts implements ResolutionMetrics {
  readonly #parts: KnowledgeAlertsDeps;
  readonly #windows: Readonly<Record<WatchedMetric, RateWindow>>;
  #alerts = new Map<string, KnowledgeAlert>();
  #wasAway = false;

  constructor(parts: KnowledgeAlertsDeps) {
    this.#parts = parts;
    const window = () => new RateWindow(parts.clock, rateWindowMs);
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

  /** Looks at everything; call it now and then. Never fails: what cannot be seen stays as it was. */
  async evaluate(): Promise<void> {
    const graph = await this.#parts.graphState().catch(() => null);
    const needsReview = await this.#parts.needsReview().catch(() => null);
    this.#rate(
      'resolutions',
      resolutionRule,
      (rate) =>
        `${rate} of the names of the last 15 minutes were not resolved as they should be; their entities are flagged. See "headworks ledger" and repair with "headworks repair".`,
    );
    this.#rate(
      'confirmations',
      confirmationRule,
      (rate) =>
        `${rate} of the questions whether two names mean the same went without an answer in the last 15 minutes. See "headworks models list".`,
    );
    this.#rate(
      'expansions',
      expansionRule,
      (rate) =>
        `${rate} of the graph expansions of the last 15 minutes took too long; searches answered without. Lower graph_budget or graph_seed_limit, or raise HEADWORKS_KNOWLEDGE_EXPANSION_TIMEOUT_MS.`,
    );
    if (graph !== null) this.#sawGraph(graph);
    if (needsReview !== null)
      this.#set(
        reviewRule,
        needsReview > reviewRule.above
          ? `${needsReview} entities wait for a look. "headworks entities review" shows them; "headworks repair" repairs what it can.`
          : null,
      );
  }

  #sawGraph(graph: GraphAvailability): void {
    const isAway = graph.state === 'unavailable';
    this.#set(graphRule, isAway ? `The graph is unavailable. ${graph.reason} ${graph.remedy}` : null);
    if (this.#wasAway && graph.state === 'available') this.#parts.onGraphBack();
    this.#wasAway = isAway;
  }

  #add(metric: WatchedMetric, outcome: string, isBad: boolean): void {
    this.#windows[metric].add(isBad);
    this.#parts.count(metric, outcome);
  }

  #rate(
    metric: WatchedMetric,
    rule: KnowledgeAlertRule & { readonly above: number },
    message: (rate: string) => string,
  ): void {
    const { total, bad, rate } = this.#windows[metric].read();
    const isFiring = total >= fewestTries && rate > rule.above;
    this.#set(rule, isFiring ? message(`${bad} of ${total}`) : null);
  }

  #set({ name, severity }: KnowledgeAlertRule, message: string | null): void {
    if (message === null) {
      this.#alerts.delete(name);
      return;
    }
    const since = this.#alerts.get(name)?.since ?? new Date(this.#parts.clock.now());
    this.#alerts.set(name, { name, organizationId: null, severity, message, since, state: 'firing' });
  }
}

/** The same graph, its expansions counted. */
export function watchedGraph(graph: Graph, watch: Pick<KnowledgeAlerts, 'expanded'>): Graph {
  return {
    backend: graph.backend,
    isSeparateStore: graph.isSeparateStore,
    availability: (signal) => graph.availability(signal),
    askAgain: () => graph.askAgain?.(),
    isEmpty: (signal) => graph.isEmpty(signal),
    missing: (spaceId, eventIds, signal) => graph.missing(spaceId, eventIds, signal),
    upsert: (part, signal) => graph.upsert(part, signal),
    remove: (spaceId, ids, signal) => graph.remove(spaceId, ids, signal),
    prune: (spaceId, signal) => graph.prune(spaceId, signal),
    rebuild: (parts, progress, signal) => graph.rebuild(parts, progress, signal),
    expand: async (request, signal) => {
      try {
        const related = await graph.expand(request, signal);
        watch.expanded('ok');
        return related;
      } catch (error) {
        // A caller that went away says nothing about the graph.
        if (kindOf(error) === 'DEADLINE_EXCEEDED') watch.expanded('timeout');
        else if (!signal.aborted) watch.expanded('failed');
        throw error;
      }
    },
  };
}
