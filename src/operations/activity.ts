// Recent activity of this server for the dashboard: events counted by the minute, in memory, gone with the process.
import type { Clock, EmittedEvent } from '../core/index.ts';
import type { RunEvents } from '../extraction/index.ts';
import type { GatewayEvents } from '../gateway/index.ts';
import { ingestJobName } from '../knowledge/ingest/ingest-job.ts';
import type { JobEventSpecs } from '../platform/jobs/events.ts';
import type { AdmissionEvents, ExecutionEvents } from '../tenancy/index.ts';

export interface ActivityCounts {
  readonly admitted: number;
  readonly refused: number;
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
  readonly refused: number;
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
  readonly refusals: number;
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
  refused: 0,
  modelCalls: 0,
  modelFailures: 0,
  executionsEnded: 0,
  documentsRead: 0,
};

interface TenantCounts {
  admitted: number;
  refused: number;
  ended: number;
  heldMs: number;
  longestMs: number;
}

const noTenantCounts = (): TenantCounts => ({ admitted: 0, refused: 0, ended: 0, heldMs: 0, longestMs: 0 });

interface RunSamples {
  samples: RunSample[];
  minIntervalMs: number;
}

export class Activity {
  /** When counting began, epoch milliseconds. */
  readonly since: number;
  readonly #clock: Clock;
  readonly #minutes = new RecentCounts(minuteMs, keptMinutes);
  readonly #slices = new RecentCounts(sliceMs, slicesPerMinute);
  readonly #tenants = new Map<number, Map<string, TenantCounts>>();
  readonly #runs = new Map<string, RunSamples>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.since = clock.now();
  }

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
      this.#count('refused');
      this.#tenant(organizationId).refused += 1;
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
        refusals: Number(rateLimitedCalls),
        multiplier: Number(multiplier),
      }),
  };

  /** The last hour, oldest first, including minutes without any event. */
  minutes(): readonly MinuteCounts[] {
    const last = this.#minuteNow();
    const first = Math.max(last - keptMinutes + 1, Math.floor(this.since / minuteMs));
    return Array.from({ length: last - first + 1 }, (_, index) => ({
      at: (first + index) * minuteMs,
      ...this.#minutes.at(first + index),
    }));
  }

  /** The last 60 seconds, to within 5 seconds. */
  lastMinute(): ActivityCounts {
    return this.#slices.sum(this.#clock.now());
  }

  tenants(): readonly TenantActivity[] {
    const sums = new Map<string, TenantCounts>();
    const oldest = this.#minuteNow() - keptMinutes;
    for (const [minute, tenants] of this.#tenants)
      if (minute > oldest)
        for (const [id, counts] of tenants) sums.set(id, added(sums.get(id) ?? noTenantCounts(), counts));
    return [...sums].map(([organizationId, { admitted, refused, ended, heldMs, longestMs }]) => ({
      organizationId,
      admitted,
      refused,
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
    this.#minutes.count(name, now);
    this.#slices.count(name, now);
  }

  #tenant(id: string): TenantCounts {
    const now = this.#minuteNow();
    const tenants = this.#tenants.get(now) ?? new Map<string, TenantCounts>();
    this.#tenants.set(now, tenants);
    for (const minute of this.#tenants.keys()) if (minute <= now - keptMinutes) this.#tenants.delete(minute);
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

  #minuteNow(): number {
    return Math.floor(this.#clock.now() / minuteMs);
  }
}

/** Counts per interval, for the most recent intervals only. */
class RecentCounts {
  readonly #intervalMs: number;
  readonly #kept: number;
  readonly #counts = new Map<number, Counts>();

  constructor(intervalMs: number, kept: number) {
    this.#intervalMs = intervalMs;
    this.#kept = kept;
  }

  count(name: keyof ActivityCounts, nowMs: number): void {
    const now = Math.floor(nowMs / this.#intervalMs);
    const counts = this.#counts.get(now) ?? { ...noCounts };
    counts[name] += 1;
    this.#counts.set(now, counts);
    for (const old of this.#counts.keys()) if (old <= now - this.#kept) this.#counts.delete(old);
  }

  at(interval: number): ActivityCounts {
    return this.#counts.get(interval) ?? noCounts;
  }

  sum(nowMs: number): ActivityCounts {
    const sums: Counts = { ...noCounts };
    const oldest = Math.floor(nowMs / this.#intervalMs) - this.#kept;
    for (const [interval, counts] of this.#counts)
      if (interval > oldest)
        for (const name of Object.keys(sums) as (keyof ActivityCounts)[]) sums[name] += counts[name];
    return sums;
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const added = (a: TenantCounts, b: TenantCounts): TenantCounts => ({
  admitted: a.admitted + b.admitted,
  refused: a.refused + b.refused,
  ended: a.ended + b.ended,
  heldMs: a.heldMs + b.heldMs,
  longestMs: Math.max(a.longestMs, b.longestMs),
});
