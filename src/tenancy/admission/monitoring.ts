// Usage of slots, as metrics. The alerts of monitoring/headworks-alerts.yml read them.
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
