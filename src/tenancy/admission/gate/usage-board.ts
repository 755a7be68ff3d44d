// Who uses how much of what they may, for metrics and alerts.
import type { AdmissionParts } from '../parts.ts';
import type { Slot } from '../ports.ts';
import type { StoreWatch } from './store-watch.ts';

export interface OrganizationUsage {
  readonly organizationId: string;
  readonly used: number;
  readonly limit: number;
}

export interface UsageSample {
  readonly global: number;
  readonly globalLimit: number;
  /** Those that use something, and those that have a limit of their own. */
  readonly organizations: readonly OrganizationUsage[];
}

/** A scrape asks several gauges within milliseconds: they share one look. */
const freshMs = 1_000;

export class UsageBoard {
  readonly #parts: AdmissionParts;
  readonly #watch: StoreWatch;
  #last: { readonly at: number; readonly sample: Promise<UsageSample> } | null = null;

  constructor(parts: AdmissionParts, watch: StoreWatch) {
    this.#parts = parts;
    this.#watch = watch;
  }

  /** At most a second old. Fails when neither the store of slots nor the state store can say. */
  sample(): Promise<UsageSample> {
    const now = this.#parts.clock.monotonic();
    if (this.#last && now - this.#last.at < freshMs) return this.#last.sample;
    const sample = this.#look();
    this.#last = { at: now, sample };
    sample.catch(() => (this.#last = null));
    return sample;
  }

  async #look(): Promise<UsageSample> {
    const { limits, options } = this.#parts;
    const [slots, own] = await Promise.all([this.#slots(), limits.list()]);
    const used = Map.groupBy(slots, ({ organizationId }) => organizationId);
    const custom = new Map(own.map((limit) => [limit.organizationId, limit.concurrentRequestLimit]));
    const ids = [...new Set([...custom.keys(), ...used.keys()])].sort();
    return {
      global: slots.length,
      globalLimit: options.globalLimit,
      organizations: ids.map((organizationId) => ({
        organizationId,
        used: used.get(organizationId)?.length ?? 0,
        limit: custom.get(organizationId) ?? options.defaultLimit,
      })),
    };
  }

  /** What is under way counts as well, while nobody can be asked for slots. */
  #slots(): Promise<readonly Slot[]> {
    const { slots, executions } = this.#parts;
    return this.#watch.isAway ? executions.unfinished() : slots.holders();
  }
}
