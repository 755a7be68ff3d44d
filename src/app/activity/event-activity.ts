// Counts the house's events by the minute, for the dashboard.
import type { Clock, EmittedEvent } from '../../core/index.ts';
import type { Activity, ActivityCounts, MinuteCounts, RunSample, TenantActivity } from '../../http/index.ts';
import { ingestJobName } from '../../knowledge/ingest/ingest-job.ts';
import { LastMinute, noCounts } from './last-minute.ts';
import { RunSamples } from './run-samples.ts';

const minuteMs = 60_000;
const keptMinutes = 60;
/** Others are counted together: a flood of organizations must not become a flood of memory. */
const mostOrganizations = 1_000;

type Count = keyof ActivityCounts;

interface TenantMinute {
  admitted: number;
  refused: number;
  ended: number;
  heldMs: number;
  longestMs: number;
}

interface Minute {
  readonly counts: Record<Count, number>;
  readonly tenants: Map<string, TenantMinute>;
}

export class EventActivity implements Activity {
  readonly since: number;
  readonly #clock: Clock;
  readonly #minutes = new Map<number, Minute>();
  readonly #lastMinute: LastMinute;
  readonly #runs = new RunSamples();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lastMinute = new LastMinute(clock);
    this.since = clock.now();
  }

  /** Give it to the bus. */
  readonly take = ({ name, payload }: EmittedEvent): void => {
    const organization = textOf(payload['organizationId']);
    if (name === 'admission:admitted') {
      this.#count('admitted');
      this.#tenant(organization).admitted += 1;
    } else if (name === 'admission:refused') {
      this.#count('refused');
      this.#tenant(organization).refused += 1;
    } else if (name === 'gateway:attempt-finished') {
      this.#count('modelCalls');
      if (payload['outcome'] !== 'success') this.#count('modelFailures');
    } else if (name === 'deployments:execution-ended') {
      this.#count('executionsEnded');
      const tenant = this.#tenant(organization);
      const heldMs = Number(payload['durationMs'] ?? 0);
      tenant.ended += 1;
      tenant.heldMs += heldMs;
      tenant.longestMs = Math.max(tenant.longestMs, heldMs);
    } else if (name === 'job:done') {
      if (payload['name'] === ingestJobName) this.#count('documentsRead');
    } else if (name === 'extraction:run-progress') {
      this.#runs.take(textOf(payload['run']), sampleOf(this.#clock.now(), payload));
    }
  };

  minutes(): readonly MinuteCounts[] {
    const last = this.#minuteNow();
    const first = Math.max(last - keptMinutes + 1, Math.floor(this.since / minuteMs));
    return Array.from({ length: last - first + 1 }, (_, index) => ({
      at: (first + index) * minuteMs,
      ...(this.#minutes.get(first + index)?.counts ?? noCounts),
    }));
  }

  lastMinute(): ActivityCounts {
    return this.#lastMinute.counts();
  }

  tenants(): readonly TenantActivity[] {
    const sums = new Map<string, TenantMinute>();
    const oldest = this.#minuteNow() - keptMinutes;
    for (const [minute, { tenants }] of this.#minutes)
      if (minute > oldest)
        for (const [id, counts] of tenants) sums.set(id, added(sums.get(id) ?? noTenant(), counts));
    return [...sums].map(([organizationId, { admitted, refused, ended, heldMs, longestMs }]) => ({
      organizationId,
      admitted,
      refused,
      ended,
      averageHoldMs: ended === 0 ? null : heldMs / ended,
      longestHoldMs: ended === 0 ? null : longestMs,
    }));
  }

  run(id: string): readonly RunSample[] {
    return this.#runs.of(id);
  }

  #count(name: Count): void {
    this.#minute().counts[name] += 1;
    this.#lastMinute.count(name);
  }

  #tenant(id: string): TenantMinute {
    const { tenants } = this.#minute();
    const key = tenants.has(id) || tenants.size < mostOrganizations ? id : '';
    const known = tenants.get(key) ?? noTenant();
    tenants.set(key, known);
    return known;
  }

  #minute(): Minute {
    const now = this.#minuteNow();
    const known = this.#minutes.get(now);
    if (known) return known;
    const fresh: Minute = { counts: { ...noCounts }, tenants: new Map() };
    this.#minutes.set(now, fresh);
    for (const minute of this.#minutes.keys()) if (minute <= now - keptMinutes) this.#minutes.delete(minute);
    return fresh;
  }

  #minuteNow(): number {
    return Math.floor(this.#clock.now() / minuteMs);
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const noTenant = (): TenantMinute => ({ admitted: 0, refused: 0, ended: 0, heldMs: 0, longestMs: 0 });

const added = (a: TenantMinute, b: TenantMinute): TenantMinute => ({
  admitted: a.admitted + b.admitted,
  refused: a.refused + b.refused,
  ended: a.ended + b.ended,
  heldMs: a.heldMs + b.heldMs,
  longestMs: Math.max(a.longestMs, b.longestMs),
});

const sampleOf = (at: number, payload: EmittedEvent['payload']): RunSample => ({
  at,
  items: Number(payload['items']),
  calls: Number(payload['calls']),
  refusals: Number(payload['rateLimitedCalls']),
  multiplier: Number(payload['multiplier']),
});
