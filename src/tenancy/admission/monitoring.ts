// Usage of slots for metrics, and the founding document's four alerts for installations without Prometheus.
import type { Clock } from '../../core/index.ts';
import type { StoreHealthMonitor } from './store-health.ts';
import type { AdmissionDeps } from './types.ts';

export interface OrganizationUsage {
  readonly organizationId: string;
  readonly used: number;
  readonly limit: number;
}

export interface UsageSample {
  readonly global: number;
  readonly globalLimit: number;
  /** Organizations that use slots or have a custom limit. */
  readonly organizations: readonly OrganizationUsage[];
}

/** The gauges of one scrape share a sample. */
const sampleTtlMs = 1_000;

export class UsageSampler {
  readonly #deps: Pick<AdmissionDeps, 'clock' | 'limits' | 'slots' | 'executions' | 'options'>;
  readonly #health: StoreHealthMonitor;
  #last: { readonly at: number; readonly sample: Promise<UsageSample> } | null = null;

  constructor(deps: AdmissionDeps, health: StoreHealthMonitor) {
    this.#deps = deps;
    this.#health = health;
  }

  /** At most a second old. Fails when neither the slot store nor the state store replies. */
  sample(): Promise<UsageSample> {
    const now = this.#deps.clock.monotonic();
    if (this.#last && now - this.#last.at < sampleTtlMs) return this.#last.sample;
    const sample = this.#read();
    this.#last = { at: now, sample };
    sample.catch(() => (this.#last = null));
    return sample;
  }

  async #read(): Promise<UsageSample> {
    const { limits, options, slots: store, executions } = this.#deps;
    // While no slot store decides, unfinished executions are counted.
    const [slots, custom] = await Promise.all([
      this.#health.isUp ? store.holders() : executions.unfinished(),
      limits.list(),
    ]);
    const used = Map.groupBy(slots, ({ organizationId }) => organizationId);
    const limitOf = new Map(custom.map((limit) => [limit.organizationId, limit.concurrentRequestLimit]));
    const ids = [...new Set([...limitOf.keys(), ...used.keys()])].sort();
    return {
      global: slots.length,
      globalLimit: options.globalLimit,
      organizations: ids.map((organizationId) => ({
        organizationId,
        used: used.get(organizationId)?.length ?? 0,
        limit: limitOf.get(organizationId) ?? options.defaultLimit,
      })),
    };
  }
}

export interface AdmissionGauge {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  readonly collect: () => Promise<
    readonly { readonly labels: Readonly<Record<string, string>>; readonly value: number }[]
  >;
}

/** Gauges that are read at each scrape. */
export function admissionGauges(
  sampler: UsageSampler,
  read: { readonly queued: () => number; readonly isStoreUp: () => boolean },
): readonly AdmissionGauge[] {
  const single = (name: string, help: string, value: () => number | Promise<number>): AdmissionGauge => ({
    name,
    help,
    labels: [],
    collect: async () => [{ labels: {}, value: await value() }],
  });
  const perOrganization = (name: string, help: string, field: 'used' | 'limit'): AdmissionGauge => ({
    name,
    help,
    labels: ['organization'],
    collect: async () =>
      (await sampler.sample()).organizations.map((each) => ({
        labels: { organization: each.organizationId },
        value: each[field],
      })),
  });
  return [
    perOrganization('headworks_admission_usage', 'Slots in use, by organization.', 'used'),
    perOrganization('headworks_admission_limit', 'Limit of slots, by organization.', 'limit'),
    single(
      'headworks_admission_global_usage',
      'Slots in use by all organizations.',
      async () => (await sampler.sample()).global,
    ),
    single(
      'headworks_admission_global_limit',
      'Limit of slots for all organizations.',
      async () => (await sampler.sample()).globalLimit,
    ),
    single('headworks_admission_queued', 'Requests queued for a slot in this process.', read.queued),
    single('headworks_admission_store_up', '0 during a confirmed outage of Redis, else 1.', () =>
      read.isStoreUp() ? 1 : 0,
    ),
  ];
}

export interface Alert {
  /** As in the shipped Prometheus rule file. */
  readonly name: string;
  /** The organization it is about; null when it is about all. */
  readonly organizationId: string | null;
  readonly severity: 'warning' | 'critical';
  /** What happened, and what to do. */
  readonly message: string;
  readonly since: Date;
  /** `pending` until the condition has lasted for the rule's duration. */
  readonly state: 'pending' | 'firing';
}

export interface AlertRule {
  readonly name: string;
  readonly severity: Alert['severity'];
  /** The condition must last this long before the alert fires. */
  readonly forMs: number;
}

const globalUsageRule = {
  name: 'HeadworksAdmissionGlobalUsageHigh',
  severity: 'critical',
  forMs: 300_000,
  above: 0.8,
} as const satisfies AlertRule & { readonly above: number };

const organizationUsageRule = {
  name: 'HeadworksAdmissionOrganizationUsageHigh',
  severity: 'warning',
  forMs: 300_000,
  above: 0.9,
} as const satisfies AlertRule & { readonly above: number };

/** Of this process; Prometheus sums over all of them. */
const rejectionBurstRule = {
  name: 'HeadworksAdmissionRejectionBurst',
  severity: 'warning',
  forMs: 0,
  moreThan: 60,
  withinMs: 60_000,
} as const satisfies AlertRule & { readonly moreThan: number; readonly withinMs: number };

const redisDownRule = {
  name: 'HeadworksAdmissionRedisDown',
  severity: 'critical',
  forMs: 0,
} as const satisfies AlertRule;

/** The rules of monitoring/headworks-alerts.yml that this process evaluates itself. */
export const alertRules: readonly AlertRule[] = [
  globalUsageRule,
  organizationUsageRule,
  rejectionBurstRule,
  redisDownRule,
];

interface Condition {
  readonly rule: AlertRule;
  readonly organizationId: string | null;
  readonly message: string;
}

export interface AlertEvaluatorDeps {
  readonly clock: Clock;
  readonly sample: () => Promise<UsageSample>;
  /** Null while Redis decides, or none is configured. */
  readonly redisProblem: () => string | null;
}

export class AlertEvaluator {
  readonly #deps: AlertEvaluatorDeps;
  #active = new Map<string, Condition & { readonly since: number }>();
  /** Times of the latest rejections, one more than make a burst. */
  readonly #rejectedAt: number[] = [];

  constructor(deps: AlertEvaluatorDeps) {
    this.#deps = deps;
  }

  list(): readonly Alert[] {
    const now = this.#deps.clock.now();
    return [...this.#active.values()].map(({ rule, organizationId, message, since }) => ({
      name: rule.name,
      organizationId,
      severity: rule.severity,
      message,
      since: new Date(since),
      state: now - since >= rule.forMs ? 'firing' : 'pending',
    }));
  }

