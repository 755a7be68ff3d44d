// Usage of slots for metrics, and the founding document's four alerts for installations without Prometheus.
import type { GaugeSpec } from '../../platform/telemetry/metrics.ts';
import type { StoreHealthMonitor } from './store-health.ts';
import type { AdmissionDeps } from './types.ts';

interface OrganizationUsage {
  readonly organizationId: string;
  readonly used: number;
  readonly limit: number;
}

interface UsageSample {
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

/** Gauges that are read at each scrape. */
export function admissionGauges(
  sampler: UsageSampler,
  queued: () => number,
  health: StoreHealthMonitor,
): readonly GaugeSpec[] {
  const single = (name: string, help: string, value: () => number | Promise<number>): GaugeSpec => ({
    name: `headworks_admission_${name}`,
    help,
    labels: [],
    collect: async () => [{ labels: {}, value: await value() }],
  });
  const perOrganization = (name: string, help: string, field: 'used' | 'limit'): GaugeSpec => ({
    name: `headworks_admission_${name}`,
    help,
    labels: ['organization'],
    collect: async () =>
      (await sampler.sample()).organizations.map((each) => ({
        labels: { organization: each.organizationId },
        value: each[field],
      })),
  });
  const total = (field: 'global' | 'globalLimit') => async () => (await sampler.sample())[field];
  return [
    perOrganization('usage', 'Slots in use, by organization.', 'used'),
    perOrganization('limit', 'Limit of slots, by organization.', 'limit'),
    single('global_usage', 'Slots in use by all organizations.', total('global')),
    single('global_limit', 'Limit of slots for all organizations.', total('globalLimit')),
    single('queued', 'Requests queued for a slot in this process.', queued),
    single('store_up', '0 during a confirmed outage of Redis, else 1.', () => (health.isDown ? 0 : 1)),
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
  /** In the words of Prometheus: `pending` until the condition has lasted for the rule's duration. */
  readonly state: 'pending' | 'firing';
}

export interface AlertRule {
  readonly name: string;
  readonly severity: Alert['severity'];
  /** The condition must last this long before the alert fires. */
  readonly forMs: number;
}

const rules = {
  global: { name: 'HeadworksAdmissionGlobalUsageHigh', severity: 'critical', forMs: 300_000 },
  organization: { name: 'HeadworksAdmissionOrganizationUsageHigh', severity: 'warning', forMs: 300_000 },
  /** Of this process; Prometheus sums over all of them. */
  rejections: { name: 'HeadworksAdmissionRejectionBurst', severity: 'warning', forMs: 0 },
  redis: { name: 'HeadworksAdmissionRedisDown', severity: 'critical', forMs: 0 },
} as const satisfies Record<string, AlertRule>;

/**
 * The rules of monitoring/headworks-alerts.yml that this process evaluates itself.
 *
 * @internal For the tests that compare both.
 */
export const alertRules: readonly AlertRule[] = Object.values(rules);

/** Parts of a limit. */
const globalUsageAbove = 0.8;
const organizationUsageAbove = 0.9;
/** More rejections than this within a minute are a burst. */
const maxRejections = 60;
const burstMs = 60_000;

interface Condition {
  readonly rule: AlertRule;
  readonly organizationId: string | null;
  readonly message: string;
}

export class AlertEvaluator {
  readonly #deps: Pick<AdmissionDeps, 'clock'>;
  readonly #sampler: UsageSampler;
  readonly #redisProblem: () => string | null;
  #active = new Map<string, Condition & { readonly since: number }>();
  /** Times of the latest rejections, one more than make a burst. */
  readonly #rejectedAt: number[] = [];

  /** `redisProblem`: null while Redis decides, or none is configured. */
  constructor(deps: Pick<AdmissionDeps, 'clock'>, sampler: UsageSampler, redisProblem: () => string | null) {
    this.#deps = deps;
    this.#sampler = sampler;
    this.#redisProblem = redisProblem;
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
    if (this.#rejectedAt.length > maxRejections + 1) this.#rejectedAt.shift();
  }

  /** Call it every few seconds. Never fails: a condition that cannot be evaluated stays as it was. */
  async evaluate(): Promise<void> {
    const sample = await this.#sampler.sample().catch(() => null);
    const now = this.#deps.clock.now();
    const conditions = [
      ...condition(rules.redis, this.#redisProblem()),
      ...condition(rules.rejections, this.#rejectionBurst(now)),
      ...(sample ? usageConditions(sample) : this.#lastUsageConditions()),
    ];
    this.#active = new Map(
      conditions.map((each) => {
        const key = `${each.rule.name} ${each.organizationId ?? ''}`;
        return [key, { ...each, since: this.#active.get(key)?.since ?? now }];
      }),
    );
  }

  #rejectionBurst(now: number): string | null {
    const [oldest] = this.#rejectedAt;
    if (this.#rejectedAt.length <= maxRejections || oldest === undefined || oldest < now - burstMs)
      return null;
    return (
      `More than ${maxRejections} requests were rejected with 429 within a minute. ` +
      'See who is at the limit with "headworks limits list --with-usage"; raise it, or have the client slow down.'
    );
  }

  #lastUsageConditions(): readonly Condition[] {
    return [...this.#active.values()].filter(
      ({ rule }) => rule === rules.global || rule === rules.organization,
    );
  }
}

const condition = (
  rule: AlertRule,
  message: string | null,
  organizationId: string | null = null,
): readonly Condition[] => (message === null ? [] : [{ rule, organizationId, message }]);

function usageConditions({ global, globalLimit, organizations }: UsageSample): readonly Condition[] {
  const high = organizations.filter(({ used, limit }) => used > limit * organizationUsageAbove);
  const globalMessage =
    `All organizations together use ${global} of ${globalLimit} concurrent requests. ` +
    'Raise API_DEPLOYMENT_GLOBAL_RATE_LIMIT if the machines can take more, or lower limits of organizations.';
  return [
    ...high.flatMap(({ organizationId, used, limit }) =>
      condition(
        rules.organization,
        `The organization ${organizationId} uses ${used} of its ${limit} concurrent requests. ` +
          `Raise its limit with "headworks limits set ${organizationId} LIMIT", or see what holds slots with "headworks executions list".`,
        organizationId,
      ),
    ),
    ...condition(rules.global, global > globalLimit * globalUsageAbove ? globalMessage : null),
  ];
}
