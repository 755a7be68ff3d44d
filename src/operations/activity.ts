// Recent activity of this server for the dashboard: events counted by the minute, in memory, gone with the process.
import type { Clock, EmittedEvent } from '../core/index.ts';
import type { RunEvents } from '../extraction/index.ts';
import type { GatewayEvents } from '../gateway/index.ts';
import { ingestJobName } from '../knowledge/ingest/ingest-job.ts';
import type { JobEventSpecs } from '../platform/jobs/events.ts';
import type { AdmissionEvents, ExecutionEvents } from '../tenancy/index.ts';

export interface ActivityCounts {
  readonly admitted: number;
  readonly rejected: number;
  readonly modelCalls: number;
  readonly modelFailures: number;
  readonly executionsEnded: number;
  readonly documentsRead: number;
}

export interface MinuteCounts extends ActivityCounts {
  /** Start of the minute, epoch milliseconds. */
  readonly at: number;
}

/** One organization over the last hour. */
export interface TenantActivity {
  readonly organizationId: string;
  readonly admitted: number;
  readonly rejected: number;
  readonly ended: number;
  /** How long slots were held; null when none was released. */
  readonly averageHoldMs: number | null;
  readonly longestHoldMs: number | null;
}

/** Progress of an extraction run at one moment. */
export interface RunSample {
  readonly at: number;
  readonly items: number;
  readonly calls: number;
  readonly rateLimitedCalls: number;
  readonly multiplier: number;
}

const minuteMs = 60_000;
const keptMinutes = 60;
/** The last minute is summed from slices of 5 s, so that its rate does not drop to 0 at every full minute. */
const sliceMs = 5_000;
const slicesPerMinute = minuteMs / sliceMs;
/** Further organizations are counted together, which bounds the memory. */
const maxOrganizations = 1_000;
const maxRuns = 50;
/** At this number every second sample is dropped and the interval doubles. */
const maxSamplesPerRun = 400;

/** Names are checked against the domains' events, so that a rename there does not silently stop the count. */
type CountedEvent =
  | keyof AdmissionEvents
  | keyof ExecutionEvents
  | keyof GatewayEvents
  | keyof JobEventSpecs
  | keyof RunEvents;

type Counts = Record<keyof ActivityCounts, number>;

const noCounts: ActivityCounts = {
  admitted: 0,
  rejected: 0,
  modelCalls: 0,
  modelFailures: 0,
  executionsEnded: 0,
  documentsRead: 0,
};

interface TenantCounts {
  admitted: number;
  rejected: number;
  ended: number;
  heldMs: number;
  longestMs: number;
}

const noTenantCounts = (): TenantCounts => ({ admitted: 0, rejected: 0, ended: 0, heldMs: 0, longestMs: 0 });

interface RunSamples {
  samples: RunSample[];
  minIntervalMs: number;
}