  requestRejected(): void {
    this.#rejectedAt.push(this.#deps.clock.now());
    if (this.#rejectedAt.length > rejectionBurstRule.moreThan + 1) this.#rejectedAt.shift();
  }

  /** Call it every few seconds. Never fails: a condition that cannot be evaluated stays as it was. */
  async evaluate(): Promise<void> {
    const sample = await this.#deps.sample().catch(() => null);
    const now = this.#deps.clock.now();
    const conditions = [
      ...this.#redis(),
      ...this.#rejectionBurst(now),
      ...(sample ? usageConditions(sample) : this.#lastUsageConditions()),
    ];
    this.#active = new Map(
      conditions.map((condition) => {
        const key = `${condition.rule.name} ${condition.organizationId ?? ''}`;
        return [key, { ...condition, since: this.#active.get(key)?.since ?? now }];
      }),
    );
  }

  #redis(): readonly Condition[] {
    const message = this.#deps.redisProblem();
    return message === null ? [] : [{ rule: redisDownRule, organizationId: null, message }];
  }

  #rejectionBurst(now: number): readonly Condition[] {
    const { moreThan, withinMs } = rejectionBurstRule;
    const [oldest] = this.#rejectedAt;
    if (this.#rejectedAt.length <= moreThan || oldest === undefined || oldest < now - withinMs) return [];
    const message =
      `More than ${moreThan} requests were answered with 429 within a minute. ` +
      'See who is at the limit with "headworks limits list --with-usage"; raise it, or have the client slow down.';
    return [{ rule: rejectionBurstRule, organizationId: null, message }];
  }

  #lastUsageConditions(): readonly Condition[] {
    return [...this.#active.values()].filter(
      ({ rule }) => rule === globalUsageRule || rule === organizationUsageRule,
    );
  }
}

function usageConditions({ global, globalLimit, organizations }: UsageSample): readonly Condition[] {
  const conditions: Condition[] = organizations
    .filter(({ used, limit }) => used > limit * organizationUsageRule.above)
    .map(({ organizationId, used, limit }) => ({
      rule: organizationUsageRule,
      organizationId,
      message:
        `The organization ${organizationId} uses ${used} of its ${limit} concurrent requests. ` +
        `Raise its limit with "headworks limits set ${organizationId} LIMIT", or see what holds slots with "headworks executions list".`,
    }));
  if (global > globalLimit * globalUsageRule.above)
    conditions.push({
      rule: globalUsageRule,
      organizationId: null,
      message:
        `All organizations together use ${global} of ${globalLimit} concurrent requests. ` +
        'Raise API_DEPLOYMENT_GLOBAL_RATE_LIMIT if the machines can take more, or lower limits of organizations.',
    });
  return conditions;
}