export class Activity {
  /** When counting began, epoch milliseconds. */
  readonly since: number;
  readonly #clock: Clock;
  readonly #minutes = new RecentIntervals<Counts>(minuteMs, keptMinutes, () => ({ ...noCounts }));
  readonly #slices = new RecentIntervals<Counts>(sliceMs, slicesPerMinute, () => ({ ...noCounts }));
  readonly #tenants = new RecentIntervals<Map<string, TenantCounts>>(minuteMs, keptMinutes, () => new Map());
  readonly #runs = new Map<string, RunSamples>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.since = clock.now();
  }

  readonly isCounted = (name: string): boolean => name in this.#handlers;

  /** Listener for the event bus. */
  readonly take = ({ name, payload }: EmittedEvent): void => {
    this.#handlers[name as CountedEvent]?.(payload, textOf(payload['organizationId']));
  };

  readonly #handlers: Partial<
    Record<CountedEvent, (payload: EmittedEvent['payload'], organizationId: string) => void>
  > = {
    'admission:request-admitted': (_, organizationId) => {
      this.#count('admitted');
      this.#tenant(organizationId).admitted += 1;
    },
    'admission:request-rejected': (_, organizationId) => {
      this.#count('rejected');
      this.#tenant(organizationId).rejected += 1;
    },
    'gateway:attempt-finished': ({ outcome }) => {
      this.#count('modelCalls');
      if (outcome !== 'success') this.#count('modelFailures');
    },
    'deployments:execution-ended': ({ durationMs }, organizationId) => {
      this.#count('executionsEnded');
      const tenant = this.#tenant(organizationId);
      const heldMs = Number(durationMs ?? 0);
      tenant.ended += 1;
      tenant.heldMs += heldMs;
      tenant.longestMs = Math.max(tenant.longestMs, heldMs);
    },
    'job:completed': ({ name }) => {
      if (name === ingestJobName) this.#count('documentsRead');
    },
    'extraction:run-progress': ({ run, items, calls, rateLimitedCalls, multiplier }) =>
      this.#sample(textOf(run), {
        at: this.#clock.now(),
        items: Number(items),
        calls: Number(calls),
        rateLimitedCalls: Number(rateLimitedCalls),
        multiplier: Number(multiplier),
      }),
  };

  /** The last hour, oldest first, including minutes without any event. */
  minutes(): readonly MinuteCounts[] {
    const last = Math.floor(this.#clock.now() / minuteMs);
    const first = Math.max(last - keptMinutes + 1, Math.floor(this.since / minuteMs));
    return Array.from({ length: last - first + 1 }, (_, index) => ({
      at: (first + index) * minuteMs,
      ...(this.#minutes.at(first + index) ?? noCounts),
    }));
  }

  /** The last 60 seconds, to within 5 seconds. */
  lastMinute(): ActivityCounts {
    const sums: Counts = { ...noCounts };
    for (const counts of this.#slices.recent(this.#clock.now()))
      for (const name of Object.keys(sums) as (keyof Counts)[]) sums[name] += counts[name];
    return sums;
  }

  tenants(): readonly TenantActivity[] {
    const sums = new Map<string, TenantCounts>();
    for (const tenants of this.#tenants.recent(this.#clock.now()))
      for (const [id, counts] of tenants) sums.set(id, added(sums.get(id) ?? noTenantCounts(), counts));
    return [...sums].map(([organizationId, { admitted, rejected, ended, heldMs, longestMs }]) => ({
      organizationId,
      admitted,
      rejected,
      ended,
      averageHoldMs: ended === 0 ? null : heldMs / ended,
      longestHoldMs: ended === 0 ? null : longestMs,
    }));
  }

  /** Oldest first; empty when this server has no samples of the run. */
  run(id: string): readonly RunSample[] {
    return this.#runs.get(id)?.samples ?? [];
  }

  #count(name: keyof ActivityCounts): void {
    const now = this.#clock.now();
    this.#minutes.current(now)[name] += 1;
    this.#slices.current(now)[name] += 1;
  }

  #tenant(id: string): TenantCounts {
    const tenants = this.#tenants.current(this.#clock.now());
    const key = tenants.has(id) || tenants.size < maxOrganizations ? id : '';
    const counts = tenants.get(key) ?? noTenantCounts();
    tenants.set(key, counts);
    return counts;
  }

  /** Keeps a few hundred samples of each of the most recent runs. */
  #sample(run: string, sample: RunSample): void {
    const kept = this.#runs.get(run) ?? { samples: [], minIntervalMs: 1_000 };
    const last = kept.samples.at(-1);
    if (last && sample.at - last.at < kept.minIntervalMs) return;
    kept.samples.push(sample);
    if (kept.samples.length >= maxSamplesPerRun) {
      kept.samples = kept.samples.filter((_, index) => index % 2 === 0);
      kept.minIntervalMs *= 2;
    }
    this.#runs.delete(run);
    this.#runs.set(run, kept);
    const [oldest] = this.#runs.keys();
    if (this.#runs.size > maxRuns && oldest !== undefined) this.#runs.delete(oldest);
  }
}

/** One value per interval, for the most recent intervals only. */
class RecentIntervals<Value> {
  readonly #intervalMs: number;
  readonly #kept: number;
  readonly #create: () => Value;
  readonly #values = new Map<number, Value>();

  constructor(intervalMs: number, kept: number, create: () => Value) {
    this.#intervalMs = intervalMs;
    this.#kept = kept;
    this.#create = create;
  }

  current(nowMs: number): Value {
    const now = Math.floor(nowMs / this.#intervalMs);
    const value = this.#values.get(now) ?? this.#create();
    this.#values.set(now, value);
    for (const interval of this.#values.keys())
      if (interval <= now - this.#kept) this.#values.delete(interval);
    return value;
  }

  at(interval: number): Value | undefined {
    return this.#values.get(interval);
  }

  recent(nowMs: number): readonly Value[] {
    const oldest = Math.floor(nowMs / this.#intervalMs) - this.#kept;
    return [...this.#values].filter(([interval]) => interval > oldest).map(([, value]) => value);
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const added = (a: TenantCounts, b: TenantCounts): TenantCounts => ({
  admitted: a.admitted + b.admitted,
  rejected: a.rejected + b.rejected,
  ended: a.ended + b.ended,
  heldMs: a.heldMs + b.heldMs,
  longestMs: Math.max(a.longestMs, b.longestMs),
});
